"""Joins a streamed completion, so that it is read like one that was not streamed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from adhere.calls import MOST_CALLS
from adhere.models.http.values import content_of, json_of, mapping_of, storable, text_of, thought_of

LONGEST_EVENT = 1_000_000
"""Most bytes of one event, over all its lines, that are kept until they are JSON."""


class Stream:
    """Takes the bytes of a stream of server-sent events as they come; never raises, whatever the bytes are."""

    def __init__(self) -> None:
        self.content: list[str] = []
        self.reasoning: list[str] = []
        self.refusal: list[str] = []
        self.calls: list[dict[str, Any]] = []
        self.found: dict[str, Any] = {}
        self.finish: dict[str, Any] = {}
        self.error: Any = None
        self.is_done = False  # the server said that nothing follows; it may keep the connection open
        self._plain: bytearray | None = bytearray()  # everything, until there is an event: some answer whole
        self._rest = bytearray()
        self._event = b""  # lines of an event whose JSON goes on in the next one
        self._searched = 0
        self._has_pieces = False

    def feed(self, data: bytes) -> bool:
        """Take some bytes; tell whether they held the first token."""
        before = self._has_begun()
        self._rest += data
        if self._plain is not None:
            self._plain += data
        end = self._rest.rfind(b"\n", self._searched)
        self._searched = len(self._rest)
        if end >= 0:
            lines, self._rest = bytes(self._rest[:end]), self._rest[end + 1 :]
            self._searched = len(self._rest)
            for line in lines.split(b"\n"):
                self._line(line.strip())
        return not before and self._has_begun()

    def _has_begun(self) -> bool:
        return bool(self.content or self.reasoning or self.calls)

    def _line(self, line: bytes) -> None:
        line = line.removeprefix(b"\xef\xbb\xbf")
        if line.startswith((b"{", b"error:")):  # an error that is no event (a gateway's, llama.cpp's)
            error_body = mapping_of(json_of(line.removeprefix(b"error:").strip()))
            self.error = self.error or (error_body if line.startswith(b"error:") else error_body.get("error"))
            return
        if not line.startswith(b"data:"):
            self._event = self._event if line else b""
            return  # comments keep the connection alive
        self._plain = None
        data = line[5:].strip()
        self.is_done = self.is_done or data == b"[DONE]"
        chunk = json_of(data)
        if not isinstance(chunk, dict) and self._event:
            chunk = json_of(self._event + data)
        self._event = b"" if isinstance(chunk, dict) else (self._event + data + b"\n")[:LONGEST_EVENT]
        if not isinstance(chunk, dict):
            return
        is_error = chunk.get("object") == "error" or chunk.get("type") == "error"
        self.error = self.error or chunk.get("error") or (chunk if is_error else None)
        self.found.update({name: chunk[name] for name in ("model", "provider", "usage") if chunk.get(name)})
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, dict) and choice.get("index") in (0, "0", None):
                self._choice(choice)

    def _choice(self, choice: Mapping[str, Any]) -> None:
        self.error = self.error or choice.get("error")
        self.finish.update(
            {name: choice[name] for name in ("finish_reason", "native_finish_reason") if choice.get(name)}
        )
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            delta = None if self._has_begun() else choice.get("message")  # the whole answer at once
        if not isinstance(delta, dict):
            return
        self._has_pieces = True
        for parts, part in (
            (self.content, delta.get("content")),
            (self.reasoning, thought_of(delta)),
            (self.refusal, delta.get("refusal")),
        ):
            if text := content_of(part):
                parts.append(text)
        calls = delta.get("tool_calls")
        for piece in calls if isinstance(calls, list) else []:
            self._call(mapping_of(piece))

    def _call(self, piece: Mapping[str, Any]) -> None:
        """Add a piece of a call to the call with its `index`, unless that has another id; else begin a new call.

        A server that sends no index sends whole calls.
        """
        index, call_id, function = piece.get("index"), text_of(piece.get("id")), mapping_of(piece.get("function"))
        open_call = next((call for call in reversed(self.calls) if index is not None and call["index"] == index), None)
        if open_call is None or (call_id and open_call["id"] and call_id != open_call["id"]):
            if len(self.calls) >= MOST_CALLS:
                return
            open_call = {"index": index, "id": call_id, "function": {"name": "", "arguments": []}}
            self.calls.append(open_call)
        open_call["id"] = open_call["id"] or call_id
        open_call["function"]["name"] += text_of(function.get("name")) or ""
        arguments = function.get("arguments")
        if arguments not in (None, ""):
            open_call["function"]["arguments"].append(
                arguments if isinstance(arguments, str) else json.dumps(arguments)
            )

    def body(self) -> bytes:
        """Return the completion as JSON, with an error if the stream ended before the answer was finished."""
        if self._rest:
            self._line(bytes(self._rest).strip())  # the last line may lack its line feed
            self._rest = bytearray()
        if self._plain is not None and isinstance(json_of(bytes(self._plain)), dict):
            return bytes(self._plain)
        error = self.error
        if error is None and not self.finish.get("finish_reason"):
            error = {"code": 502, "message": "the stream ended before the answer was finished"}
        if error is None and not self._has_pieces:
            error = {"code": 502, "message": "the stream was finished and held no piece of an answer"}
        parts = {"content": self.content, "reasoning": self.reasoning, "refusal": self.refusal}
        message: dict[str, Any] = {name: "".join(texts) or None for name, texts in parts.items()}
        for call in self.calls:
            call["function"]["arguments"] = "".join(call["function"]["arguments"])
        if self.calls:
            message["tool_calls"] = self.calls
        whole: dict[str, Any] = {**self.found, "choices": [{**self.finish, "message": message}]}
        if error:
            whole["error"] = error
        return json.dumps(storable(whole)).encode()
