"""The glossary is one: the page prints it, and every report explains the words of its tables."""

import re
from pathlib import Path

from adhere.report.pieces.glossary import GLOSSARY, glossary_markdown
from adhere.report.pieces.guards import GUARDS

ROOT = Path(__file__).parents[3]
TEMPLATES = ROOT / "src" / "adhere" / "report"


def test_the_page_is_printed_from_it() -> None:
    page = ROOT / "docs" / "reference" / "glossary.md"
    assert page.read_text(encoding="utf-8") == glossary_markdown(), (
        "python -m adhere.report.pieces.glossary > docs/reference/glossary.md"
    )


def test_words_that_nobody_can_know_are_in_it() -> None:
    asked = {"arm", "slice", "in-family", "distinct-2", "content", "echo", "says", "draw", "cell", "sealed", "guard"}
    assert asked | {column.heading for column in GUARDS if column.heading != "words"} <= GLOSSARY.keys()
    assert list(GLOSSARY) == sorted(GLOSSARY)
    assert all(meaning.endswith(".") and meaning[0].isupper() for meaning in GLOSSARY.values())


def test_every_report_explains_its_words() -> None:
    pages = [path for path in TEMPLATES.glob("*/*.html.jinja") if not path.name.startswith("view")]
    assert len(pages) >= 6
    for path in pages:
        found = re.search(r"glossary\((\[[^\]]*\])\)", path.read_text(encoding="utf-8"))
        assert found, path.name
        assert set(re.findall(r'"([^"]+)"', found[1])) <= GLOSSARY.keys(), path.name


def test_one_thing_has_one_word() -> None:
    """Other words for what `MEASURES` and `COULD_FIND` name are in no table, page or line of ours."""
    others = re.compile(
        r"prompts strict|instructions? strict|constraints strict|kept every instruction|kept whole|single instructions kept|\"finds\"|smallest found"
    )
    sources = [*(ROOT / "src" / "adhere").rglob("*.py"), *(ROOT / "src" / "adhere").rglob("*.jinja")]
    assert len(sources) > 500
    strays = {
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in sources
        if any(room in path.parts for room in ("report", "cli", "serve"))
        and (found := others.search(path.read_text(encoding="utf-8")))
    }
    assert strays == set()
