"""The user of a world, by script: wants something, answers what it is asked, confirms, and ends the conversation.

A model can play the user in its place: `brief` says to it who it is, as in tau2-bench
(github.com/sierra-research/tau2-bench, MIT).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

STOP = "###STOP###"
"""With this the user ends the conversation."""
YES = "Yes, please go ahead."


class User(NamedTuple):
    """One user.

    Attributes:
        wants: What it says first.
        knows: A pattern that a question may match, and what it then answers; to any other question it says yes.
        insists: What it says once to an answer that asks nothing, before it ends the conversation; empty: it ends it.
    """

    wants: str
    knows: Mapping[str, str] = {}
    insists: str = ""

    def reply(self, text: str, statements: int) -> str:
        """The answer to what was said, where `statements` answers without a question came before."""
        if "?" not in text:
            return self.insists if self.insists and not statements else f"Thank you, that is all. {STOP}"
        facts = [fact for pattern, fact in self.knows.items() if re.search(pattern, text, re.IGNORECASE)]
        return " ".join(facts) or YES

    def brief(self) -> str:
        """The user's part, for a model that plays it."""
        facts = "".join(f"\n- {fact}" for fact in self.knows.values())
        insists = f"\nIf you are refused, say once: {self.insists}" if self.insists else ""
        return (
            "You are the user of a service and talk with its agent. Write only what the user says, "
            "one short message at a time. You have said:"
            f'\n"{self.wants}"\nSay no more than you are asked for. What you know:{facts or " nothing else"}\n'
            'Confirm with "yes" what you want to be '
            f"done.{insists}\nWhen everything is done, or cannot be done, write {STOP}"
        )
