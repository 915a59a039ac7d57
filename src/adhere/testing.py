"""The contract of a constraint as questions that every kind must pass, for tests of the package and of plug-ins.

    from adhere.testing import check_constraint

    def test_contract():
        check_constraint(SaysArr)

`FakeEndpoint` and `FakeModel` are the public fake of an endpoint: hundreds of models with scripted answers and faults.

It needs neither pytest nor hypothesis. A violation raises ContractViolation, which names the kind, the question, the
input and what to do.
"""

from __future__ import annotations

import dataclasses
import functools
import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from adhere.constraints import Constraint, Finding, from_ref, make, registry
from adhere.constraints.base import generation_problem, kind_problem
from adhere.constraints.published import Kind, PublishedConstraint, Text, forget
from adhere.constraints.published.shared.registry import fill
from adhere.errors import AdhereError, BadParameter
from adhere.pipeline.judge import both_views
from adhere.schema import ConstraintRef, Json, Turn, decode, encode
from adhere.text.words import has_words, sentence_spans

if TYPE_CHECKING:
    from adhere.models.fake.endpoint import FakeEndpoint, FakeModel
    from adhere.suites.generated.family import Family, SolvedPrompt

LIMIT_S = 2.0
"""CPU seconds that both views of 1 MB may take, in the best of three tries."""

TOPICS: tuple[tuple[str, ...], ...] = (("cats", "sleep", "energy"), ("budget",), (), ("sea level", "Zürich", "don't"))
ORDINARY = (
    "Cats sleep a lot because hunting takes energy. They wake up in the evening and look for food, water and company.",
    "A budget helps you see where your money goes. Write down what you earn and spend, and then decide what to save.",
    "Paris is the capital of France, and it has about 2.1 million inhabitants.",
    (
        "# Plan\n\nFirst, a list:\n\n- one *thing*\n- another\n\n```python\nx = [1, 2]\n```\n\n"
        'Second: that is "all", isn\'t it?'
    ),
)
BLANK = ("", " ", "\n\n", "\t", "\0", "\u200b", "...")
ODD = (
    "", " ", "\n", "\t\n ", "\0", "…", "🙂", "***", "{}", "[]", '""', "{", '{"a"', "\ud800", "a\ud800b", "\u202eabc",
    "İ", "ß", "ﬁ", "ǅ", "e\u0301", "1.", "- ", "-", "<<>>", "[ ]", "()", "P.S.", "<answer></answer>", '"', "“",
    '{"a": NaN}', "'", "*",
    '{"a": 1e999}', '{"a": ' + "9" * 5000 + "}", "1" * 5000, "a\r\nb\rc", "\r\n\r\n", "नमस्ते दुनिया।", "你好。再见！", "#",
    "*a",
    "مرحبا بالعالم", "\u202e\u200f", "A. B. C.", "(" * 1000, "[" * 2000 + "]" * 2000, "\u03a3", "```", "```\n```",
    "|a|\n|-|",
    "ProductID,Category\r1,2", '{"a": 1}\ud800', '"a","b"\n"",', "a\u2028b\x85c\x1cd",
)  # fmt: skip
MEGABYTE = 1_000_000
_HOSTILE: dict[str, tuple[str, str, str]] = {  # what stands before, what is repeated, what stands behind
    "newlines": ("", "\n", "x"),
    "blank lines": ("x", " \n", "x"),
    "blanks": ("x", " ", "x"),
    "tabs": ("x", "\t", "x"),
    "opening brackets": ("", "[", "x"),
    "opening braces": ("", "{", ""),
    "opening parentheses": ("", "(x", ""),
    "empty brackets": ("", "[]", ""),
    "brackets a line": ("", "[\n", ""),
    "angles": ("", "<", "x"),
    "angles a line": ("", "<<\n", ""),
    "tags": ("", "<answer>", ""),
    "JSON objects": ("", '{"a":', ""),
    "JSON lists": ("[", "[],", "[]]"),
    "digits": ("", "1", ""),
    "stars": ("x", "*", "x"),
    "stars and words": ("", "*a ", ""),
    "star bullets": ("", "* ", ""),
    "bullets a line": ("", "-\n", ""),
    "bullet lines": ("", "- a\n", ""),
    "blank bullet": ("x\n-", " ", ""),
    "dividers": ("", "***\n", ""),
    "fences": ("", "```\n", ""),
    "open fences": ("", "```\n~~~\n", ""),
    "headings": ("", "# a\n", ""),
    "table rows": ("|a|\n|-|\n", "|", ""),
    "stops": ("x", ".", "x"),
    "stops and marks": ("", "!?", ""),
    "abbreviations": ("", "Mr. ", ""),
    "sentences": ("", "x. ", ""),
    "lines": ("", "x\n", ""),
    "paragraphs": ("", "x\n\n", ""),
    "CRLF": ("", "a b.\r\n", ""),
    "carriage returns": ("", "a\r", ""),
    "quotes": ("", 'x."', ""),
    "double quotes": ("", '"', ""),
    "apostrophes": ("", "'S ", ""),
    "commas": ("", "a,", ""),
    "hyphens": ("", "a-", ""),
    "backticks": ("", "`", "x"),
    "addresses": ("", "http://a@b.c.", ""),
    "one word": ("", "a", ""),
    "capitals": ("", "A", ""),
    "short words": ("", "a ", ""),
    "English": ("", "The quick brown fox jumps over the lazy dog. ", ""),
    "English lines": ("", "A line of plain words, with a comma.\n", ""),
    "P.S.": ("", "p. s.", ""),
    "NUL": ("x", "\0", ""),
    "lone surrogates": ("x", "\ud800", ""),
    "right to left": ("", "\u202eش", ""),
    "Hebrew": ("", "שלום עולם. ", ""),
    "marks": ("a", "\u0301\u0323", ""),
    "emoji": ("", "👨\u200d👩\u200d👧 ", ""),
    "dotted capitals": ("", "İ", ""),
    "Chinese": ("", "你好。", ""),
}
HOSTILE = tuple(_HOSTILE)

