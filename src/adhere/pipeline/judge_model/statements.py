"""Let a model judge the statements that no program decides (`judged:statement`), apart from the evaluation.

    for each answer: its statements in their order, and in the reverse order    -> votes
    both orders agree -> pass or fail; they differ, or a reply cannot be read -> abstained
    rows -> RUN/judged/NAME/rows.jsonl      as they come: the same call again asks for what is missing only
    numbers -> RUN/judged/NAME/summary.json the Run's own summary with these verdicts in place of the undecided ones

The Run itself does not change: its verdicts come from programs alone. How far the judge can be believed is measured
where a program knows the answer: the same questions are asked about constraints that a program decided, of this Run or
of another, and Cohen's kappa says how they agree. The question is ours (`critic.ASK_ITEMS`), strictly parsed, not the
published judge prompt: numbers are not those of a paper.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from adhere.constraints.published.judged.table import JUDGED
from adhere.constraints.resolve import resolve
from adhere.errors import UsageError
from adhere.models.chat import conversation
from adhere.pipeline.judge_model.critic import ASK_ITEMS, Critic
from adhere.pipeline.summarize import summarize
from adhere.progress import Progress, Silent
from adhere.schema import Outcome, Prompt, Record, Response, Verdict, View, content_hash, decode, encode, write_atomic
from adhere.stats import cohens_kappa
from adhere.store.run import Key, Run, answer_hash
from adhere.store.summary import Summary

Place = tuple[str, int, int, int]  # prompt id, turn, draw, index
Vote = Literal["yes", "no", "unclear"]
FOLDER = "judged"
SAMPLE = 200
_BATCH = 32
_SILENT = Silent()


class Row(Record, frozen=True):
    """Holds the judge's votes on one statement about one answer, in both orders."""

    name: str
    statement: str
    first: Vote
    second: Vote

    @property
    def outcome(self) -> Outcome:
        """Outcome of the statement: `undecided` unless both orders agree."""
        if self.first != self.second or self.first == "unclear":
            return "undecided"
        return "pass" if self.first == "yes" else "fail"


class Calibration(Record, frozen=True):
    """Counts how the judge and the programs agree on what both decided.

    `only_judge` counts statements that the judge passes and the program fails, `only_program` the reverse. The judge
    gave no verdict on `abstained` statements. `kappa` is None where it is undefined: nothing was asked, or the judge or
    the programs say the same to all.
    """

    run: str
    statements: int
    abstained: int
    both_pass: int
    only_judge: int
    only_program: int
    both_fail: int
    kappa: float | None


class JudgeReport(Record, frozen=True):
    """Holds all numbers of one judge on one Run.

    `statements` = `passed` + `failed` + `abstained`, before a statement fails with another one that it `needs`.
    """

    version: int
    judge: str
    engine: str
    statements: int
    passed: int
    failed: int
    abstained: int
    calibration: Calibration
    summary: Summary


class Query(NamedTuple):
    """Holds the statements about one answer, each with its place and the name of its row."""

    request: str
    answer: str
    statements: tuple[str, ...]
    names: tuple[str, ...]
    places: tuple[Place, ...]


def judge_run(
    run: Run, critic: Critic, *, calibrate: Run | None = None, sample: int = SAMPLE, progress: Progress = _SILENT
) -> JudgeReport:
    """Ask the critic about every judged statement of a Run, and store the replies in its folder; safe to interrupt.

    Args:
        run: The Run, with its answers; its own verdicts do not change.
        critic: The critic, which is asked in two orders.
        calibrate: The Run with whose program verdicts the critic is compared; None: `run` itself.
        sample: Roughly how many program verdicts are asked about, drawn with a fixed seed; 0: none.
        progress: Where to report to.

    Raises:
        UsageError: No prompt of the Run has a statement to judge, or none has an answer.
    """
    prompts = {prompt.id: prompt for prompt in run.prompts()}
    queries = list(_statements(run, prompts))
    if not queries:
        raise UsageError(
            f"{run.directory}: nothing here waits for a judge: no answered prompt has the constraint {JUDGED}. "
            "adhere list suites says which suites have some"
        )
    other = calibrate or run
    calibration_queries = _draw_decided(other, sample)
    folder = folder_of(run, critic)
    all_queries = [*queries, *(query for query, _ in calibration_queries)]
    rows = ask_statements(critic, all_queries, folder / "rows.jsonl", progress)
    mine = {place: rows[name] for query in queries for place, name in zip(query.places, query.names, strict=True)}
    verdicts = _merge(run.verdicts(), mine, prompts, critic.model.name)
    report = JudgeReport(
        version=1,
        judge=critic.model.name,
        engine=f"{critic.model.engine.name} {critic.model.engine.precision}",
        statements=len(mine),
        passed=sum(row.outcome == "pass" for row in mine.values()),
        failed=sum(row.outcome == "fail" for row in mine.values()),
        abstained=sum(row.outcome == "undecided" for row in mine.values()),
        calibration=_calibration(str(other.directory), calibration_queries, rows),
        summary=summarize(
            run.prompts(),
            run.spec.draws,
            run.responses(),
            verdicts,
            run.spec.slices,
            damage=run.damage.rows,
            mode=run.spec.mode,
        ),
    )
    write_atomic(folder / "summary.json", encode(report) + b"\n")
    return report


