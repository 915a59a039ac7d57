"""A model as judge of whether answers respond to their requests, where words say so or cannot tell.

Two statements that exclude each other are asked about, in both orders: an answer responds where the judge says so each
time, it does not where it says the contrary each time, and else the judge abstains. A `no` of words stands, so that no
answer can talk the judge round. How far the judge can be believed is measured on labels, where the user has some.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from adhere.errors import IntegrityError, UsageError
from adhere.pipeline.judge_model.critic import Critic
from adhere.pipeline.judge_model.statements import Query, Row, ask_statements, folder_of, request_of, row_name
from adhere.pipeline.outcomes import Answers, answers_of
from adhere.pipeline.responding.run import responding
from adhere.progress import Progress, Silent
from adhere.schema import Prompt, Record, content_hash, decode, encode, write_atomic
from adhere.store.files import read_regular
from adhere.store.run import Run

RESPONDS = "The answer responds to what this request is about, whatever its form, length or quality."
STRAYS = "The answer is about something else than this request, or would fit nearly any request as well."
Said = Literal["yes", "no", "abstained"]
_SILENT = Silent()


class Label(Record, frozen=True):
    """An answer, and whether a person says that it responds."""

    request: str
    answer: str
    responds: bool


class Agreement(Record, frozen=True):
    """How often the judge is right on labels: of those that it calls `yes` and `no`, and how many it abstained from."""

    labels: int
    yes: int
    yes_right: int
    no: int
    no_right: int
    abstained: int


class RespondingReport(Record, frozen=True):
    """Counts of a Run's conversations: how many pass, and how many of these respond, by words and by the judge.

    `abstained` are neither. `agreement` is None without labels.
    """

    judge: str
    conversations: int
    passing: int
    no_by_words: int
    yes: int
    no: int
    abstained: int
    agreement: Agreement | None

    @property
    def bounds(self) -> tuple[float, float]:
        """Shares of all that pass and respond: if none of those does that the judge abstained from, and if all do."""
        return self.yes / self.conversations, (self.yes + self.abstained) / self.conversations


def judge_responding(
    run: Run, critic: Critic, *, labels: Sequence[Label] = (), progress: Progress = _SILENT
) -> RespondingReport:
    """Ask the critic of every answer that passes and that words do not call a `no`; safe to interrupt.

    Replies lie in RUN/judged/NAME/responding.jsonl, the numbers beside them. The Run itself is not touched.

    Args:
        run: With its answers and verdicts.
        critic: Asked in two orders.
        labels: Answers that a person labelled, to say how far the critic can be believed.
        progress: Where to report to.

    Raises:
        UsageError: Nothing of the Run passes, and there are no labels.
    """
    answers = answers_of(run)
    by_words = responding(answers, run.spec.mode)
    prompts = {prompt.id: prompt for prompt in answers.prompts}
    passing = [unit for unit in by_words if answers.passes(prompts[unit[0]], unit[1])]
    if not by_words:
        raise UsageError(f"{run.directory}: no answer was judged, so there is nothing to ask")
    open_ = {unit: _queries(answers, prompts[unit[0]], unit[1]) for unit in passing if by_words[unit] is not False}
    if not open_ and not labels:
        raise UsageError(f"{run.directory}: no answer passes that words leave to a judge, so there is nothing to ask")
    label_queries = [_label_query(one) for one in labels]
    folder = folder_of(run, critic)
    all_queries = [*(query for queries in open_.values() for query in queries), *label_queries]
    rows = ask_statements(critic, all_queries, folder / "responding.jsonl", progress)
    counts = Counter(_of_all([_verdict_of(query, rows) for query in queries]) for queries in open_.values())
    report = RespondingReport(
        critic.model.name,
        len(by_words),
        len(passing),
        len(passing) - len(open_),
        counts["yes"],
        counts["no"],
        counts["abstained"],
        _agreement(labels, [_verdict_of(query, rows) for query in label_queries]) if labels else None,
    )
    write_atomic(folder / "responding.json", encode(report) + b"\n")
    return report


def read_labels(file: Path) -> list[Label]:
    """Read labels, one JSON object a line: `request`, `answer`, and whether it `responds`.

    Raises:
        UsageError: A line is something else.
    """
    labels = []
    for number, line in enumerate(read_regular(file).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            labels.append(decode(line, Label))
        except IntegrityError as error:
            raise UsageError(
                f'{file}, line {number}: {error}. A label is {{"request": "…", "answer": "…", "responds": true}}'
            ) from error
    return labels


def _queries(answers: Answers, prompt: Prompt, draw: int) -> list[Query]:
    """Both statements about the answer to each turn."""
    queries = []
    for turn in range(len(prompt.turns)):
        response = answers.responses[prompt.id, turn, draw]
        request = request_of(prompt, turn, answers.responses, draw)
        names = tuple(row_name(response, place, text) for place, text in enumerate((RESPONDS, STRAYS)))
        places = ((prompt.id, turn, draw, 0), (prompt.id, turn, draw, 1))
        queries.append(Query(request or prompt.turns[turn].text, response.text, (RESPONDS, STRAYS), names, places))
    return queries


def _label_query(one: Label) -> Query:
    names = tuple(content_hash([one.request, one.answer, text])[:24] for text in (RESPONDS, STRAYS))
    return Query(one.request, one.answer, (RESPONDS, STRAYS), names, ())


def _verdict_of(query: Query, rows: Mapping[str, Row]) -> Said:
    """Return what the judge says where both orders agree on both statements, which exclude each other."""
    outcomes = tuple(rows[name].outcome for name in query.names)
    return "yes" if outcomes == ("pass", "fail") else "no" if outcomes == ("fail", "pass") else "abstained"


def _of_all(verdicts: Sequence[Said]) -> Said:
    return "no" if "no" in verdicts else "abstained" if "abstained" in verdicts else "yes"


def _agreement(labels: Sequence[Label], verdicts: Sequence[Said]) -> Agreement:
    pairs = Counter(zip(verdicts, (one.responds for one in labels), strict=True))
    return Agreement(
        len(labels),
        pairs["yes", True] + pairs["yes", False],
        pairs["yes", True],
        pairs["no", True] + pairs["no", False],
        pairs["no", False],
        sum(count for (one, _), count in pairs.items() if one == "abstained"),
    )
