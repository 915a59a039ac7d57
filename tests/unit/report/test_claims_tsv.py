"""A cell that a spreadsheet would take for a formula is a text in a file of tabs; numbers stay numbers."""

from __future__ import annotations

import pytest

from adhere.report.claims.text import tsv_cell


@pytest.mark.parametrize("text", ["=1+1", "\t=1", "@SUM(A1)", "-2+3", "- item", "+49 30", "\uff1d1+1", "\u200b=1"])
def test_a_text_that_looks_like_a_formula_is_quoted(text: str) -> None:
    assert tsv_cell(text).startswith("'")


@pytest.mark.parametrize("text", ["-1", "+1.5", "-1,234.5", "-0.4%", "-1.5e-3", "-", "=", "Foo-7B"])
def test_numbers_and_lone_marks_stay_as_they_are(text: str) -> None:
    assert tsv_cell(text) == text
