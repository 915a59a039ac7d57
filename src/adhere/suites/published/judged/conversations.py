"""Read rows that hold a whole conversation: the model answers its last message, the others are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from adhere.errors import SpecError
from adhere.schema import ConstraintRef, GivenMessages, Message, Prompt, Turn


def prompt_of_messages(
    at: str,
    id: str,  # noqa: A002 - the field's word
    messages: Sequence[Any],
    refs: tuple[ConstraintRef, ...],
    *,
    source: str,
    tags: Mapping[str, str],
) -> Prompt:
    """Make the prompt of a conversation; its system messages are joined into one.

    Raises:
        SpecError: A message has no role and content, or the last is not the user's.
    """
    all_messages = []
    for message in messages:
        role = message.get("role") if isinstance(message, dict) else None
        if role not in {"system", "user", "assistant"} or not isinstance(message.get("content"), str):
            raise SpecError(f"{at}: each message needs a role (system, user, assistant) and a content that is a text")
        all_messages.append(Message(role, message["content"]))
    talk = [message for message in all_messages if message.role != "system"]
    if not talk or talk[-1].role != "user":
        raise SpecError(f"{at}: the last message must be the user's, which the model answers")
    # Two messages of the user in a row are one: a conversation takes turns.
    last, before = talk[-1].content, talk[:-1]
    while before and before[-1].role == "user":
        last = f"{before.pop().content}\n\n{last}"
    system = "\n\n".join(message.content for message in all_messages if message.role == "system")
    given_messages = GivenMessages(before=tuple(before)) if before else msgspec.UNSET
    return Prompt(id, (Turn(last, refs),), system=system or None, source=source, tags=dict(tags), given=given_messages)
