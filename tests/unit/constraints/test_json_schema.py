"""`jsonschema` comes without its slow format, and says the same when that format is asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

if find_spec("rfc3987_syntax") is None:  # looked for, not imported: that takes two seconds
    pytest.skip("formats are checked with adhere[schemas]", allow_module_level=True)

VALUES = [
    "http://example.org/straße?q=ü#x",
    "no iri",
    "../relative",
    "http://[::1",
    "urn:isbn:0451450523",
    "",
    "a b",
    7,
]

PLAIN = "import jsonschema"
OURS = "from adhere.extras import import_jsonschema; jsonschema = import_jsonschema()"
ASK = """
import json, sys
{load}
loaded = "lark" in sys.modules
checker = jsonschema.FormatChecker()
said = [checker.conforms(value, name) for name in ("iri", "iri-reference") for value in {values}]
print(json.dumps([loaded, said, "lark" in sys.modules, sorted(checker.checkers)]))
"""


def answers_of(load: str) -> list[object]:
    done = subprocess.run(
        [sys.executable, "-c", ASK.replace("{load}", load).replace("{values}", repr(VALUES))],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_the_slow_format_is_built_when_it_is_asked_for_and_says_the_same() -> None:
    at_once, plain, _, formats = answers_of(PLAIN)
    before, ours, after, our_formats = answers_of(OURS)
    assert (at_once, before, after) == (True, False, True)
    assert ours == plain
    assert True in ours
    assert False in ours
    assert our_formats == formats
