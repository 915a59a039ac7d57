"""Attempts to get out of the sandbox, and how each must end. `adhere doctor` and the tests make them all.

An attempt returns `"escaped: …"` if it got what it wanted. It is contained if it did not, and if its outcome
is one that the attempt allows: a loop that ends as an `error` was not stopped by the clock.
"""

from __future__ import annotations

from typing import NamedTuple

from adhere.sandbox.run import Outcome, Status, run

TIMEOUT_S = 0.25  # of an attempt whose end is the clock


class Escape(NamedTuple):
    """Describes one attempt to escape.

    Attributes:
        name: What it tries to get.
        source: Code with a function `attempt`, without arguments.
        allowed: The statuses in which it may end; `ok` means that it ran to its end and got nothing.
    """

    name: str
    source: str
    allowed: tuple[Status, ...] = ("ok", "error")

    @property
    def timeout_s(self) -> float:
        """The time limit in seconds: short if the clock must end the attempt, else long enough for a slow machine."""
        return TIMEOUT_S if "timeout" in self.allowed else 20.0


def _every(body: str, *attempts: str) -> str:
    """Return source of a function that makes each attempt and reports those that raise nothing.

    An attempt is an expression or a statement; `body` stands before the function.
    """
    tries = "".join(
        f"    try:\n        {attempt}\n        got.append({attempt!r})\n    except Exception:\n        pass\n"
        for attempt in attempts
    )
    return f"{body}\ndef attempt():\n    got = []\n{tries}    return 'escaped: ' + str(got) if got else 'nothing'\n"


