"""`adhere explain KIND`."""

from __future__ import annotations

import click

from adhere.cli.options import flag
from adhere.schema import encode
from adhere.terminal import columns, show


@click.command("explain")
@click.argument("kinds", nargs=-1, required=True, metavar="KIND...")
@flag("--json", "as_json", help="Print one JSON array.")
def command(kinds: tuple[str, ...], as_json: bool) -> None:
    """Explain a kind of constraint: its wordings, an answer that passes and one that fails, defects that are mended.

    KIND is an id such as length:at_most: adhere list constraints PATTERN.
    """
    from adhere.report.tables.kinds import explain_kind, kind_text

    explanations = [explain_kind(name) for name in kinds]
    show(encode(explanations) if as_json else "\n\n".join(kind_text(kind, width=columns()) for kind in explanations))
