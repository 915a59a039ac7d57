"""Let a model judge whether answers respond to their requests, where a test by words does not say `no`.

The judge is asked about two statements that exclude each other, in both orders. If it says each time that the answer
responds, the answer does; if it says the contrary each time, the answer does not; otherwise the judge abstains. A `no`
by words stands, so that no answer can talk the judge round. Labels, where the user has some, measure how far the judge
can be believed.
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
    """Holds an answer, and whether a person says that it responds to the request."""

    request: str
    answer: str
    responds: bool


class Agreement(Record, frozen=True):
    """Counts on how many labelled answers the judge says `yes` or `no`, is right with each, or abstains."""

    labels: int
    yes: int
    yes_right: int
    no: int
    no_right: int
    abstained: int


class RespondingReport(Record, frozen=True):
    """Counts a Run's conversations: how many pass, and how many of these respond, by words and by the judge.

    The judge gave no verdict on `abstained`. `agreement` is None without labels.
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
        """Lowest and highest share of conversations that pass and respond: if none or all of the abstained respond."""
        return self.yes / self.conversations, (self.yes + self.abstained) / self.conversations


def judge_responding(
    run: Run, critic: Critic, *, labels: Sequence[Label] = (), progress: Progress = _SILENT
) -> RespondingReport:
    """Ask the critic about every conversation that passes and that words do not call a `no`; safe to interrupt.

    Replies are stored in RUN/judged/NAME/responding.jsonl, and the numbers in the same folder. The Run itself does not
    change.

    Args:
        run: The Run, with its answers and verdicts.
        critic: The critic, which is asked in two orders.
        labels: Answers that a person labelled, to say how far the critic can be believed.
        progress: Where to report to.

    Raises:
        UsageError: No answer was judged, or none is left to ask about and there are no labels.
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
    label_queries = [_label_query(label) for label in labels]
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
        UsageError: A line is no such object.
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
    """Return one query for each turn of a conversation: both statements about the turn's answer."""
    queries = []
    for turn in range(len(prompt.turns)):
        response = answers.responses[prompt.id, turn, draw]
        request = request_of(prompt, turn, answers.responses, draw)
        names = tuple(row_name(response, place, text) for place, text in enumerate((RESPONDS, STRAYS)))
        places = ((prompt.id, turn, draw, 0), (prompt.id, turn, draw, 1))
        queries.append(Query(request or prompt.turns[turn].text, response.text, (RESPONDS, STRAYS), names, places))
    return queries


def _label_query(label: Label) -> Query:
    names = tuple(content_hash([label.request, label.answer, text])[:24] for text in (RESPONDS, STRAYS))
    return Query(label.request, label.answer, (RESPONDS, STRAYS), names, ())


def _verdict_of(query: Query, rows: Mapping[str, Row]) -> Said:
    """Return the judge's `yes` or `no`, or `abstained` unless both orders agree on both (exclusive) statements."""
    outcomes = tuple(rows[name].outcome for name in query.names)
    return "yes" if outcomes == ("pass", "fail") else "no" if outcomes == ("fail", "pass") else "abstained"


def _of_all(verdicts: Sequence[Said]) -> Said:
    return "no" if "no" in verdicts else "abstained" if "abstained" in verdicts else "yes"


def _agreement(labels: Sequence[Label], verdicts: Sequence[Said]) -> Agreement:
    pairs = Counter(zip(verdicts, (label.responds for label in labels), strict=True))
    return Agreement(
        len(labels),
        pairs["yes", True] + pairs["yes", False],
        pairs["yes", True],
        pairs["no", True] + pairs["no", False],
        pairs["no", False],
        sum(count for (verdict, _), count in pairs.items() if verdict == "abstained"),
    )