ESCAPES = (
    Escape("read files", _every(
        "import os, io, pathlib, sys", "open('/etc/passwd').read()", "open('/proc/self/environ').read()",
        "open('/proc/self/maps').read()", "open('/proc/1/environ').read()", "pathlib.Path('/etc/shadow').read_bytes()",
        "io.FileIO('/etc/hostname').read()", "os.open('/etc/passwd', os.O_RDONLY)",
        "open(os.path.expanduser('~/.ssh/id_rsa')).read()", "open('/proc/self/mem', 'rb').read(1)",
    )),
    Escape("list folders", _every("import os", "os.listdir('/')", "os.listdir('/proc')", "os.listdir('/tmp')",
        "list(os.scandir('/home'))")),
    Escape("write files", _every(
        "import os, tempfile", "open('/tmp/adhere-escape', 'w').write('x')", "tempfile.TemporaryFile()",
        "os.mkdir('/tmp/adhere-escape-folder')", "open('/dev/shm/adhere-escape', 'w')", "os.remove('/etc/hostname')",
        "os.rename('/etc/hostname', '/etc/h')", "os.chmod('/tmp', 0)", "os.truncate('/etc/hostname', 0)",
        "os.symlink('/etc/passwd', '/tmp/adhere-link')", "os.mkfifo('/tmp/adhere-fifo')", "os.memfd_create('x')",
        "open(os.__file__, 'a')",
    )),
    Escape("read the environment",
        "import os\ndef attempt():\n    return 'escaped: ' + str(dict(os.environ)) if os.environ else 'nothing'\n"),
    Escape("reach a network", _every(
        "import socket", "socket.socket()", "socket.socket(socket.AF_UNIX)",
        "socket.create_connection(('127.0.0.1', 80), 0.2)", "socket.socketpair()",
        "socket.getaddrinfo('localhost', 80)[0] and socket.socket(socket.AF_INET6)",
        "__import__('urllib.request').request.urlopen('http://127.0.0.1')",
    )),
    Escape("start processes", _every(
        "import os, subprocess", "subprocess.run(['/bin/true'])", "os.execv('/bin/true', ['true'])",
        "os.posix_spawn('/bin/true', ['true'], {})", "os.popen('id').read() and None or 1 / len(os.popen('id').read())",
        "1 / (os.system('true') == 0)",
    )),
    Escape("fork",
        "import os\ndef attempt():\n    while True:\n        try:\n            os.fork()\n        except OSError:\n            return 'nothing'\n        return 'escaped: forked'\n"),
    Escape("start threads", _every("import threading, _thread", "threading.Thread(target=print).start()",
        "_thread.start_new_thread(print, ())")),
    Escape("signal others", _every(
        "import os, signal", "os.kill(os.getppid(), 0)", "os.kill(os.getppid(), signal.SIGKILL)", "os.kill(1, 9)",
        "os.kill(-1, 9)", "os.killpg(0, 9)", "signal.setitimer(signal.ITIMER_REAL, 1)",
        "signal.alarm(1) and None or os.setsid()",
    )),
    Escape("raise its limits", _every(
        "import os, resource", "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
        "resource.prlimit(os.getppid(), resource.RLIMIT_CPU)", "os.nice(-5)", "os.setuid(0)", "os.setgroups([])",
        "os.chroot('/')", "os.sched_setaffinity(0, [0])", "os.setpriority(0, 0, -5)",
    )),
    Escape("call the kernel through ctypes", _every(
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\ndef checked(n):\n    if n < 0: raise OSError\n    return n",
        "checked(libc.syscall(57))", "checked(libc.syscall(56, 17, 0, 0, 0, 0))", "checked(libc.syscall(41, 2, 1, 0))",
        "checked(libc.syscall(101, 16, 1, 0, 0))", "checked(libc.syscall(425, 8, 0))",
        "checked(libc.syscall(310, 1, 0, 0, 0, 0, 0))", "checked(libc.syscall(165, 0, 0, 0, 0, 0))",
        "checked(libc.syscall(0x40000000 + 57))", "checked(libc.syscall(435, 0, 0))", "checked(libc.socket(2, 1, 0))",
        "checked(libc.open(b'/etc/passwd', 0))", "checked(libc.prctl(22, 0, 0, 0, 0))",
        "checked(libc.shmget(0, 4096, 0o1000))", "checked(libc.unshare(0x10000000))",
    )),
    Escape("climb through introspection", _every(
        "def classes():\n    return {c.__name__: c for c in ().__class__.__base__.__subclasses__()}",
        "classes()['Popen'](['/bin/true'])",
        "[c for c in classes().values() if c.__name__ == '_wrap_close'][0].__init__.__globals__['system']('true') and None or 1 / 0", "classes()['FileLoader']('x', '/etc/passwd').get_data('/etc/passwd')", "__import__('sys').modules['os'].open('/etc/passwd', 0)",
    )),
    Escape("fill the memory",
        "def attempt():\n    held = []\n    while True:\n        held.append(bytearray(10_000_000))\n", ("memory",)),
    Escape("never end", "def attempt():\n    while True:\n        pass\n", ("timeout",)),
    Escape("never end and refuse to",
        "def attempt():\n    while True:\n        try:\n            while True:\n                pass\n        except BaseException:\n            pass\n", ("timeout",)),
    Escape("wait for ever", "import time\ndef attempt():\n    time.sleep(1000)\n", ("timeout",)),
    Escape("never end while loading", "while True:\n    pass\n", ("timeout",)),
    Escape("match for ever", "import re\ndef attempt():\n    return bool(re.match(r'(a+)+$', 'a' * 60 + 'b'))\n",
        ("timeout",)),
    Escape("recurse", "def attempt():\n    return attempt()\n", ("error",)),
    Escape("recurse without a limit",
        "import sys\ndef attempt():\n    sys.setrecursionlimit(10**9)\n    return attempt()\n",
        ("error", "memory", "timeout")),
    Escape("crash", "import ctypes\ndef attempt():\n    ctypes.string_at(0)\n", ("error",)),
    Escape("end early", "import os\ndef attempt():\n    os._exit(0)\n", ("error",)),
    Escape("print without end",
        "def attempt():\n    for _ in range(100_000):\n        print('x' * 100)\n    return 'nothing'\n", ("ok",)),
    Escape("answer without end", "def attempt():\n    return 'x' * 50_000_000\n", ("error", "memory")),
    Escape("answer with what is no data",
        "class Yes:\n    def __bool__(self): return True\n    def __reduce__(self): return (print, ())\ndef attempt():\n    return Yes()\n", ("error",)),
    Escape("answer with what only looks like a bool", "class Yes(int):\n    pass\ndef attempt():\n    return Yes(1)\n",
        ("error",)),
    Escape("forge an answer",
        "import os\ndef attempt():\n    for number in range(256):\n        try:\n            os.write(number, b'v\"escaped: forged\"')\n        except OSError:\n            pass\n    os._exit(0)\n", ("error",)),
    Escape("forge an answer before the answer",
        "import os\ndef attempt():\n    for number in range(256):\n        try:\n            os.write(number, b'{\"status\": \"ok\"}\"escaped: forged\"')\n        except OSError:\n            pass\n    return 'nothing'\n", ("error",)),
    Escape("change how answers are written",
        "import json\njson.dumps = json.JSONEncoder.encode = lambda *a, **k: '\"escaped: forged\" NaN'\ndef attempt():\n    return 'nothing'\n", ("ok", "error")),
)  # fmt: skip


def attempt_escape(escape: Escape) -> Outcome:
    """Run one attempt to escape in the sandbox, and return its outcome."""
    return run(escape.source, "attempt", [], timeout_s=escape.timeout_s, memory_mb=128)


def is_contained(escape: Escape, outcome: Outcome) -> bool:
    """Tell whether the attempt got nothing, and ended as it must. Nothing escapes if nothing runs."""
    if outcome.status == "refused":
        return True
    return outcome.status in escape.allowed and not (isinstance(outcome.value, str) and "escaped" in outcome.value)


def next_call_is_unharmed() -> bool:
    """Tell whether an honest call after all attempts still gives its own answer."""
    outcome = run("def double(x):\n    return 2 * x", "double", [21])
    return outcome.status == "refused" or (outcome.status, outcome.value) == ("ok", 42)
