"""Functions are verbs, values nouns: no bare participle says what a function gives or what a class is.

`KEPT` are those that stood when this test came, most of them outward or a word of the field (`Fenced`, `masked`). A new
one fails; so does one of the list that is gone, so that the list only gets shorter.
"""

import ast
import re
from functools import cache
from pathlib import Path

import adhere

IRREGULAR = frozenset(
    """
    asked begun born broken brought built caught chosen done drawn found frozen given gone heard held hidden kept known
    lost made meant met paid said seen sent shown sought spent spoken taken taught thought told understood won written
    """.split()
)
NO_PARTICIPLES = frozenset("bleed embed exceed feed need proceed red seed shed speed".split())
KEPT = frozenset(
    """
    _agreed _Asked _asked _bootstrapped _boxed _Called _cased _closed _combined _compared _completed _contained
    _copied _Counted _decided _decoded _decontaminated _divided _Drawn _ended _examined _filled _filtered _finished
    _Frozen _hyphenated _kept _lowered _Made _merged _mixed _moved _needed _noted _Opened _padded _paired
    _passed _Placed _printed _proposed _quoted _rated _rejoined _relabelled _related _repaired _repeated _Rewarded
    _rewarded _rounded _ruled _sampled _scaled _Scoped _searched _seeded _shared _shifted _shortened _shuffled
    _signed _stored _supported _tested _trained _typed _Unbounded _Undecided _unfenced _unjudged _unmeasured
    _validated _Varied _Wanted _wanted _watched _weighted Asked Batched braced Checked Chosen Counted counted
    Crossed decided Decoded Deferred Died Diverged Done Drawn Dropped Embedded Examined failed Fenced Filtered Found
    found Frozen gated Given granted guarded Heard heard heed JsonNested Judged Kept Labelled marked masked Matched
    Measured Named Nested normalised Numbered packed paired passed Picked picked Planned Prepared Printed Published
    published Reconciled Refused repaired Repeated repeated rescaled Resolved Reversed rounded sampled sandboxed
    Scored scripted Searched Seen Served shared Solved solved Sorted Spelled summed Tested Touched Trained Undecided
    unexplained Unmeasured unpacked unprefixed untuned Wasted Weighted Wrapped Written
    """.split()
)


def is_participle(name: str) -> bool:
    word = name.lstrip("_").lower()
    return word in IRREGULAR or (re.fullmatch(r"[a-z]{2,}ed", word) is not None and word not in NO_PARTICIPLES)


@cache
def names() -> set[str]:
    """Functions and classes of every module, without methods: a property may be `sealed`."""
    return {
        node.name
        for path in Path(adhere.__file__).parent.rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }


def test_no_new_name_is_a_bare_participle() -> None:
    found = {name for name in names() if is_participle(name)}
    assert sorted(found - KEPT) == [], "call it by a verb or a noun: `prompts_from`, not `taken`"


def test_the_list_only_gets_shorter() -> None:
    assert sorted(KEPT - names()) == [], "gone: take it off the list"


def test_what_a_participle_is() -> None:
    assert all(map(is_participle, ["taken", "_shuffled", "Answered", "shown"]))
    assert not any(map(is_participle, ["take", "seed", "taken_from", "Red", "is_done", "Embed"]))
