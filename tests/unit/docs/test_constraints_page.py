"""The page of kinds says what the registry holds."""

from benchmarks.pages import constraints

from adhere.constraints import registry


def test_the_page_is_current():
    assert constraints.PAGE.read_text(encoding="utf-8") == constraints.page(), (
        "run: python -m benchmarks.pages.constraints"
    )


def test_every_own_kind_has_an_entry():
    page = constraints.page()
    own = [name for name in registry if registry.get(name).__module__.startswith("adhere.constraints.")]
    assert len(own) >= 136
    assert all(f"### `{name}`\n" in page for name in own)


def test_text_with_backticks_and_line_breaks_is_shown():
    assert constraints.code("```\ncats\n```") == "```` ```⏎cats⏎``` ````"
    assert constraints.code("cats") == "`cats`"
