"""Give up a process's rights before it runs code that nobody has read. Linux only, by ctypes; nothing is installed.

This file is sent as text to a worker that has the standard library and nothing else, so it imports nothing of ours.

Source: linux/seccomp.h, linux/landlock.h, linux/audit.h, the system call tables of x86_64 and of the generic ABI
(aarch64).
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _LAST_CAPABILITY = 4, 24, 63
_ALLOW, _KILL, _DENY = 0x7FFF0000, 0x80000000, 0x00050000 | 1  # deny: the call fails with EPERM
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCH_AT, _THIRD_ARGUMENT_AT = 0, 4, 32
_X32_BIT = 0x40000000

_ARCHES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# What an interpreter needs to compute, to read its own modules and to wait: no process, thread, signal, socket, limit
# or key.
_CALLS = {
    "x86_64": {
        "read": 0, "write": 1, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll": 7, "lseek": 8, "mmap": 9,
        "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15,
        "pread64": 17, "access": 21, "sched_yield": 24, "mremap": 25, "madvise": 28, "nanosleep": 35, "getpid": 39,
        "exit": 60, "getcwd": 79, "gettimeofday": 96, "getuid": 102, "getgid": 104, "geteuid": 107, "getegid": 108,
        "sigaltstack": 131, "gettid": 186, "time": 201, "futex": 202, "getdents64": 217, "clock_gettime": 228,
        "clock_getres": 229, "clock_nanosleep": 230, "exit_group": 231, "openat": 257, "newfstatat": 262,
        "getrandom": 318, "statx": 332, "rseq": 334,
    },
    "aarch64": {
        "getcwd": 17, "openat": 56, "close": 57, "getdents64": 61, "lseek": 62, "read": 63, "write": 64, "pread64": 67,
        "ppoll": 73, "newfstatat": 79, "fstat": 80, "exit": 93, "exit_group": 94, "futex": 98, "nanosleep": 101,
        "clock_gettime": 113, "clock_getres": 114, "clock_nanosleep": 115, "sched_yield": 124, "sigaltstack": 132,
        "rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigreturn": 139, "gettimeofday": 169, "getpid": 172,
        "getuid": 174, "geteuid": 175, "getgid": 176, "getegid": 177, "gettid": 178, "brk": 214, "munmap": 215,
        "mremap": 216, "mmap": 222, "mprotect": 226, "madvise": 233, "getrandom": 278, "statx": 291, "rseq": 293,
    },
}  # fmt: skip
_FILE_CALLS = (
    "openat",
    "getdents64",
    "stat",
    "lstat",
    "access",
    "newfstatat",
    "statx",
    "getcwd",
)  # only where files are fenced otherwise

_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_FILE_RIGHTS = {
    1: 0x1FFF,
    2: 0x3FFF,
    3: 0x7FFF,
    4: 0x7FFF,
    5: 0xFFFF,
}  # by ABI version; later ones add no right on files


class Unavailable(Exception):
    """Says that this kernel or processor does not offer what was asked for."""


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(name: str, result: int) -> int:
    if result < 0:
        raise Unavailable(f"{name}: {os.strerror(ctypes.get_errno())}")
    return result


def drop_privileges() -> None:
    """Give up every capability and the way to new ones, and hide the memory from other processes of this user."""
    libc = _libc()
    _call("no_new_privs", libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _call("dumpable", libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0))
    for capability in range(
        _LAST_CAPABILITY + 1
    ):  # fails without privileges or past the last one: nothing to drop then
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = struct.pack("=Ii", 0x20080522, 0)
    _call("capset", libc.capset(header, bytes(24)))


def landlock_version() -> int:
    """Return the version of Landlock that this kernel has; 0 if it has none."""
    return max(0, int(_libc().syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)))


def fence_files(readable: list[str], listable: list[str]) -> None:
    """From now on, let this process and its children only read below `readable` and list folders below `listable`.

    Raises:
        Unavailable: The kernel has no Landlock.
    """
    version = landlock_version()
    if version == 0:
        raise Unavailable("this kernel has no Landlock")
    libc = _libc()
    rights = _FILE_RIGHTS[min(version, 5)]
    attributes = struct.pack("=QQQ", rights, 3 if version >= 4 else 0, 3 if version >= 6 else 0)  # files, TCP, signals
    size = 8 if version < 4 else 16 if version < 6 else 24
    rules = _call("landlock", libc.syscall(_LANDLOCK_CREATE, attributes, ctypes.c_size_t(size), 0))
    for paths, right in ((readable, _READ_FILE), (listable, _READ_DIR)):
        for path in paths:
            folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
            _call("landlock rule", libc.syscall(_LANDLOCK_ADD, rules, 1, struct.pack("=Qi", right, folder), 0))
            os.close(folder)
    _call("landlock", libc.syscall(_LANDLOCK_RESTRICT, rules, 0))
    os.close(rules)


class SystemCalls:
    """Filters system calls: a fixed list is allowed, everything else fails with EPERM.

    Args:
        files: Whether modules may be read; only if Landlock fences the files.

    Raises:
        Unavailable: The system calls of this processor are not listed here.
    """

    def __init__(self, *, files: bool) -> None:
        machine = platform.machine()
        if machine not in _CALLS:
            raise Unavailable(f"no list of system calls for {machine}; there is one for {' and '.join(_CALLS)}")
        calls = {name: number for name, number in _CALLS[machine].items() if files or name not in _FILE_CALLS}
        opens = calls.pop("openat", None)
        program = [
            (_LOAD, 0, 0, _ARCH_AT),
            (_JUMP_EQUAL, 1, 0, _ARCHES[machine]),
            (_RETURN, 0, 0, _KILL),
            (_LOAD, 0, 0, _NUMBER_AT),
        ]
        program += [(_JUMP_AT_LEAST, 0, 1, _X32_BIT), (_RETURN, 0, 0, _DENY)]
        for number in sorted(calls.values()):
            program += [(_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
        if opens is not None:  # reading only: no flag that writes, creates or empties
            writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
            program += [
                (_JUMP_EQUAL, 0, 3, opens),
                (_LOAD, 0, 0, _THIRD_ARGUMENT_AT),
                (_JUMP_ANY_BIT, 1, 0, writing),
                (_RETURN, 0, 0, _ALLOW),
            ]
        program.append((_RETURN, 0, 0, _DENY))
        self._program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in program))
        self._filter = ctypes.create_string_buffer(
            struct.pack("HxxxxxxP", len(program), ctypes.addressof(self._program))
        )
        self._prctl = _libc().prctl
        self._prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)

    def restrict(self) -> None:
        """Filter this process from now on; this cannot be undone.

        Raises:
            Unavailable: The kernel refused, e.g. because it was built without seccomp.
        """
        _call("seccomp", self._prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(self._filter), 0, 0))
