"""A proposed check is taken only where it tells its own two sessions apart."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adhere.models.fake.scripted import ScriptedModel
from adhere.rules.checks.spec import Event, Never, Rule
from adhere.rules.compile.propose import propose

CHECK = {"kind": "never", "event": {"command": ["docker"]}}
KEEPS = [{"user": "Go"}, {"command": "ls", "exit_code": 0}]
BREAKS = [{"user": "Go"}, {"command": "docker ps", "exit_code": 0}]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ({"check": CHECK, "keeps": KEEPS, "breaks": BREAKS}, None),
        ({"check": CHECK, "keeps": KEEPS, "breaks": KEEPS}, "is broken the check says kept"),
        ({"check": CHECK, "keeps": BREAKS, "breaks": BREAKS}, "is kept the check says broken"),
        ({"check": CHECK, "keeps": [{"says": "hi"}], "breaks": BREAKS}, "the check says untriggered"),
        ({"check": None, "why": "taste"}, "taste"),
        (
            {"check": {"kind": "never", "event": {"command": ["@nothing"]}}, "keeps": KEEPS, "breaks": BREAKS},
            "cannot be",
        ),
        ({"check": {"kind": "python", "code": "1"}, "keeps": KEEPS, "breaks": BREAKS}, "cannot be"),
        ("I think so.", "not one JSON object"),
    ],
)
def test_a_proposal(reply: Any, said: str | None) -> None:
    text = reply if isinstance(reply, str) else json.dumps(reply)
    rules = (Rule("r", "No containers."), Rule("s", "q", check=Never(Event(command=("x",)))))
    outcome = propose(rules, ScriptedModel(lambda _: text))
    assert outcome.rules[1] == rules[1]
    if said is None:
        assert isinstance(outcome.rules[0].check, Never)
        assert outcome.refused == {}
    else:
        assert outcome.rules[0].check is None
        assert said in outcome.refused["r"]
