"""Find answers that follow the wording of their instructions and not the intent.

gate.py      the traps that one answer takes
need.py      what a prompt needs
visible.py   what a reader sees of an answer
padding.py   text that is there only for the words of a constraint
exploits.py  scripted answers that take these traps, for every kind of constraint

`verify.traps` counts the traps in a run, a file of answers or a training log.
"""

from __future__ import annotations

from adhere.pipeline.intent.gate import TRAPS, Trap, traps_of

__all__ = ["TRAPS", "Trap", "traps_of"]
