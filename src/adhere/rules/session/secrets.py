"""Replace keys, tokens and passwords in what sessions hold, before anything is stored, shown or sent."""

from __future__ import annotations

import re

HIDDEN = "[hidden]"
_NAMES = (
    r"[A-Za-z0-9_.-]*(?:api[_-]?key|secret|token|passw(?:or)?d|passwd|pwd|credential|"
    r"private[_-]?key|access[_-]?key|auth)[A-Za-z0-9_-]*"
)
_WHOLE = re.compile(
    r"\bsk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{16,}"  # OpenAI, Anthropic, OpenRouter
    r"|\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{16,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}|\bya29\.[A-Za-z0-9_-]{20,}"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}|\bhf_[A-Za-z0-9]{20,}|\bnpm_[A-Za-z0-9]{30,}|\bpypi-[A-Za-z0-9_-]{30,}"
    r"|\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}|\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}"  # a JSON web token
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
_IN_ADDRESS = re.compile(r"(?P<before>\b[a-z][a-z0-9+.-]*://[^\s:/@'\"]*:)[^\s/@'\"]+(?=@)", re.IGNORECASE)
_IN_QUERY = re.compile(rf"(?P<before>[?&]{_NAMES}=)[^\s&'\"#]+", re.IGNORECASE)
_BEARER = re.compile(r"(?P<before>\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)
_ASSIGNED = re.compile(
    rf"(?P<before>(?<![A-Za-z0-9_.-])['\"]?{_NAMES}['\"]?\s*[=:]\s*)(?P<mark>['\"]?)(?P<value>[^\s'\"&;,)}}\]]{{4,}})(?P=mark)",
    re.IGNORECASE,
)
_OPTION = re.compile(rf"(?P<before>--?{_NAMES}[ =])(?P<value>[^\s'\"-][^\s'\"]{{3,}})", re.IGNORECASE)
_HINT = re.compile(
    r"sk-|gh[pousr]_|github_pat|glpat|AKIA|ASIA|AIza|ya29|xox|hf_|npm_|pypi-|_live_|_test_|SG\.|eyJ|BEGIN|://|bearer|basic|"
    r"key|secret|token|passw|pwd|credential|auth",
    re.IGNORECASE,
)
_HARMLESS = re.compile(
    r"^(?:\$|<|\{|\*|\.\.\.|…|None\b|null\b|true\b|false\b|str\b|string\b|os\.|process\.|env\b|self\.|\d{1,6}$)",
    re.IGNORECASE,
)


def redact(text: str) -> str:
    """Return the text with every key, token and password replaced by `[hidden]`."""
    if not _HINT.search(text):
        return text
    text = _WHOLE.sub(HIDDEN, text)
    for pattern in (_IN_ADDRESS, _IN_QUERY, _BEARER):
        text = pattern.sub(rf"\g<before>{HIDDEN}", text)
    for pattern in (_ASSIGNED, _OPTION):
        text = pattern.sub(_without_value, text)
    return text


def _without_value(match: re.Match[str]) -> str:
    value = match["value"]
    if value == HIDDEN or _HARMLESS.match(value) or value.startswith(HIDDEN):
        return match[0]
    return match["before"] + HIDDEN
