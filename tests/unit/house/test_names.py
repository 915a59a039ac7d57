"""Functions are verbs, values nouns: no bare participle says what a function gives, a class is or a variable holds.

What stays has a reason: `KINDS` bear the word of their id, which stored verdicts name; `DOCUMENTED` are the names of
pages and of contracts. A new one fails; so does one of the list that is gone, so that the list only gets shorter.
"""

import re
from functools import cache

from tests.unit.house.parsed import PACKAGE, package

IRREGULAR = frozenset(
    """
    asked begun born broken brought built caught chosen done drawn found frozen given gone heard held hidden kept known
    lost made meant met paid said seen sent shown sought spent spoken taken taught thought told understood won written
    """.split()
)
NO_PARTICIPLES = frozenset("bleed embed exceed feed heed need proceed red seed shed speed".split())
KINDS = frozenset("JsonNested Labelled Numbered Reversed Solved Sorted Spelled Written".split())
DOCUMENTED = frozenset("Crossed gated packed published summed Undecided".split())
KEPT = KINDS | DOCUMENTED


def is_participle(name: str) -> bool:
    word = name.lstrip("_").lower()
    return word in IRREGULAR or (re.fullmatch(r"[a-z]{2,}ed", word) is not None and word not in NO_PARTICIPLES)


@cache
def names() -> set[str]:
    """Functions and classes of every module, without methods: a property may be `sealed`."""
    return {name for module in package() for name in module.names}


def test_no_new_name_is_a_bare_participle() -> None:
    found = {name for name in names() if is_participle(name)}
    assert sorted(found - KEPT) == [], "call it by a verb or a noun: `prompts_from`, not `taken`"


def test_the_list_only_gets_shorter() -> None:
    assert sorted(KEPT - names()) == [], "gone: take it off the list"


def test_what_a_participle_is() -> None:
    assert all(map(is_participle, ["taken", "_shuffled", "Answered", "shown"]))
    assert not any(map(is_participle, ["take", "seed", "taken_from", "Red", "is_done", "Embed"]))


# Words of the field and of accounts, which say what they hold; `seen` is the usual set of what was met.
TERMS = frozenset("chosen done expected failed packed padded passed rejected seen shared skipped trained".split())
# Keywords that plug-ins write (`Finding`, `param`) and an option's field.
KEYWORDS = frozenset("drawn measured needed said".split())


def test_parameters_and_annotated_variables_say_what_they_hold() -> None:
    """`found: Path` tells nobody that it is a directory."""
    wrong = [
        f"{module.path.relative_to(PACKAGE)}:{line} {name}"
        for module in package()
        for line, name in module.variables
        if is_participle(name) and name.lstrip("_").lower() not in TERMS | KEYWORDS
    ]
    assert wrong == [], "call it by what it holds: `spec`, `verdicts`, `directory`"


def test_no_term_is_kept_for_nothing() -> None:
    used = {name.lstrip("_").lower() for module in package() for _, name in module.variables}
    assert sorted((TERMS | KEYWORDS) - used) == [], "gone: take it off the list"


# Each of these was bound dozens to hundreds of times, for as many things.
VAGUE = re.compile(r"^ +(?:asked|found|given|known|made|named|needed|said|shown|told|wanted) = ", re.MULTILINE)


def test_no_local_has_one_of_the_words_that_say_nothing() -> None:
    sources = {module.path: module.path.read_text(encoding="utf-8") for module in package()}
    assert [
        f"{path.name}: {match[0].strip()}" for path, text in sources.items() for match in VAGUE.finditer(text)
    ] == []
