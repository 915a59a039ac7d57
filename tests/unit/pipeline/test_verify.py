"""Judging a file of answers: matching, reasoning, statuses, accounting, and numbers that agree with a Run's."""

from __future__ import annotations

import gzip
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
import zstandard

from adhere import suites
from adhere.errors import SpecError, UsageError
from adhere.models.fake.scripted import ScriptedModel
from adhere.pipeline.check import check
from adhere.pipeline.evaluate import evaluate_sync
from adhere.pipeline.summarize import summarize
from adhere.progress import Lines
from adhere.schema import ConstraintRef, Prompt, Response, Sampling, Turn, encode
from adhere.suites import Suite
from adhere.verify import answers as module
from adhere.verify.answers import Verification, verify

WORDS = {
    "instruction_id_list": ["length_constraints:number_words"],
    "kwargs": [{"num_words": 2, "relation": "less than"}],
}
COMMAS = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
BOTH = {"instruction_id_list": ["punctuation:no_comma", "startend:quotation"], "kwargs": [{}, {}]}
LETTER = {
    "instruction_id_list": ["keywords:letter_frequency"],
    "kwargs": [{"letter": "#", "let_frequency": 2, "let_relation": "at least"}],
}
PROMPTS = [
    {"key": 1, "prompt": "One?", **COMMAS},
    {"key": 2, "prompt": "Two? ", **BOTH},
    {"key": "c", "prompt": "Three?", **WORDS},
    {"key": 4, "prompt": "Four?", **LETTER},
]
ANSWERS = [
    {"key": "1", "response": "yes"},
    {"prompt": "Two?", "response": '"no, never"'},
    {"key": "c", "response": "Sure:\nhello"},
    {"key": 4.0, "response": "##"},
]


def lines(rows: list[Any]) -> bytes:
    return b"".join((one if isinstance(one, str) else json.dumps(one)).encode() + b"\n" for one in rows)


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    (tmp_path / "prompts.jsonl").write_bytes(lines(PROMPTS))
    return suites.load(f"ifeval:{tmp_path / 'prompts.jsonl'}")


def judged(suite: Suite, folder: Path, rows: list[Any], **options: Any) -> tuple[Verification, list[dict[str, Any]]]:
    source, out = folder / "answers.jsonl", folder / "verdicts.jsonl"
    source.write_bytes(lines(rows))
    found = verify(suite, source, verdicts=out, **options)
    return found, [json.loads(line) for line in out.read_bytes().splitlines()]


def test_four_ways_to_match_and_everything_that_is_counted(suite: Suite, tmp_path: Path) -> None:
    found, rows = judged(suite, tmp_path, ANSWERS)
    assert [(row["key"], row["index"], row["strict"], row["loose"]) for row in rows] == [
        (1, 0, "pass", "pass"),
        (2, 0, "fail", "fail"),
        (2, 1, "pass", "pass"),
        ("c", 0, "fail", "pass"),
        (4, 0, "undecided", "undecided"),
    ]
    assert rows[3] == {
        "key": "c",
        "index": 0,
        "instruction_id": "length_constraints:number_words",
        "strict": "fail",
        "loose": "pass",
        "reason": "found 2 words, needed fewer than 2",
        "loose_reason": "found 1 word, needed fewer than 2 (in a loose variant of the answer)",
        "measured": 2,
        "needed": 2,
        "score": rows[3]["score"],
    }
    assert "loose_reason" not in rows[0]
    assert (found.n_prompts, found.n_instructions) == (4, 5)
    counts = {name: (rate.passed, rate.n) for name, rate in found.rates.items()}
    assert counts == {
        "prompt_strict": (1, 3),
        "instruction_strict": (2, 4),
        "prompt_loose": (2, 3),
        "instruction_loose": (3, 4),
    }
    assert found.prompt_strict == pytest.approx(1 / 3)
    assert found.instruction_strict == 0.5
    assert found.prompt_loose == pytest.approx(2 / 3)
    assert found.instruction_loose == 0.75
    assert found.instruction_macro == pytest.approx((1 + 0.5 + 0) / 3)
    assert found.mean_of_four == pytest.approx((1 / 3 + 0.5 + 2 / 3 + 0.75) / 4)
    assert found.mean_of_prompt_and_instruction_strict == pytest.approx((1 / 3 + 0.5) / 2)
    assert found.coverage == 0.75
    account = found.accounting
    assert (account.responses.n, account.responses.ok, account.responses.missing) == (4, 4, 0)
    done = account.instructions
    assert (done.checked, done.passed, done.failed, done.undecided) == (5, 2, 2, 1)
    (undecided,) = found.undecided
    assert (undecided.key, undecided.index, undecided.instruction_id) == (4, 0, "keywords:letter_frequency")
    assert "at random" in undecided.reason
    assert found.kinds["punctuation:no_comma"].passed == 1
    assert found.families["startend"].strict.of_all == 1.0
    assert found.examples["punctuation:no_comma"].key == 2
    assert found.verifier_version == "1.ifeval.1"
    assert found.suite_sha256 == suite.sha256


