"""Yields a stored run conversation by conversation (prompt and draw)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from adhere.integrations.shared.scoring import ScoredConversation, score_conversation
from adhere.schema import Prompt, Response, Verdict
from adhere.store.run import Run


class Conversation(NamedTuple):
    """Holds one draw of one prompt.

    Attributes:
        prompt: The prompt.
        draw: Number of the draw, from 0.
        responses: Responses to the turns, in order; fewer if one is missing.
        scored: Its scores and verdicts; without scores if a call failed or nothing was judged.
    """

    prompt: Prompt
    draw: int
    responses: list[Response]
    scored: ScoredConversation

    @property
    def failed(self) -> Response | None:
        """The failed call, or None."""
        return next((response for response in self.responses if response.status == "error"), None)


def conversations(run: Run) -> Iterator[Conversation]:
    """Yield the conversations with any answer, in the suite's order."""
    answers = {response.key: response for response in run.responses()}
    verdicts: dict[tuple[str, int], list[Verdict]] = {}
    for verdict in run.verdicts():
        verdicts.setdefault((verdict.prompt_id, verdict.draw), []).append(verdict)
    for prompt in run.prompts():
        for draw in range(run.spec.draws):
            keys = [(prompt.id, turn, draw) for turn in range(len(prompt.turns))]
            responses = [answers[key] for key in keys if key in answers]
            if not responses:
                continue
            own_verdicts = sorted(
                verdicts.get((prompt.id, draw), ()),
                key=lambda verdict: (verdict.turn, verdict.index, verdict.view != "strict"),
            )
            whole = score_conversation(prompt, own_verdicts)
            if len(responses) < len(keys) or any(response.status == "error" for response in responses):
                whole = ScoredConversation({}, whole.verdicts)
            yield Conversation(prompt, draw, responses, whole)
