"""The scripted user of a world: asks for something, answers questions, confirms, and ends the conversation.

A model can play the user instead: `brief` tells it who it is, as in tau2-bench
(github.com/sierra-research/tau2-bench, MIT).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

STOP = "###STOP###"
"""Ends the conversation when the user says it."""
YES = "Yes, please go ahead."


class User(NamedTuple):
    """Describes one user.

    Attributes:
        wants: What the user says first.
        knows: Answers by the pattern that a question must match; to any other question the user says yes.
        insists: What the user says once to an answer that asks nothing, before ending the conversation; empty: nothing.
    """

    wants: str
    knows: Mapping[str, str] = {}
    insists: str = ""

    def reply(self, text: str, statements: int) -> str:
        """Return the user's reply to `text`, if `statements` answers without a question came before."""
        if "?" not in text:
            return self.insists if self.insists and not statements else f"Thank you, that is all. {STOP}"
        facts = [fact for pattern, fact in self.knows.items() if re.search(pattern, text, re.IGNORECASE)]
        return " ".join(facts) or YES

    def brief(self) -> str:
        """Return the instructions for a model that plays the user."""
        facts = "".join(f"\n- {fact}" for fact in self.knows.values())
        insists = f"\nIf you are refused, say once: {self.insists}" if self.insists else ""
        return (
            "You are the user of a service and talk with its agent. Write only what the user says, "
            "one short message at a time. You have said:"
            f'\n"{self.wants}"\nSay no more than you are asked for. What you know:{facts or " nothing else"}\n'
            'Confirm with "yes" what you want to be '
            f"done.{insists}\nWhen everything is done, or cannot be done, write {STOP}"
        )
