"""Define `agentif:code`, profile `agentif`: the row's own `check_following(response)` says yes.

It runs in the sandbox, and nowhere else. What the code returns counts as the published runner counts it: a text by the
YES or NO in it, None as no verdict, everything else as true or false. Code that raises, waits or needs what the sandbox
does not have gives no verdict either: it is undecided here, left out there.

Different here: the published runner hides helper functions beside `check_following` from it (its `exec` has two name
spaces), so such code has no verdict there and one here; a blank answer fails here and is left out there; a machine
without isolation decides nothing.

Source: Y. Qi et al., arXiv 2505.16944; `code4eval/1.evaluation_api.py` in THU-KEG/AgentIF at e00af1b, written anew.
"""

from __future__ import annotations

from collections.abc import Mapping

from adhere.constraints.finding import Finding, verdict
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.registry import Check, Kind, Param, is_never_drawn, register
from adhere.errors import BadParameter
from adhere.sandbox import run
from adhere.schema import Json

PROFILES = ("agentif",)
FUNCTION = "check_following"
TIMEOUT_S = 1.0


def _code(values: Mapping[str, Json]) -> Check:
    source = str(values["source"])
    if FUNCTION not in source:
        raise BadParameter(f"agentif:code: source={source[:60]!r} must define {FUNCTION}(response)")

    def check(text: Text) -> Finding:
        outcome = run(source, FUNCTION, [text.raw], timeout_s=TIMEOUT_S)
        if outcome.status != "ok":
            return Finding("undecided", f"{outcome.status}: {outcome.reason}"[:300])
        value = outcome.value
        if isinstance(value, str):
            value = True if "YES" in value else False if "NO" in value else None
        if value is None:
            return Finding("undecided", f"{FUNCTION} returned {outcome.value!r:.60}, which is no verdict")
        return verdict(bool(value), f"{FUNCTION} returned {outcome.value!r:.60}", outcome.value)

    return check


register(
    Kind(
        "agentif:code",
        PROFILES,
        {"source": Param("string", required=True), "rule": Param("string", is_drawn=is_never_drawn)},
        _code,
        lambda values: str(values.get("rule") or f"{FUNCTION}(answer) must be true"),
    )
)
