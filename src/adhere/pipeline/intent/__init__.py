"""Whether an answer follows the letter of its instructions and not their intent.

gate.py      the traps that one answer takes
need.py      what a prompt needs
visible.py   what a reader sees of an answer
padding.py   what stands in it for a rule's words alone
exploits.py  scripted answers that take them: the twins of every kind

`verify.traps` counts them in a run, a file of answers or a training log.
"""

from __future__ import annotations

from adhere.pipeline.intent.gate import TRAPS, Trap, traps_of

__all__ = ["TRAPS", "Trap", "traps_of"]
