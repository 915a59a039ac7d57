"""The same answers get the same verdicts in every thread, process, hash seed and version of Python.

Run as a script, this file prints digests of the verdicts over a fixed corpus; it needs only the package and what the
judge imports (msgspec, langdetect-rs).
"""

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from adhere.constraints import registry
from adhere.constraints.published import kinds
from adhere.constraints.published.shared.registry import PROFILES
from adhere.pipeline.judge import Judge
from adhere.schema import ConstraintRef, encode
from adhere.testing import ODD, ORDINARY, published_params

WORDS = ("the", "fox", "Cats", "sleep", "DOG", "and", "Zürich", "well-known", "3.5", "don't", "Mr.", "yes", "a", "日本")
JOINTS = (
    " ",
    " ",
    " ",
    ", ",
    ". ",
    "! ",
    "? ",
    "\n",
    "\n\n",
    "\n- ",
    "\n1. ",
    ' "',
    '" ',
    " *",
    "* ",
    ": ",
    "; ",
    "\r\n",
    " (",
    ") ",
)


def corpus(count=12):
    """Ordinary and odd texts, and `count` that are put together from words and joints."""
    rng = random.Random(5)
    made = [
        "".join(rng.choice(WORDS) + rng.choice(JOINTS) for _ in range(rng.choice((3, 10, 40, 150))))
        for _ in range(count)
    ]
    return [*ORDINARY, *ODD, *made]


def judges():
    """Judges of all published kinds, a profile each, and one of all own kinds with drawn parameters."""
    own = [registry.get(name).draw(random.Random(3), words=("cats", "sleep")).ref() for name in registry]
    made = [Judge(own)]
    for profile in PROFILES:
        if profile == "agentif":  # its kind starts a sandbox for each text, which says itself when two runs disagree
            continue
        refs = [ConstraintRef(kind.id, published_params(kind, 1)) for kind in kinds(profile)]
        made.append(Judge(refs, profile=profile))
    return made


def digests(texts=None):
    """The hash of all verdicts of each constraint, reasons included, in both views."""
    states = {}
    for judge in judges():
        for text in corpus() if texts is None else texts:
            for verdict in judge.verdicts(text):
                name = f"{verdict.constraint_id} {verdict.verifier_version}"
                states.setdefault(name, hashlib.sha256()).update(encode(verdict))
    return {name: state.hexdigest()[:16] for name, state in states.items()}


def digests_elsewhere(python=sys.executable, **environment):
    """The digests that another process prints."""
    done = subprocess.run(
        [python, __file__],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        env={**os.environ, **environment},
    )
    return json.loads(done.stdout)


def test_the_digests_see_a_changed_verdict():
    before, after = digests(["Cats sleep."]), digests(["Cats sleep!"])
    assert before == digests(["Cats sleep."])
    assert len(before) > 150
    assert {"punctuation:no_exclamation 1.2"} <= {name for name in before if before[name] != after[name]}


def test_threads_agree():
    shared = judges()
    texts = corpus()[::8]

    def verdicts(number):
        order = texts if number % 2 else list(reversed(texts))
        return {text: [encode(verdict) for judge in shared for verdict in judge.verdicts(text)] for text in order}

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(verdicts, range(8)))
    assert all(other == found[0] for other in found[1:])
    assert found[0] == verdicts(1)


def test_processes_and_hash_seeds_agree():
    assert digests_elsewhere(PYTHONHASHSEED="0") == digests_elsewhere(PYTHONHASHSEED="12345")


def other_pythons():
    """Interpreters of the other supported versions: on the path, under ~/.pyenv, or in ADHERE_OTHER_PYTHONS."""
    named = [Path(name) for name in os.environ.get("ADHERE_OTHER_PYTHONS", "").split(os.pathsep) if name]
    on_path = [Path(found) for minor in (11, 12, 13) if (found := shutil.which(f"python3.{minor}"))]
    pyenv = sorted((Path.home() / ".pyenv" / "versions").glob("3.1[123].*/bin/python"))
    return [python for python in (*named, *on_path, *pyenv) if python.exists()]


def test_versions_of_python_agree():
    import pytest  # not at the top: as a script, the file runs where pytest is not installed

    source = Path(__file__).parents[2] / "src"
    seen = {}
    without = []
    for python in other_pythons():
        environment = {**os.environ, "PYTHONPATH": str(source)}
        version = "import sys, msgspec, langdetect_rs; print('%d.%d' % sys.version_info[:2])"
        probe = subprocess.run(
            [python, "-c", version], capture_output=True, text=True, timeout=60, check=False, env=environment
        )
        if probe.returncode:
            without.append(str(python))
        elif (name := probe.stdout.strip()) != "{}.{}".format(*sys.version_info) and name not in seen:
            seen[name] = digests_elsewhere(python, PYTHONPATH=str(source))
    if not seen:
        tried = ", ".join(without) or "none"
        pytest.skip(
            f"no other supported Python with msgspec and langdetect-rs (without them: {tried}; ADHERE_OTHER_PYTHONS)"
        )
    here = digests()
    assert {
        name: {one: found[one] for one in found if found[one] != here.get(one)} for name, found in seen.items()
    } == {name: {} for name in seen}
    assert all(found.keys() == here.keys() for found in seen.values())


if __name__ == "__main__":
    print(json.dumps(digests()))  # noqa: T201 - the parent process reads it