def test_a_seed_decides_what_the_published_code_draws(suite: Suite, tmp_path: Path) -> None:
    found, rows = judged(suite, tmp_path, ANSWERS, random_in_reference=3)
    assert rows[-1]["strict"] in {"pass", "fail"}
    assert found.rates["prompt_strict"].n == 4
    assert found.undecided == []
    assert judged(suite, tmp_path, ANSWERS, random_in_reference=3) == (found, rows)


def test_fixed_mode_judges_the_letter_that_was_asked_for(suite: Suite, tmp_path: Path) -> None:
    found, rows = judged(suite, tmp_path, ANSWERS, mode="fixed")
    assert rows[-1]["strict"] == "pass"
    assert found.mode == "fixed"
    assert "fixed" in found.verifier_version


def test_the_numbers_are_those_of_a_run(suite: Suite, tmp_path: Path) -> None:
    """Several draws, statuses and missing answers: verify and summarize agree on everything that both report."""
    texts = ["yes", "no, never", '"quoted"', "", "two words", "*a*\nb, c"]
    status = ["ok", "truncated", "refused", "ok", "error"]
    rows, responses = [], []
    for draw in range(3):
        for place, prompt in enumerate(suite.prompts):
            if (draw, place) == (1, 2):
                continue  # missing
            text, state = texts[(draw * 4 + place) % len(texts)], status[(draw + place) % len(status)]
            rows.append(
                {"key": prompt.key, "draw": draw, "status": state, "response": None if state == "error" else text}
            )
            state = "empty" if state == "ok" and not text else state
            responses.append(Response(prompt.id, 0, draw, "" if state == "error" else text, state))  # type: ignore[arg-type]
    found, stored = judged(suite, tmp_path, rows)
    by_id = {prompt.id: prompt for prompt in suite.prompts}
    verdicts = [verdict for response in responses for verdict in check(by_id[response.prompt_id], response)]
    overall = summarize(suite.prompts, 3, responses, verdicts).overall
    assert found.draws == 3
    assert found.accounting.responses == overall.accounting
    assert overall.accounting.missing == 1
    assert overall.accounting.error > 0
    assert found.rates == {name: getattr(overall, name) for name in found.rates}
    assert (found.kinds, found.families) == (overall.kinds, overall.families)
    assert found.instruction_macro == overall.instruction_macro
    assert found.mean_of_four == overall.mean_of_four
    assert found.coverage == overall.coverage
    assert {row["draw"] for row in stored} == {0, 1, 2}
    assert len(stored) * 2 == len(verdicts)


