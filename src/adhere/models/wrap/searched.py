"""Prompt search: a Model that proposes texts to put before its own requests.

After APE (Zhou et al., arXiv 2211.01910): the model proposes, candidates are scored by answers to a dev slice, and the
best is kept. The search itself is `pipeline.prepare.search`, because scoring needs verifiers. It is no oracle: no
prompt of the final score was used to choose.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence

import msgspec

from adhere.errors import UsageError
from adhere.models.base import Model, Request
from adhere.models.wrap.methods import PREFIX, before
from adhere.models.wrap.wrapper import DRAWN_AT, WrappedModel, total
from adhere.schema import EngineInfo, Message, Response, Sampling, Usage, derive_seed

SHOWN = 4  # requests that a proposal sees
PROPOSAL_TOKENS = 96
MOST_CHARACTERS = 500
_LONGEST_SHOWN = 400
_PROPOSE = (
    "These are requests that an assistant will get:\n\n{}\n\n"
    "The assistant often misses conditions that such requests put on its answer. Write one piece of advice, "
    "at most two sentences, that will stand before every request of this kind, "
    "so that the answer meets every condition. Do not answer the requests. Write the advice only."
)


class SearchedModel:
    """A Model that puts the best of several texts before each request; the text is chosen before it is measured.

    Args:
        inner: The Model that is asked, and that proposes the texts.
        label: The method in the name, e.g. `prompt-search-8`.
        proposals: Number of texts that the model proposes; no text, and the text of `prefix`, compete with them.
    """

    def __init__(self, inner: Model, label: str, proposals: int) -> None:
        self.inner, self.proposals = inner, proposals
        self.name = f"{label}({inner.name})"
        settings = {**inner.engine.settings, "method": label, "oracle": False}
        self.engine: EngineInfo = msgspec.structs.replace(inner.engine, settings=settings)
        self._chosen: Model | None = None
        self._share = Usage()

    def close(self) -> None:
        self.inner.close()

    def proposal_requests(self, texts: Sequence[str], seed: int) -> tuple[list[Request], Sampling]:
        """Return requests that ask the inner model for texts, each showing some of `texts`, and how to sample."""
        requests = []
        for number in range(self.proposals):
            own = derive_seed(seed, "proposal", number)
            shown_texts = random.Random(own).sample(list(texts), min(SHOWN, len(texts)))
            listing = "\n\n".join(f"{at}. {_cut(text)}" for at, text in enumerate(shown_texts, start=1))
            requests.append(Request(f"proposal {number}", 0, 0, (Message("user", _PROPOSE.format(listing)),), own))
        return requests, Sampling(max_new_tokens=PROPOSAL_TOKENS, temperature=DRAWN_AT, seed=seed)

    def candidates(self, responses: Sequence[Response]) -> list[str]:
        """Return the texts that compete: no text, that of `prefix`, and the first paragraph of each usable proposal."""
        texts = [
            response.text.strip().partition("\n\n")[0].strip() for response in responses if response.status != "error"
        ]
        fit = [text for text in texts if 0 < len(text) <= MOST_CHARACTERS]
        return list(dict.fromkeys(["", PREFIX, *fit]))

    def with_text(self, text: str) -> Model:
        """Return the inner model with a text before each request; the inner model itself if the text is empty."""
        return WrappedModel(self.inner, "prefix", before(text)) if text else self.inner

    def use(self, text: str, share: Usage) -> None:
        """Answer with this text from now on; `share` is the part of the search's cost that each answer bears."""
        self._chosen, self._share = self.with_text(text), share

    def respond(self, requests: Sequence[Request], sampling: Sampling) -> AsyncIterator[Response]:
        """Answer with the chosen text before each request; each Response bears its share of the search's cost.

        Raises:
            UsageError: No text was chosen yet.
        """
        if self._chosen is None:
            raise UsageError(
                f"{self.name} is searched by the verifiers of a suite, so it can only be measured (adhere eval)"
            )
        return self._costed(self._chosen.respond(requests, sampling))

    async def _costed(self, answers: AsyncIterator[Response]) -> AsyncIterator[Response]:
        async for response in answers:
            own, share = response.usage, self._share
            usage = msgspec.structs.replace(
                response.usage,
                prompt_tokens=total([own.prompt_tokens, share.prompt_tokens]),
                completion_tokens=total([own.completion_tokens, share.completion_tokens]),
                cost_usd=total([own.cost_usd, share.cost_usd]),
            )
            yield msgspec.structs.replace(response, usage=usage)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN // 2]} […] {text[-_LONGEST_SHOWN // 2 :]}"
