"""Explain one kind of constraint: its meaning, parameters, wordings, and an answer for each outcome."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from adhere.constraints import Choice, Constraint, Domain, ListOf, Whole, Words, make, registry
from adhere.constraints.published.shared import registry as published
from adhere.constraints.published.shared.fixes import fixes
from adhere.errors import UnknownName, nearest
from adhere.report.pieces.text_table import heading, paragraph
from adhere.terminal import one_line


def domain_text(domain: Domain) -> str:
    """Return the values of a domain, in a few words."""
    if isinstance(domain, Whole):
        return f"{domain.low} to {domain.high}"
    if isinstance(domain, Words):
        return f"text of up to {domain.longest} characters"
    if isinstance(domain, Choice):
        return "one of " + ", ".join(f"`{name}`" for name in domain.names)
    if isinstance(domain, ListOf):
        return f"{domain.fewest} to {domain.most} different values, each {domain_text(domain.item)}"
    return (type(domain).__doc__ or "").partition("\n")[0].rstrip(".").lower()


def explain_kind(name: str) -> dict[str, Any]:
    """Return the facts about a kind: ours, a plug-in's or a published suite's.

    Raises:
        UnknownName: There is no kind with this id.
    """
    if name in registry:
        return _explain_own(registry.get(name))
    rows = [(profile, kind) for profile in published.PROFILES for kind in published.kinds(profile) if kind.id == name]
    if rows:
        kind = rows[0][1]
        return {
            "id": name,
            "part": "published: " + ", ".join(profile for profile, _ in rows),
            "about": "",
            "params": dict.fromkeys(kind.params, "as the published file has it"),
            "wordings": [kind.describe({param: f"<{param}>" for param in kind.params})],
            "passing": None,
            "failing": None,
            "fixes": [{"id": fix.id, "what": fix.what} for fix in fixes() if fix.constraint_id == name],
        }
    ids = {*registry, *published.ids()}
    family = sorted(kind_id for kind_id in ids if kind_id.startswith(f"{name.partition(':')[0]}:"))
    more = f" {name.partition(':')[0]} has: {', '.join(family)}." if family and ":" not in name else ""
    raise UnknownName(f"Unknown constraint {name!r}.{nearest(name, ids)}{more} (adhere list constraints PATTERN)")


def _explain_own(kind: type[Constraint]) -> dict[str, Any]:
    passing, failing = (make(kind.id, **example[0]) for example in (kind.passing, kind.failing))
    findings = {
        text: constraint.check(text) for constraint, (_, text) in ((passing, kind.passing), (failing, kind.failing))
    }
    return {
        "id": kind.id,
        "part": f"ours, {kind.part} (version {kind.version})",
        "about": inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0].replace("\n", " "),
        "params": {field.name: domain_text(field.metadata["domain"]) for field in dataclasses.fields(kind)},
        "wordings": list(dict.fromkeys(passing.describe(number) for number in range(len(kind.phrasings)))),
        "passing": {"params": kind.passing[0], "text": kind.passing[1], "reason": findings[kind.passing[1]].reason},
        "failing": {"params": kind.failing[0], "text": kind.failing[1], "reason": findings[kind.failing[1]].reason},
        "fixes": [],
    }


def kind_text(explanation: dict[str, Any], *, width: int = 100) -> str:
    """Return an explanation for the terminal, wrapped to `width` columns."""
    lines = [heading(f"{explanation['id']}: {explanation['part']}")]
    lines += [paragraph(explanation["about"], width=width)] if explanation["about"] else []
    params = [f"{name} ({values})" for name, values in explanation["params"].items()] or ["none"]
    lines.append(paragraph("; ".join(params), width=width, label="parameters", hang=12))
    lines += [paragraph(text, width=width, label="says", hang=12) for text in explanation["wordings"]]
    for label, example in (("passes", explanation["passing"]), ("fails", explanation["failing"])):
        if example is not None:
            text = one_line(example["text"].replace("\n", "⏎"))
            lines.append(paragraph(f"{text} ({example['reason']})", width=width, label=label, hang=12))
    for fix in explanation["fixes"]:
        lines.append(paragraph(f"{fix['id']}: {fix['what']}", width=width, label="defect", hang=12))
    return "\n".join(lines)