Q = TypeVar("Q", bound=Callable[..., None])


class ContractViolation(AssertionError):
    """A kind breaks its contract; the message names the kind, the question, the input and what to do."""


class _Violation(Exception):
    """A question found a violation; `_question` makes a ContractViolation of it."""


def hostile_text(name: str, size: int = MEGABYTE) -> str:
    """Return the HOSTILE text called `name`, of about `size` characters."""
    before, repeated, behind = _HOSTILE[name]
    return before + repeated * (size // len(repeated)) + behind


def _question(remedy: str) -> Callable[[Q], Q]:
    """Return a decorator that makes a function, which requires something of a kind, a question of the contract.

    All its errors name the kind and the question, and end in `remedy`.
    """

    def wrap(ask: Q) -> Q:
        @functools.wraps(ask)
        def asked(kind: Any, *args: Any, **options: Any) -> None:
            try:
                ask(kind, *args, **options)
            except _Violation as broken:
                raise ContractViolation(f"{kind.id}: {ask.__name__}: {broken}. {remedy}") from None
            except Exception as error:
                violation = f"raised {type(error).__name__}: {error}"
                raise ContractViolation(f"{kind.id}: {ask.__name__}: {violation}. {remedy}") from error

        return asked  # type: ignore[return-value]

    return wrap


def _require(ok: object, message: str, *subjects: object) -> None:
    if not ok:
        raise _Violation(message + "".join(f"; {_shorten(subject)}" for subject in subjects))


def _shorten(subject: object) -> str:
    words = f"text {subject!r}" if isinstance(subject, str) else repr(subject)
    return words if len(words) <= 300 else f"{words[:300]}… ({len(words)} characters)"


def _check(judge: Constraint | PublishedConstraint, text: str) -> Finding:
    """Check a text; an exception becomes a _Violation that names the text."""
    try:
        return judge.check(text)
    except Exception as error:
        raise _Violation(f"check raised {type(error).__name__}: {error}; {judge!r}; {_shorten(text)}") from error


def _outcome(judge: Constraint, text: str, outcome: str) -> None:
    finding = _check(judge, text)
    if _is_not_run(judge, finding):
        return
    _require(finding.outcome == outcome, f"must {outcome}, got {finding.outcome} ({finding.reason})", judge, text)


def _is_not_run(judge: Constraint, finding: Finding) -> bool:
    """Tell whether the verdict is undecided because nothing on this machine isolates code."""
    if finding.outcome != "undecided" or not judge.runs_code:
        return False
    from adhere import sandbox

    return sandbox.backend().startswith("none")


_NO_PLURAL = re.compile(r"\b\d+ (?:\w+ )?\w*(?:sh|ch|x|ss)s\b")  # `2 dashs`


def draw_several(kind: type[Constraint], count: int = 4) -> list[Constraint]:
    """Draw constraints of one kind for several topics and seeds."""
    return [kind.draw(random.Random(seed), words=words) for seed in range(count) for words in TOPICS]


@_question("Correct the class, then run the question again")
def declares_itself(kind: type[Constraint]) -> None:
    """Require that a registry accepts the class, and that its declarations are complete."""
    problem = kind_problem(kind.id, kind) or generation_problem(kind)
    _require(problem is None, str(problem))
    _require(kind.id.partition(":")[0] == kind.family() and kind.id.partition(":")[2], "id must be 'family:kind'")
    _require(kind.part in {"train", "held-out"}, f"part must be 'train' or 'held-out', got {kind.part!r}")
    _require(kind.version >= 1, f"version must be at least 1, got {kind.version!r}")
    _require(len(set(kind.phrasings)) == len(kind.phrasings), "phrasings must differ", kind.phrasings)
    _require(kind.__doc__, "there must be a docstring that shows a passing and a failing answer")


@_question("Make `passing` and `failing` (parameters, text) hold")
def examples_hold(kind: type[Constraint]) -> None:
    """Require that the kind's own examples pass and fail."""
    _outcome(make(kind.id, **kind.passing[0]), kind.passing[1], "pass")
    _outcome(make(kind.id, **kind.failing[0]), kind.failing[1], "fail")


@_question("Keep everything that `check` needs in parameters that JSON can hold")
def survives_storage(kind: type[Constraint]) -> None:
    """Require that a constraint equals itself after it was stored and read back."""
    for constraint in draw_several(kind):
        ref = constraint.ref()
        _require(
            from_ref(decode(encode(ref), ConstraintRef)) == constraint, "must equal itself after storage", constraint
        )
        _require(make(ref.id, **ref.params) == constraint, "must equal what is made of its parameters", constraint)


@_question("Draw from `rng` alone")
def draws_the_same_for_a_seed(kind: type[Constraint]) -> None:
    """Require that a seed determines what is drawn."""
    for constraint, other in zip(draw_several(kind), draw_several(kind), strict=True):
        _require(constraint == other, "must draw the same twice", constraint, other)


@_question("Say every parameter in every phrasing, so that the model can know it")
def says_its_parameters(kind: type[Constraint]) -> None:
    """Require that wordings differ and name every parameter, but no answer key (`said` is False).

    Parameters of inner constraints must be named, too.
    """
    keys = {field.name for field in dataclasses.fields(kind) if not field.metadata.get("said", True)}
    for constraint in draw_several(kind):
        sentences = [constraint.describe(number) for number in range(len(kind.phrasings))]
        _require(len(set(sentences)) == len(sentences), "wordings must differ", sentences)
        _require(not any(map(_NO_PLURAL.search, sentences)), "wordings must use plurals that there are", sentences)
        params = constraint.ref().params
        for sentence in sentences:
            leak = next((name for name in keys if str(params[name]) in sentence), None)
            _require(leak is None, f"must not say the answer key {leak!r}", constraint, sentence)
        for value in _innermost({name: value for name, value in params.items() if name not in keys}):
            forms = [str(value), "once"] if value == 1 else [str(value)]
            for sentence in sentences:
                _require(any(form in sentence for form in forms), f"must say {value!r}", constraint, sentence)


def _innermost(value: Json) -> Iterator[Json]:
    """Yield the values of parameters; an inner constraint `{"id", "params"}` yields its own parameters."""
    if isinstance(value, dict):
        for item in (value["params"] if set(value) == {"id", "params"} else value).values():
            yield from _innermost(item)
    elif isinstance(value, list):
        for item in value:
            yield from _innermost(item)
    elif value is not None:
        yield value


@_question("Build `witness` and `counter_witness` for the parameters of the constraint")
def witnesses_hold(kind: type[Constraint]) -> None:
    """Require that the witness passes and the counter-witness fails and is not blank."""
    for constraint in draw_several(kind):
        _outcome(constraint, constraint.witness(), "pass")
        _require(constraint.counter_witness().strip(), "the counter-witness must not be blank", constraint)
        _outcome(constraint, constraint.counter_witness(), "fail")


@_question("See Finding for what its fields mean")
def findings_are_complete(kind: type[Constraint]) -> None:
    """Require that findings are repeatable and have a reason, a fitting score and a span inside the text."""
    for constraint in draw_several(kind, count=2):
        for text in (*ORDINARY, constraint.witness(), constraint.counter_witness()):
            finding = _check(constraint, text)
            subjects = (finding, constraint, text)
            _require(finding == _check(constraint, text), "must find the same twice", *subjects)
            _require(
                finding.outcome in {"pass", "fail"} or _is_not_run(constraint, finding), "must pass or fail", *subjects
            )
            _require(0 < len(finding.reason) < 1000, "the reason must have 1 to 999 characters", *subjects)
            _require(not _NO_PLURAL.search(finding.reason), "the reason must use a plural that there is", *subjects)
            _score_fits(finding, subjects)
            span = finding.span
            _require(span is None or 0 <= span[0] <= span[1] <= len(text), "the span must lie in the text", *subjects)
            encode(finding)


def _score_fits(finding: Finding, subjects: tuple[object, ...]) -> None:
    if finding.score is not None:
        _require(0 <= finding.score <= 1, "the score must lie in [0, 1]", *subjects)
        _require((finding.score == 1) == (finding.outcome == "pass"), "the score must be 1 for a pass only", *subjects)


@_question("Answer nothing and you followed nothing: derive from `Rule`, which sees to it")
def blank_answers_fail(kind: type[Constraint]) -> None:
    """Require that an answer without a word fails."""
    for constraint in draw_several(kind, count=1):
        for text in BLANK:
            _outcome(constraint, text, "fail")


@_question("Declare each parameter by `param(domain)`, and raise BadParameter through `Constraint.__post_init__`")
def rejects_parameters(kind: type[Constraint]) -> None:
    """Require that unknown, missing and impossible parameters are refused with the usual messages."""
    good = draw_several(kind, count=1)[0].ref().params

    def build(params: dict[str, Any]) -> Constraint:
        return make(kind.id, **params)

    for field in dataclasses.fields(kind):
        for value in field.metadata["domain"].invalid():
            _refuse(build, {**good, field.name: value}, f"{kind.id}: {field.name}=", " must be ")
        if field.default is dataclasses.MISSING:
            others = {name: value for name, value in good.items() if name != field.name}
            _refuse(build, others, f"{kind.id}: missing parameter ", field.name)
    _refuse(build, {**good, "no_such_parameter": 1}, f"{kind.id}: unknown parameter 'no_such_parameter'", "")


def _refuse(build: Callable[[dict[str, Any]], object], params: dict[str, Any], start: str, part: str) -> None:
    try:
        build(params)
    except BadParameter as error:
        message = str(error)
    else:
        raise _Violation(f"must refuse the parameters {_shorten(params)}")
    _require(message.startswith(start) and part in message, f"must say {start}…{part}…", message)


@_question("Leave what no small edit can mend: yield nothing from `repairs`")
def repairs_pass_or_decline(kind: type[Constraint]) -> None:
    """Require that a repaired answer passes, also if it is repaired twice."""
    for constraint in draw_several(kind):
        for text in ORDINARY:
            repaired_text = constraint.repair(text)
            if repaired_text is not None:
                _outcome(constraint, repaired_text, "pass")
                again = constraint.repair(repaired_text)
                if again is not None:
                    _outcome(constraint, again, "pass")


@_question("Any string is an answer: lone surrogates, NUL, CRLF, unfinished JSON")
def never_raises_on_odd_texts(kind: type[Constraint]) -> None:
    """Require that odd texts pass or fail, and that the finding can be stored."""
    for constraint in draw_several(kind, count=1):
        for text in ODD:
            finding = _check(constraint, text)
            _require(
                finding.outcome in {"pass", "fail"} or _is_not_run(constraint, finding),
                "must pass or fail",
                constraint,
                text,
            )
            _score_fits(finding, (constraint, text))
            encode(finding)


@_question("Let `check` depend on nothing but its text and the parameters")
def strict_pass_is_loose_pass(kind: type[Constraint]) -> None:
    """Require that what passes strictly passes loosely."""
    for constraint in draw_several(kind, count=1):
        for text in (*ORDINARY, *ODD, constraint.witness()):
            strict, loose = both_views(constraint, Text(text))
            _require(
                strict.outcome != "pass" or loose.outcome == "pass",
                "a strict pass must be a loose pass",
                constraint,
                text,
            )


@_question("Two of one kind conflict: leave that to `Constraint.conflicts_with`")
def conflicts_with_itself(kind: type[Constraint]) -> None:
    """Require that two constraints of one kind conflict, so that they are never asked for together."""
    constraint = draw_several(kind, count=1)[0]
    _require(constraint.conflicts_with(constraint), "must conflict with itself", constraint)


@_question("Make `check` linear in the text: no nested quantifiers, no search from every position")
def hostile_texts_take_no_time(
    kind: type[Constraint], *, limit_s: float = LIMIT_S, names: Sequence[str] = HOSTILE, size: int = MEGABYTE
) -> None:
    """Require that both views of 1 MB take at most `limit_s` CPU seconds, and in proportion for another `size`."""
    constraint = draw_several(kind, count=1)[0]
    for name in names:
        _time(constraint, name, limit_s, size)


def _time(constraint: Constraint | PublishedConstraint, name: str, limit_s: float, size: int) -> None:
    text = hostile_text(name, size)
    limit_s *= size / MEGABYTE
    took = 0.0
    for _ in range(3):  # the clock is the processor's, but another process may have emptied its caches
        start = time.thread_time()
        findings = both_views(constraint, Text(text))
        took = time.thread_time() - start
        for finding in findings:
            _require(" raised " not in finding.reason or finding.outcome != "undecided", finding.reason, constraint)
        if took <= limit_s:
            return
    raise _Violation(f"{size / MEGABYTE:g} MB of {name} took {took:.2f} CPU seconds, allowed {limit_s}; {constraint!r}")


QUESTIONS: tuple[Callable[[type[Constraint]], None], ...] = (
    declares_itself, examples_hold, survives_storage, draws_the_same_for_a_seed, says_its_parameters, witnesses_hold,
    findings_are_complete, blank_answers_fail, rejects_parameters, repairs_pass_or_decline, never_raises_on_odd_texts,
    strict_pass_is_loose_pass, conflicts_with_itself,
)  # fmt: skip


def check_constraint(kind: type[Constraint], *, limit_s: float = LIMIT_S, names: Sequence[str] = HOSTILE) -> None:
    """Ask a kind every question; return if it passes all of them.

    A class that no registry holds yet is registered first, as its entry point would do it.

    Args:
        kind: The class.
        limit_s: CPU seconds that both views of 1 MB may take.
        names: Names of the hostile texts to judge.

    Raises:
        ContractViolation: The kind fails a question; the first one is named.
    """
    problem = kind_problem(getattr(kind, "id", None), kind) or generation_problem(kind)
    if problem is not None:
        raise ContractViolation(f"{getattr(kind, '__qualname__', kind)!s}: {problem}")
    try:
        if registry.own(kind.id) is not kind:
            registry.add(kind.id, kind, owner=kind.__module__)
    except AdhereError as error:
        raise ContractViolation(str(error)) from None
    for question in QUESTIONS:
        question(kind)
    hostile_texts_take_no_time(kind, limit_s=limit_s, names=names)


# Values for parameters that the published code takes from its caller alone.
_VALUES: dict[str, tuple[Json, ...]] = {
    "prompt_to_repeat": ("Write a poem about the quick brown fox.", "the quick brown fox jumps over"),
    "reference_text": ("the quick brown fox jumps over",),
    "ranges": (["1 2", "2 3"], ["1 9"]),
    "options": ("yes/no/maybe", "I am good, I am fine"),
    "sep": ("...", "-", "!?!?"),
    "phrase": ("the quick brown fox", "a b"),
    "letter": ("a", "q"),
    "relation": ("at least", "less than"),
    "language": ("en", "de", "ar"),
    "postscript_marker": ("P.S.", "P.P.S"),
    "section_spliter": ("Section", "SECTION"),
    "n_start": (2,),
    "n_end": (9,),
    "expected": ("3", "[1, 2]"),
    "schema": ('{"type": "object", "required": ["fox"]}', '{"type": "string", "format": "ipv4"}'),
    "source": ("def check_following(response):\n    return 'fox' in response\n",),
    "path": ("fox.name", "list[0].*", "csv::fox"),
}
_BY_TYPE: dict[str, tuple[Json, ...]] = {
    "integer": (1, 2, 3, 50),
    "number": (1, 2, 3, 50),
    "string": ("fox", "the", "dog"),
    "strings": (["fox", "dog"], ["zebra"]),
    "pairs": ({"ete": "été"}, {"lecon": "leçon"}),
}


def published_params(kind: Kind, seed: int = 0) -> dict[str, Json]:
    """Draw all parameters of a published kind from what the kind declares."""
    rng = random.Random(seed)
    params: dict[str, Json] = {}
    for name, param in kind.params.items():
        if param.choices:
            params[name] = rng.choice(param.choices)
        else:
            params[name] = rng.choice(_VALUES.get(name, _BY_TYPE[param.type]))
    return params


def published(kind: Kind, count: int = 2) -> list[PublishedConstraint]:
    """Make constraints of a published kind with drawn parameters; the last has those that the published code draws."""
    complete = [fill(kind, published_params(kind, seed)) for seed in range(count)]
    required_params = {name: value for name, value in published_params(kind).items() if kind.params[name].required}
    return [*complete, fill(kind, required_params, random_seed=7)]


@_question("Any string is an answer")
def published_never_raises(kind: Kind) -> None:
    """Require that odd texts have a finding with a reason that can be stored."""
    for constraint in published(kind):
        for text in (*ORDINARY, *ODD):
            finding = _check(constraint, text)
            _require(
                0 < len(finding.reason) < 1000, "the reason must have 1 to 999 characters", finding, constraint, text
            )
            encode(finding)


@_question("Published code fails an answer without a visible character")
def published_blank_answers_fail(kind: Kind) -> None:
    """Require that a blank answer fails, even if the constraint is undecided."""
    for constraint in published(kind, count=1):
        for text in ("", " ", "\n\t"):
            _require(_check(constraint, text).outcome == "fail", "must fail", constraint, text)


@_question("Let features depend on the text alone")
def published_is_deterministic(kind: Kind) -> None:
    """Require that the same text has the same findings, whatever was judged before."""
    for constraint in published(kind, count=1):
        first = [constraint.both_views(Text(text)) for text in (*ORDINARY, *ODD)]
        forget()
        again = [constraint.both_views(Text(text)) for text in reversed((*ORDINARY, *ODD))]
        for text, a, b in zip((*ORDINARY, *ODD), first, reversed(again), strict=True):
            _require(a == b, "must find the same again", a, b, constraint, text)


@_question("Loose is any variant of the text, the text itself first")
def published_strict_pass_is_loose_pass(kind: Kind) -> None:
    """Require that what passes strictly passes loosely, and that the views agree with `check`."""
    for constraint in published(kind, count=1):
        for text in (*ORDINARY, *ODD):
            strict, loose = constraint.both_views(Text(text))
            _require(strict == _check(constraint, text), "check must be the strict view", constraint, text)
            _require(
                strict.outcome != "pass" or loose.outcome == "pass",
                "a strict pass must be a loose pass",
                constraint,
                text,
            )


@_question("Keep everything that the check needs in published parameters")
def published_survives_storage(kind: Kind) -> None:
    """Require equal findings after storage, also with whole numbers as floats and null for absent parameters."""
    for constraint in published(kind):
        ref = decode(encode(constraint.ref()), ConstraintRef)
        floats = {name: float(value) if type(value) is int else value for name, value in ref.params.items()}
        nulls = dict.fromkeys((name for name in ("keywords", "N", "language") if name not in kind.params), None)
        for params in (ref.params, {**floats, **nulls}):
            again = fill(kind, params)
            _require(again.params == constraint.params, "must have the same parameters", again, constraint)
            for text in ORDINARY:
                _require(_check(again, text) == _check(constraint, text), "must find the same", constraint, text)


@_question("Unknown, missing and mistyped parameters are refused before anything is judged")
def published_rejects_parameters(kind: Kind) -> None:
    """Require that wrong parameters are refused with the usual messages."""
    good = published_params(kind)
    cases: list[tuple[dict[str, Json], str, str]] = [
        ({**good, "no_such_parameter": 1}, "unknown parameter 'no_such_parameter'", "It takes: ")
    ]
    for name, param in kind.params.items():
        cases.append(({**good, name: {"a": 1}}, f"{name}=", " must be "))
        if param.choices:
            cases.append(({**good, name: "no such name"}, f"{name}='no such name' must be one of ", ""))
        if param.type in {"integer", "number"}:
            cases.append(({**good, name: "three"}, f"{name}='three' must be ", "number"))
            cases.append(({**good, name: True}, f"{name}=True must be ", "number"))
        if param.required:
            cases.append(({other: value for other, value in good.items() if other != name}, "missing parameter ", name))
    for params, start, part in cases:
        _refuse(functools.partial(fill, kind), params, f"{kind.id}: {start}", part)


@_question("Make the check linear in the text")
def published_hostile_texts_take_no_time(
    kind: Kind, *, limit_s: float = LIMIT_S, names: Sequence[str] = HOSTILE, size: int = MEGABYTE
) -> None:
    """Require that both views of 1 MB take at most `limit_s` CPU seconds, and in proportion for another `size`."""
    constraint = published(kind, count=1)[0]
    for name in names:
        _time(constraint, name, limit_s, size)


PUBLISHED_QUESTIONS: tuple[Callable[[Kind], None], ...] = (
    published_never_raises, published_blank_answers_fail, published_is_deterministic,
    published_strict_pass_is_loose_pass,
    published_survives_storage, published_rejects_parameters,
)  # fmt: skip


def check_published(kind: Kind, *, limit_s: float = LIMIT_S, names: Sequence[str] = HOSTILE) -> None:
    """Ask a published kind every question; arguments and errors as in `check_constraint`."""
    for question in PUBLISHED_QUESTIONS:
        question(kind)
    published_hostile_texts_take_no_time(kind, limit_s=limit_s, names=names)


def __getattr__(name: str) -> Any:
    """Import `FakeEndpoint` or `FakeModel` when it is first used, because they bring a web server."""
    if name not in {"FakeEndpoint", "FakeModel"}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from adhere.models.fake import endpoint as fake

    return getattr(fake, name)


__all__ = [
    "HOSTILE", "LIMIT_S", "ODD", "ORDINARY", "PUBLISHED_QUESTIONS", "QUESTIONS", "ContractViolation", "FakeEndpoint",
    "FakeModel", "check_constraint", "check_published", "draw_several", "hostile_text", "hostile_texts_take_no_time",
    "published", "published_hostile_texts_take_no_time", "published_params",
]  # fmt: skip

NULL_ANSWERS: dict[str, Callable[[str], str]] = {
    "empty": lambda _: "",
    "echo": lambda text: text,
    "constant": lambda _: "Yes.",
    "first line": lambda text: text.strip().splitlines()[0],
    "last line": lambda text: text.strip().splitlines()[-1],
    "last sentence": lambda text: text[slice(*sentence_spans(text)[-1])],
}
"""Functions from a turn's text to an answer that follows nothing, by name."""
MOST_NULL_PASSES = 0.02
MOST_REPEATS = 0.01
"""Items that another seed may ask, too: of what is short, such as *turn the light on*, there are only so many."""
FAMILY_SEEDS = (0, 1, 7)


def check_family(family: Family, *, items: int = 120) -> None:
    """Ask a family of generated prompts every question of its contract, about `items` items of three seeds together.

    Its own answers pass; no two rules of a turn contradict each other; empty, copied and constant answers fail; no two
    items of a seed are the same, and hardly any of two seeds; a seed gives the same items twice.

    Raises:
        ContractViolation: The family breaks its contract; the message names the family, the question and the first
            item that shows it.
    """
    per_group = len(family.level_names)
    groups = max(1, -(-items // (len(FAMILY_SEEDS) * per_group)))
    seeds = [list(family.stream(seed, groups, family_levels(family))) for seed in FAMILY_SEEDS]
    solved_prompts = [solved_prompt for items_of_seed in seeds for solved_prompt in items_of_seed]
    _family_declares_itself(family, solved_prompts)
    _solver_passes(family, solved_prompts)
    _rules_agree(family, solved_prompts)
    _null_answers_fail(family, solved_prompts)
    _items_differ(family, seeds)
    again = [solved_prompt.prompt for solved_prompt in family.stream(FAMILY_SEEDS[0], 1, family_levels(family))]
    if encode(again) != encode([solved_prompt.prompt for solved_prompt in solved_prompts[: len(again)]]):
        raise ContractViolation(f"{family.name}: a seed must give the same items twice. Draw from `rng` alone")


def family_levels(family: Family) -> list[str]:
    """Return the levels that the contract is checked at: those of the default suite."""
    return list(family.level_names[: family.usual_levels or None])


def _family_declares_itself(family: Family, solved_prompts: Sequence[SolvedPrompt]) -> None:
    from adhere.suites.generated.family import family_problem

    problem = family_problem(family.name, family)
    if problem:
        raise ContractViolation(f"{family.name}: {problem}")
    levels = {solved_prompt.prompt.tags["slice"] for solved_prompt in solved_prompts}
    if levels != set(family_levels(family)):
        raise ContractViolation(f"{family.name}: the levels drawn are {sorted(levels)}, not {family_levels(family)}")


def _passes(solved_prompt: SolvedPrompt, answers: Sequence[str], view: int) -> bool:
    from adhere.pipeline.judge import judge_of
    from adhere.text.reasoning import split_reasoning

    for turn, answer in zip(solved_prompt.prompt.turns, answers, strict=True):
        reasoning, text = split_reasoning(answer)
        findings = judge_of(turn.constraints).findings(text, reasoning=reasoning)
        if any(views[view].outcome != "pass" for views in findings):
            return False
    return True


def _solver_passes(family: Family, solved_prompts: Sequence[SolvedPrompt]) -> None:
    for solved_prompt in solved_prompts:
        if not any(turn.constraints for turn in solved_prompt.prompt.turns):
            raise ContractViolation(
                f"{family.name}: {solved_prompt.prompt.id} has no constraint, so nothing is measured"
            )
        if not _passes(solved_prompt, solved_prompt.answers, 0):
            raise ContractViolation(
                f"{family.name}: the answer given with {solved_prompt.prompt.id} must pass strictly; "
                f"{_shorten(solved_prompt.answers)}; {_shorten(solved_prompt.prompt)}"
            )


def _rules_agree(family: Family, solved_prompts: Sequence[SolvedPrompt]) -> None:
    for solved_prompt in solved_prompts:
        for turn in solved_prompt.prompt.turns:
            problem = next(_contradictions(turn), None)
            if problem:
                raise ContractViolation(
                    f"{family.name}: {solved_prompt.prompt.id} asks for {problem}; {_shorten(turn.text)}"
                )


def _contradictions(turn: Turn) -> Iterator[str]:
    """Yield what a reader cannot hold together although a program can.

    Its own answer passes, but breaks what the text says.
    """
    rules = [from_ref(ref) for ref in turn.constraints if ref.id in registry]
    lists = [rule for rule in rules if rule.id in {"structure:bullets", "structure:numbered"}]
    label_rules = [rule for rule in rules if rule.family() == "answer" and "label" in rule.ref().params]
    if lists and label_rules:
        yield f"{lists[0]!r}, a list, and for {label_rules[0]!r}, a line that is in no list"
    for rule in label_rules:
        ends = next((other for other in rules if other.id == "startend:end_phrase"), None)
        if ends and rule.ref().params.get("place") == "last line":
            yield f"{rule!r} and {ends!r}: both at the end"
    quoted = {literal for rule in rules for literal in rule.literals()} & set(_QUOTED.findall(turn.text))
    labels = {label for label in _LABEL.findall(turn.text) if has_words(label)}
    for case in (rule for rule in rules if rule.id in _CASES):
        for words in sorted(quoted | labels):
            if not _CASES[case.id](words):
                yield f"{case!r} and for {words!r} as it is written"


_CASES: dict[str, Callable[[str], bool]] = {"case:lower": str.islower, "case:upper": str.isupper}
_QUOTED = re.compile(r'"([^"\n]{1,200})"')
_LABEL = re.compile(r'"([^"\n]{1,40}:) ?"')


def _null_answers_fail(family: Family, solved_prompts: Sequence[SolvedPrompt]) -> None:
    for name, make_answer in NULL_ANSWERS.items():
        passed = [
            solved_prompt
            for solved_prompt in solved_prompts
            if _passes(solved_prompt, [make_answer(turn.text) for turn in solved_prompt.prompt.turns], 1)
        ]
        if len(passed) > MOST_NULL_PASSES * len(solved_prompts):
            raise ContractViolation(
                f"{family.name}: {len(passed)} of {len(solved_prompts)} items pass (loosely) with "
                f"the null answer {name!r}; at most {MOST_NULL_PASSES:.0%} may, e.g. {passed[0].prompt.id}: "
                f"{_shorten(passed[0].prompt.turns[-1].text)}"
            )


def _items_differ(family: Family, seeds: Sequence[Sequence[SolvedPrompt]]) -> None:
    from adhere.suites.generated.family import hash_of

    first_by_hash: dict[int, tuple[str, int]] = {}
    repeats = []
    for seed, solved_prompts in enumerate(seeds):
        for solved_prompt in solved_prompts:
            first, of = first_by_hash.setdefault(hash_of(solved_prompt.prompt), (solved_prompt.prompt.id, seed))
            if first == solved_prompt.prompt.id:
                continue
            repeats.append(f"{first} and {solved_prompt.prompt.id} ask the same")
            if of == seed:
                raise ContractViolation(f"{family.name}: {repeats[-1]}. Draw from more")
    if len(repeats) > MOST_REPEATS * sum(map(len, seeds)):
        raise ContractViolation(
            f"{family.name}: {len(repeats)} items are another seed's, too, e.g. {repeats[0]}. Draw from more"
        )
