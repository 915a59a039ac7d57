"""Audits any reward: what it pays for answers that do not deserve it, compared with honest answers.

rows.py     prompts with honest answers: the user's own, or ten that are included
scripts.py  answers in place of honest ones: the catalogue of answerers, and honest answers copied, shuffled and cut
ask.py      how a reward is called: TRL's, verl's, verifiers', OpenRLHF's, an environment's, or a plain function
measure.py  what every script earns, with an example
"""

from adhere.rewards.audit.ask import open_reward
from adhere.rewards.audit.measure import Audit, AuditedScript, PairGap, audit
from adhere.rewards.audit.rows import AuditRow, own_rows, read_audit_rows

__all__ = ["Audit", "AuditRow", "AuditedScript", "PairGap", "audit", "open_reward", "own_rows", "read_audit_rows"]
