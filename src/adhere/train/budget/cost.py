"""The cost of a stage, in tokens: the terms of every stage's cost model.

`estimate` turns them into minutes and memory.
"""

from __future__ import annotations

from adhere.schema import Record


class Shape(Record, frozen=True):
    """Describes the data of a stage in numbers.

    Attributes:
        rows: SFT rows, pairs, or prompts.
        prompt_tokens: Mean tokens of a rendered prompt.
        shared_tokens: Of these, the tokens all prompts begin with (template and system message).
        answer_tokens: Mean tokens of an answer, end of turn included.
        varied_share: Share of prompts whose answers differ in score (online stages).
    """

    rows: int
    prompt_tokens: float = 45.0
    shared_tokens: float = 22.0
    answer_tokens: float = 35.0
    varied_share: float = 1.0

    def own_tokens(self, answers: float = 1) -> float:
        """Return the mean tokens that a prompt with `answers` answers adds to a packed tree.

        The beginning that all prompts share is computed once for the tree, so it is not counted.
        """
        return self.prompt_tokens - self.shared_tokens + answers * self.answer_tokens


class Work(Record, frozen=True):
    """Holds the amount of work that a stage does.

    Attributes:
        steps: Optimizer steps.
        answers: Answers drawn.
        generated: Tokens of the drawn answers.
        trained: Completion tokens through forward and backward.
        processed: Tree tokens through forward and backward: prompts included, shared beginnings once.
        scored: Tree tokens through a forward pass without gradient.
        copies: Copies of the weights in memory, the trained one included.
    """

    steps: float = 0
    answers: float = 0
    generated: float = 0
    trained: float = 0
    processed: float = 0
    scored: float = 0
    copies: int = 1


def tree_tokens_of(bodies: float, tree_tokens: int, data: Shape) -> float:
    """Estimate the tokens of prefix trees of at most `tree_tokens` each, whose unshared tokens add up to `bodies`.

    Every tree adds the shared beginning once.
    """
    room = max(1.0, tree_tokens - data.shared_tokens)
    return bodies + data.shared_tokens * max(1.0, bodies / room)
