"""Attack any reward: what it pays to answers that nobody wrote for the prompt, beside what honest ones get.

rows.py     prompts with honest answers: a person's own, or ten that come along
scripts.py  what is answered in their place: the catalogue of answerers, and honest answers copied, shuffled and cut
ask.py      how a reward is called: TRL's, verl's, verifiers', OpenRLHF's, an environment's, or a plain function
measure.py  who earns what, with a witness
"""

from adhere.rewards.audit.ask import open_reward
from adhere.rewards.audit.measure import Audit, AuditedScript, PairGap, audit
from adhere.rewards.audit.rows import AuditRow, own_rows, read_audit_rows

__all__ = ["Audit", "AuditRow", "AuditedScript", "PairGap", "audit", "open_reward", "own_rows", "read_audit_rows"]