def test_the_reasoning_rule(suite: Suite, tmp_path: Path) -> None:
    rows = [
        {"key": 1, "response": "<think>well, hm</think>yes"},
        {"key": 2, "response": 'well, hm</think>\n"never"'},
        {"key": "c", "response": "<think>never closed"},
    ]
    found, stored = judged(suite, tmp_path, rows)
    assert [row["strict"] for row in stored] == ["pass", "pass", "pass", "fail"]
    assert stored[3]["reason"] == "the answer is empty"
    assert (found.accounting.responses.ok, found.accounting.responses.truncated) == (2, 1)
    kept, stored = judged(suite, tmp_path, rows, keep_reasoning=True)
    assert [row["strict"] for row in stored] == ["fail", "fail", "fail", "fail"]
    assert kept.keep_reasoning
    assert kept.accounting.responses.ok == 3


def test_how_a_model_stopped_becomes_a_status(suite: Suite, tmp_path: Path) -> None:
    rows = [
        {"key": 1, "response": "yes", "finish_reason": "length"},
        {"key": 2, "response": "yes", "stop_reason": "refusal", "finish_reason": None},
        {"key": "c", "response": "yes", "stop_reason": 128009, "finish_reason": "stop"},
        {"key": 4, "response": " \n", "finish_reason": "stop"},
    ]
    found, _ = judged(suite, tmp_path, rows)
    account = found.accounting.responses
    assert (account.truncated, account.refused, account.ok, account.empty) == (1, 1, 1, 1)
    assert (found.rates["prompt_strict"].n_completed, found.rates["prompt_strict"].n) == (1, 4)


def test_an_answer_that_was_cut_fails_where_the_suite_says_so(tmp_path: Path) -> None:
    prompt = Prompt("a", (Turn("Go.", (ConstraintRef("punctuation:no_commas"),)),))
    rows = [{"key": "a", "response": "fine", "status": "truncated"}]
    for cut, outcome in (("fail", "fail"), ("judge", "pass")):
        _, stored = judged(Suite("own", "1", (prompt,), cut_answers=cut), tmp_path, rows)  # type: ignore[arg-type]
        assert stored[0]["strict"] == stored[0]["loose"] == outcome


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"key": 9, "response": "x"}, r"no prompt of ifeval:\S+ has key 9, and the row has no `prompt` to match by"),
        ({"prompt": "Nine?", "response": "x"}, r"no prompt of ifeval:\S+ has the text 'Nine\?'\. Is this the suite"),
        ({"response": "x"}, r"the row has neither `key` nor `prompt`"),
        (
            {"prompt": [{"role": "user"}], "response": "x"},
            r"`prompt` is a list of messages, which matches nothing\. Give",
        ),
        ({"key": 4, "prompt": "Three?", "response": "x"}, r"key 4 is one prompt of .* that of key 'c'\. Which did it"),
        ({"key": 4}, r"the row has no `response`\. It has: key"),
        ({"key": 4, "response": None}, r"`response` is null\. Leave the row out"),
        (
            {"key": 4, "response": ["x"]},
            r"response: Expected `str \| null`, got `array`\. Columns of this row: key, resp",
        ),
        ({"key": 4, "response": "x", "draw": -1}, r"draw=-1 must be 0 or more"),
        ({"key": 4, "response": "x", "status": "success"}, r"status='success' must be one of ok, truncated, empty"),
        ("[4]", r"found a list; each line must be one JSON object"),
        ('{"key": 4,, }', r"not JSON: "),
        ({"key": 1, "response": "x"}, r"key 1 \(draw 0\) was answered in line 1 already\. Delete one of the rows, or"),
    ],
)
def test_rows_that_cannot_be_used(suite: Suite, tmp_path: Path, wrong: Any, message: str) -> None:
    rows = [*ANSWERS[:3], wrong]
    with pytest.raises(SpecError, match=message) as caught:
        judged(suite, tmp_path, rows)
    assert str(caught.value).startswith(f"{tmp_path / 'answers.jsonl'}:4: ")
    assert not (tmp_path / "verdicts.jsonl").exists(), "no half file"
    assert [path.name for path in tmp_path.glob(".*")] == []
    found, stored = judged(suite, tmp_path, [*rows, ANSWERS[3]], bad_rows="skip")
    expected, without = judged(suite, tmp_path, ANSWERS)
    assert stored == without
    assert found.rates == expected.rates
    assert found.accounting.responses == expected.accounting.responses
    account = found.accounting.rows
    assert (account.read, account.used, account.skipped) == (5, 4, 1)
    assert sum(account.skipped_because.values()) == 1
    assert len(found.skipped) == 1
    assert found.skipped[0].startswith(f"{tmp_path / 'answers.jsonl'}:4: ")


