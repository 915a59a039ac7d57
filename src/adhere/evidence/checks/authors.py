"""Tell whose document it is: numbers of one laboratory should agree, those of two need not."""

from __future__ import annotations

import re
from collections import Counter

from adhere.evidence.claims.layout import models_in
from adhere.evidence.claims.names import clean_label, family_of, is_ours, looks_like_model
from adhere.evidence.read.document import Document

_LINK = re.compile(
    r"(?:github\.com|huggingface\.co|modelscope\.cn/(?:models|organization))/([\w.-]+)/[\w.-]+", re.IGNORECASE
)
_HARNESS = re.compile(
    r"\b(?:OpenCompass|lm[- ]eval(?:uation)?[- ]harness|LM Evaluation Harness|simple-evals|HELM|EvalPlus|VLMEvalKit|"
    r"lmms-eval|BigCode[- ]Evaluation[- ]Harness|"
    r"internal evaluations? library|Open LLM Leaderboard|LightEval|FastChat)\b",
    re.IGNORECASE,
)
_HOSTS = frozenset({"datasets", "spaces", "papers", "docs", "blog", "models", "organization", "collections"})
LEAST_LINKS = 3


class Authors:
    """Holds whose a document is.

    `marks` are the families of its authors' models, or the owner of their repositories; `harness` names the evaluation
    harnesses that its sentences mention, at most three.
    """

    def __init__(self, document: Document) -> None:
        self.marks = _marks(document)
        self.harness = _harness(document)

    def shared(self, other: Authors) -> bool:
        """Tell whether two documents have the same authors, or neither says whose it is."""
        return bool(self.marks & other.marks) or not (self.marks or other.marks)

    @property
    def shown(self) -> str:
        """The authors' marks and the harness, as text for a message."""
        who = "/".join(sorted(self.marks)) or "authors not named"
        return f"{who}, {self.harness}" if self.harness else who


def _marks(document: Document) -> frozenset[str]:
    """Return families of models in the file's name and title, and of models called "ours".

    Without any, the owner that most links name (three at least); without that, the family most named at the beginning.
    """
    marks: set[str] = set()
    texts = [re.sub(r"\.\w+$", "", document.name), document.title]
    for text in texts:
        words = re.findall(r"[A-Za-z][A-Za-z\d.]*", text)[:6]
        marks |= {family for word in words if (family := family_of(word))}
    for table in document.tables:
        labels = [row.cells[0].text for row in table.rows if row.cells] + [
            h for header in table.headers for h in header
        ]
        marks |= {family for label in labels if is_ours(label) and (family := family_of(clean_label(label)))}
    owners = Counter(
        match[1].lower() for line in document.lines for match in _LINK.finditer(line) if match[1].lower() not in _HOSTS
    )
    if owners and not marks:
        owner, count = owners.most_common(1)[0]
        if count >= LEAST_LINKS:
            marks.add(owner)
    if not marks:
        families = Counter(
            family
            for sentence in document.sentences[:12]
            for label in models_in(sentence.text)
            if looks_like_model(label) and (family := family_of(label))
        )
        marks |= {family for family, count in families.most_common(1) if count >= 2}
    return frozenset(marks)


def _harness(document: Document) -> str:
    harnesses = {
        match.group().lower(): match.group()
        for sentence in document.sentences
        for match in _HARNESS.finditer(sentence.text)
    }
    return ", ".join(sorted(harnesses.values())[:3])