def folder_of(run: Run, critic: Critic) -> Path:
    """Return the folder for a critic's replies about a Run; each model and setting has its own."""
    model, sampling = critic.model, msgspec.to_builtins(critic.sampling)
    name = content_hash([model.name, msgspec.to_builtins(model.engine), sampling, critic.draws, ASK_ITEMS])
    return run.directory / FOLDER / f"{_plain(model.name)}-{name[:8]}"


def _plain(name: str) -> str:
    return "".join(character if character.isalnum() or character in "-." else "-" for character in name)[:60]


def request_of(prompt: Prompt, turn: int, answers: Mapping[Key, Response], draw: int) -> str | None:
    """Return what the model was asked: the text, or the conversation as JSON if it has several messages.

    None: an earlier answer is missing.
    """
    if prompt.system is None and turn == 0 and not prompt.given:
        return prompt.turns[0].text
    earlier = [answers.get((prompt.id, before, draw)) for before in range(turn)]
    if None in earlier:
        return None
    messages = conversation(prompt.messages([answer.text for answer in earlier if answer is not None]))
    return json.dumps(messages, ensure_ascii=False)


def row_name(response: Response, index: int, statement: str) -> str:
    """Return the name of the row on one statement about one answer: a hash of both."""
    return content_hash([response.prompt_id, response.turn, response.draw, index, answer_hash(response), statement])[
        :24
    ]


def _statements(run: Run, prompts: Mapping[str, Prompt]) -> Iterator[Query]:
    """Yield what a judge has to decide, for every answer with a visible text. Blank answers have failed already."""
    answers = {response.key: response for response in run.responses()}
    for response in answers.values():
        prompt = prompts[response.prompt_id]
        refs = prompt.turns[response.turn].constraints
        at = [index for index, ref in enumerate(refs) if ref.id == JUDGED]
        if response.status == "error" or not response.text.strip() or not at:
            continue
        request = request_of(prompt, response.turn, answers, response.draw)
        if request is None:
            continue
        texts = tuple(str(refs[index].params["statement"]) for index in at)
        names = tuple(row_name(response, index, text) for index, text in zip(at, texts, strict=True))
        yield Query(request, response.text, texts, names, tuple((*response.key, index) for index in at))


def _draw_decided(run: Run, sample: int) -> list[tuple[Query, list[bool]]]:
    """Draw answers with constraints that a program decided strictly; return each with whether the constraints passed.

    The constraints are said in words, and there are about `sample` of them.
    """
    prompts = {prompt.id: prompt for prompt in run.prompts()}
    answers = {response.key: response for response in run.responses()}
    by_answer: dict[Key, list[Verdict]] = {}
    for verdict in run.verdicts():
        if verdict.view == "strict" and verdict.outcome != "undecided" and verdict.constraint_id != JUDGED:
            by_answer.setdefault((verdict.prompt_id, verdict.turn, verdict.draw), []).append(verdict)
    keys = sorted(by_answer)
    random.Random(0).shuffle(keys)
    queries: list[tuple[Query, list[bool]]] = []
    for key in keys:
        response, prompt = answers.get(key), prompts[key[0]]
        request = request_of(prompt, key[1], answers, key[2])
        if response is None or request is None or not response.text.strip():
            continue
        if sum(len(query.names) for query, _ in queries) >= sample:
            break
        refs, profile = prompt.turns[key[1]].constraints, prompt.tags.get("profile")
        verdicts = sorted(by_answer[key], key=lambda verdict: verdict.index)
        texts = tuple(
            f"The answer keeps this rule: {resolve(refs[verdict.index], profile=profile).describe()}"
            for verdict in verdicts
        )
        names = tuple(row_name(response, verdict.index, text) for verdict, text in zip(verdicts, texts, strict=True))
        places = tuple((*key, verdict.index) for verdict in verdicts)
        queries.append(
            (Query(request, response.text, texts, names, places), [verdict.outcome == "pass" for verdict in verdicts])
        )
    return queries


