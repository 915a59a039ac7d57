"""A local model whose weights are read when it is first asked, so that who finds every answer stored reads none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

from adhere.errors import AdhereError
from adhere.models.base import Model, Request
from adhere.schema import EngineInfo, Response, Sampling


class DeferredModel:
    """A Model that makes itself when it is needed.

    Args:
        name: What the Model is called.
        engine: What the Model will say of itself.
        load: Makes it.
        say: Told that it is loaded, which takes a while.
        note: Said besides.
        parameters: How many the model has; None: not counted.
    """

    def __init__(
        self,
        name: str,
        engine: EngineInfo,
        load: Callable[[], Model],
        say: Callable[[str], None],
        *,
        note: str = "",
        parameters: int | None = None,
    ) -> None:
        self.name, self.engine, self.parameters, self._note = name, engine, parameters, note
        self._load, self._say = load, say
        self._model: Model | None = None
        self._is_closed = False

    def respond(self, requests: Sequence[Request], sampling: Sampling) -> AsyncIterator[Response]:
        """See Model.

        Raises:
            AdhereError: It is closed, or the weights cannot be read.
        """
        if self._is_closed:
            raise AdhereError(f"{self.name} is closed")
        if self._model is None:
            self._say(f"Loading the model {self.name}" + (f". {self._note}" if self._note else ""))
            self._model = self._load()
        return self._model.respond(requests, sampling)

    def close(self) -> None:
        """Let go of the model, if it was made."""
        self._is_closed = True
        if self._model is not None:
            self._model.close()
