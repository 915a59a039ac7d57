"""A local model whose weights are loaded at the first request, so that nothing is loaded if every answer is stored."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

from adhere.errors import AdhereError
from adhere.models.base import Model, Request
from adhere.schema import EngineInfo, Response, Sampling


class DeferredModel:
    """A Model that loads the real Model at its first request.

    Args:
        name: The Model's name.
        engine: The engine information that the loaded Model will have.
        load: Loads the Model.
        say: Called with a line before loading, which takes a while.
        note: Text added to that line.
        parameters: Number of the model's parameters; None: not counted.
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
        """Load the Model if that has not been done, and let it respond.

        Raises:
            AdhereError: The Model is closed, or its weights cannot be read.
        """
        if self._is_closed:
            raise AdhereError(f"{self.name} is closed")
        if self._model is None:
            self._say(f"Loading the model {self.name}" + (f". {self._note}" if self._note else ""))
            self._model = self._load()
        return self._model.respond(requests, sampling)

    def close(self) -> None:
        self._is_closed = True
        if self._model is not None:
            self._model.close()