def ask_statements(critic: Critic, queries: Sequence[Query], path: Path, progress: Progress) -> dict[str, Row]:
    """Return the rows of every statement by name; statements without a stored row are asked, and their rows stored."""
    rows = _load_rows(path)
    missing = [query for query in queries if any(name not in rows for name in query.names)]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file, progress.step(f"{critic.model.name} judges", len(missing), "answers") as step:
        for start in range(0, len(missing), _BATCH):
            batch = missing[start : start + _BATCH]
            first = critic.holds([(query.request, query.answer, query.statements) for query in batch])
            second = critic.holds([(query.request, query.answer, query.statements[::-1]) for query in batch])
            for query, forward, backward in zip(batch, first, second, strict=True):
                for name, text, a, b in zip(query.names, query.statements, forward, backward[::-1], strict=True):
                    rows[name] = Row(name, text, _vote(a), _vote(b))
                    file.write(encode(rows[name]) + b"\n")
            file.flush()
            step.advance(len(batch))
    return rows


def _vote(share: float | None) -> Vote:
    """Return the vote of more than half of the readable draws; `unclear` at exactly half, or without any."""
    return "unclear" if share is None or share == 0.5 else "yes" if share > 0.5 else "no"


def _load_rows(path: Path) -> dict[str, Row]:
    """Load the rows that an earlier call stored, by name.

    Rows with an `unclear` vote are left out, so that they are asked again; so is a last line that was cut off.
    """
    if not path.is_file():
        return {}
    *whole, _ = path.read_bytes().split(b"\n")
    rows = [decode(line, Row) for line in whole]
    return {row.name: row for row in rows if "unclear" not in {row.first, row.second}}


def _merge(
    verdicts: Sequence[Verdict], rows: Mapping[Place, Row], prompts: Mapping[str, Prompt], judge: str
) -> list[Verdict]:
    """Return the Run's verdicts with the judge's in place of the undecided ones, in both views.

    A statement fails if one that it `needs` does.
    """
    by_place: dict[tuple[Place, View], Verdict] = {}
    for verdict in verdicts:
        place = (verdict.prompt_id, verdict.turn, verdict.draw, verdict.index)
        row = rows.get(place) if verdict.outcome == "undecided" else None
        if row is not None:
            reason = f"{judge}: {row.first} in order, {row.second} in reverse"
            verdict = msgspec.structs.replace(verdict, outcome=row.outcome, reason=reason)  # noqa: PLW2901
        by_place[place, verdict.view] = verdict
    return [_with_needs(verdict, by_place, prompts) for verdict in by_place.values()]


def _with_needs(
    verdict: Verdict, verdicts: Mapping[tuple[Place, View], Verdict], prompts: Mapping[str, Prompt]
) -> Verdict:
    """Return the verdict, as `fail` if a constraint that it needs fails. Only direct needs count, as published."""
    ref = prompts[verdict.prompt_id].turns[verdict.turn].constraints[verdict.index]
    needs = ref.params.get("needs") if ref.id == JUDGED else None
    for other in needs if isinstance(needs, list) else ():
        prerequisite = verdicts.get(((verdict.prompt_id, verdict.turn, verdict.draw, int(other)), verdict.view))
        if prerequisite is not None and prerequisite.outcome == "fail" and verdict.outcome != "fail":
            reason = f"constraint {other}, which it needs, fails"
            return msgspec.structs.replace(verdict, outcome="fail", reason=reason)
    return verdict


def _calibration(run: str, queries: Sequence[tuple[Query, Sequence[bool]]], rows: Mapping[str, Row]) -> Calibration:
    pairs = [
        (rows[name].outcome, program)
        for query, programs in queries
        for name, program in zip(query.names, programs, strict=True)
    ]
    cell = Counter(pairs)
    cells = (cell["pass", True], cell["pass", False], cell["fail", True], cell["fail", False])
    return Calibration(
        run, len(pairs), sum(outcome == "undecided" for outcome, _ in pairs), *cells, cohens_kappa(*cells)
    )