def test_the_last_line_was_cut_off(suite: Suite, tmp_path: Path) -> None:
    source = tmp_path / "cut.jsonl"
    source.write_bytes(lines(ANSWERS)[:-8])
    with pytest.raises(SpecError, match=r"cut\.jsonl:4: the last line looks cut off"):
        verify(suite, source)
    found = verify(suite, source, bad_rows="skip")
    assert found.accounting.responses.missing == 1
    assert found.accounting.rows.skipped_because == {"not JSON": 1}
    source.write_bytes(lines(ANSWERS)[:-1])
    assert verify(suite, source).accounting.rows.skipped == 0, "only the newline is missing"


def test_an_edited_prompt_is_matched_by_its_key(suite: Suite, tmp_path: Path) -> None:
    found, _ = judged(suite, tmp_path, [{"key": 1, "prompt": "One!?", "response": "x"}])
    assert found.n_prompts == 1


def test_a_text_that_two_prompts_share_matches_neither(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_bytes(
        lines([{"key": 1, "prompt": "Go", **COMMAS}, {"key": 2, "prompt": "Go", **COMMAS}])
    )
    suite = suites.load(f"ifeval:{tmp_path / 'p.jsonl'}")
    with pytest.raises(SpecError, match=r"several prompts of .* have the text 'Go'\. Give the row the `key`"):
        judged(suite, tmp_path, [{"prompt": "Go", "response": "x"}])
    assert judged(suite, tmp_path, [{"key": 2, "response": "x"}])[0].n_prompts == 1


def test_draws_with_gaps_and_far_apart(suite: Suite, tmp_path: Path) -> None:
    draws = [0, 5, 3, 10**9, 70, 1]
    rows = [{"key": 1, "draw": draw, "response": "x"} for draw in draws]
    found, stored = judged(suite, tmp_path, rows)
    assert found.draws == 6
    assert found.accounting.responses.n == 24
    assert [row["draw"] for row in stored] == draws
    for draw in draws:
        with pytest.raises(
            SpecError, match=rf":7: key 1 \(draw {draw}\) was answered in line {draws.index(draw) + 1} "
        ):
            judged(suite, tmp_path, [*rows, {"key": "1", "draw": draw, "response": "x"}])


def test_compressed_both_ways(suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, _ = judged(suite, tmp_path, ANSWERS)
    expected = (tmp_path / "verdicts.jsonl").read_bytes()
    data = lines(ANSWERS)
    for name, packed, unpack in (
        ("a.gz", gzip.compress(data[:50]) + gzip.compress(data[50:]), gzip.decompress),
        ("a.zst", zstandard.compress(data), lambda raw: zstandard.ZstdDecompressor().decompressobj().decompress(raw)),
    ):
        source, out = tmp_path / name, tmp_path / f"deep/er/v{Path(name).suffix}"
        source.write_bytes(packed)
        found = verify(suite, source, verdicts=out)
        assert unpack(out.read_bytes()) == expected
        assert found.rates == plain.rates
        assert found.responses_sha256 == plain.responses_sha256
        source.write_bytes(packed[:-10])
        with pytest.raises(SpecError, match=r"looks cut off"):
            verify(suite, source)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    piped = verify(suite, Path("-"))
    assert (piped.responses, piped.rates) == ("<stdin>", plain.rates)


def test_the_output_does_not_depend_on_jobs_or_blocks(
    suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["yes", "no, never", '"quoted"', "<think>a</think>b", "*a*\nb, c", "\ud800 odd"]
    rows: list[Any] = [
        {"key": prompt["key"], "draw": draw, "response": texts[(draw + place) % len(texts)]}
        for draw in range(40)
        for place, prompt in enumerate(PROMPTS)
    ]
    rows.insert(70, {"key": 1, "draw": 2, "response": "again"})
    rows.insert(90, "no JSON")
    one, verdicts = judged(suite, tmp_path, rows, bad_rows="skip")
    data = (tmp_path / "verdicts.jsonl").read_bytes()
    assert len(verdicts) == 200
    monkeypatch.setattr(module, "SENT_BYTES", 900)
    many, _ = judged(suite, tmp_path, rows, bad_rows="skip", jobs=2)
    assert (tmp_path / "verdicts.jsonl").read_bytes() == data
    assert many == one
    assert one.accounting.rows.skipped_because == {"a repeated key": 1, "not JSON": 1}
    with pytest.raises(SpecError, match=r":71: key 1 \(draw 2\) was answered in line 9 already"):
        judged(suite, tmp_path, rows, jobs=2)


def test_lone_surrogates_and_nan_in_other_columns_are_read(suite: Suite, tmp_path: Path) -> None:
    (tmp_path / "odd.jsonl").write_bytes(lines([{**PROMPTS[0], "key": "\ud800k"}]))
    odd = suites.load(f"ifeval:{tmp_path / 'odd.jsonl'}")
    found, stored = judged(odd, tmp_path, [{"key": "\ud800k", "response": "a, \ud800", "logprob": float("nan")}])
    assert found.n_prompts == 1
    assert (stored[0]["key"], stored[0]["strict"]) == ("\ufffdk", "fail")
    assert encode(found)
    assert judged(suite, tmp_path, [{"key": 1, "response": "a \ud800 b"}])[1][0]["strict"] == "pass"


def test_nothing_judged_is_no_number(suite: Suite, tmp_path: Path) -> None:
    found, stored = judged(suite, tmp_path, [])
    assert stored == []
    assert (found.prompt_strict, found.mean_of_four, found.instruction_macro) == (None, None, None)
    assert found.coverage == 0.0
    assert found.accounting.responses.missing == 4
    failed, _ = judged(suite, tmp_path, [{"key": 1, "status": "error"}])
    assert failed.n_prompts == 0
    assert failed.accounting.responses.error == 1


def test_what_cannot_be_asked(suite: Suite, tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    with pytest.raises(UsageError, match=r"a\.jsonl: no such file"):
        verify(suite, source)
    source.write_bytes(lines(ANSWERS))
    with pytest.raises(UsageError, match=r"is the file of answers itself"):
        verify(suite, source, verdicts=tmp_path / "." / "a.jsonl")
    with pytest.raises(UsageError, match=r"--verdicts -: give a file"):
        verify(suite, source, verdicts=Path("-"))


@pytest.fixture
def talks(suite: Suite) -> Suite:
    """Two prompts of two turns each: no comma, then a quoted answer without a comma."""
    one, two = suite.prompts[0], suite.prompts[1]
    turns = (one.turns[0], two.turns[0])
    prompts = tuple(Prompt(name, turns, tags={"profile": "ifeval"}) for name in ("a", "b"))
    return Suite("talks", "1", prompts, cut_answers="fail")


def test_several_turns_are_one_conversation(talks: Suite, tmp_path: Path) -> None:
    rows: list[Any] = [
        {"key": "a", "turn": 1, "response": '"so"'},
        {"key": "b", "responses": ["well, no", '"so"']},
        {"key": "a", "turn": 0, "response": "yes"},
    ]
    found, verdicts = judged(talks, tmp_path, rows)
    assert (found.rates["prompt_strict"].passed, found.rates["prompt_strict"].n) == (1, 2)
    assert (found.rates["instruction_strict"].passed, found.rates["instruction_strict"].n) == (5, 6)
    assert (found.n_prompts, found.n_instructions, found.coverage, found.draws) == (2, 6, 1.0, 1)
    assert found.accounting.responses.n == 4
    assert [(row["key"], row["turn"], row["index"], row["strict"]) for row in verdicts] == [
        ("a", 1, 0, "pass"),
        ("a", 1, 1, "pass"),
        ("b", 0, 0, "fail"),
        ("b", 1, 0, "pass"),
        ("b", 1, 1, "pass"),
        ("a", 0, 0, "pass"),
    ]
    assert found.examples["punctuation:no_comma"].key == "b"


def test_several_turns_count_as_the_evaluation_counts_them(talks: Suite, tmp_path: Path) -> None:
    texts = ["yes", '"so, so"', "well and good", '"so"']
    cut = "and so it goes on and on"
    answers = {("a", 0, 0): texts[0], ("a", 1, 0): texts[3], ("b", 0, 0): cut, ("b", 1, 0): texts[3],
               ("a", 0, 1): texts[2], ("a", 1, 1): texts[1], ("b", 0, 1): texts[0], ("b", 1, 1): texts[3]}  # fmt: skip
    model = ScriptedModel(lambda request: answers[request.prompt_id, request.turn, request.draw])
    run = evaluate_sync(model, talks, tmp_path / "run", draws=2, sampling=Sampling(max_new_tokens=4, temperature=1.0))
    rows: list[Any] = [
        {"key": one.prompt_id, "turn": one.turn, "draw": one.draw, "response": one.text, "status": one.status}
        for one in run.responses()
    ]
    found, _ = judged(talks, tmp_path, rows)
    own = run.summary().overall
    assert found.rates == {name: getattr(own, name) for name in found.rates}
    assert found.instruction_macro == own.instruction_macro
    assert found.accounting.responses == run.summary().accounting
    half, _ = judged(talks, tmp_path, [row for row in rows if row["turn"] == 1 and row["draw"] == 0])
    assert (half.rates["prompt_strict"].n, half.coverage, half.accounting.responses.missing) == (0, 0.0, 2)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (
            {"key": "a", "response": "x"},
            "key 'a' has 2 turns: give each answer its `turn` (from 0), or one row all of them",
        ),
        ({"key": "a", "turn": 2, "response": "x"}, "turn=2: key 'a' has 2 turns, numbered from 0"),
        ({"key": "a", "responses": ["x"] * 3}, "3 `responses` to key 'a', which has 2 turns"),
        ({"key": "a", "turn": 0, "responses": ["x"]}, "give each answer its `turn`"),
        ({"key": "a", "turn": 0}, "the row has no `response`"),
    ],
)
def test_which_turn_is_answered_must_be_said(talks: Suite, tmp_path: Path, row: Any, problem: str) -> None:
    with pytest.raises(SpecError, match=re.escape(problem)):
        judged(talks, tmp_path, [row])
    twice = [{"key": "a", "turn": 1, "response": "x"}] * 2
    with pytest.raises(SpecError, match=r"key 'a' \(turn 1, draw 0\) was answered in line 1 already"):
        judged(talks, tmp_path, twice)


def test_an_interruption_leaves_no_file(suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "verdicts.jsonl").write_bytes(b"from before\n")
    monkeypatch.setattr(module._LateBar, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        judged(suite, tmp_path, ANSWERS)
    assert (tmp_path / "verdicts.jsonl").read_bytes() == b"from before\n"
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_a_bar_appears_only_when_it_takes_long(suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for after_s, shown in ((60.0, False), (0.0, True)):
        out = io.StringIO()
        monkeypatch.setattr(module, "BAR_AFTER_S", after_s)
        judged(suite, tmp_path, ANSWERS, progress=Lines(out, every_s=0.0))
        assert ("judging: 0/0 kB  4 answers" in out.getvalue()) == shown
