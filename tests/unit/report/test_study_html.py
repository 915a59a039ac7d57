from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

from adhere.report.pieces import numbers
from adhere.report.study.html import command, study_html
from adhere.schema import Record

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """Elements with their attributes, and the text that a reader sees (without style sheet, title and axis ticks)."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[tuple[str, bool]] = []
        self.pieces: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        if tag not in VOID:
            hidden = tag in {"style", "title"} or "tick" in (attributes.get("class") or "").split()
            self.open.append((tag, hidden))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if not any(hidden for _, hidden in self.open):
            self.pieces.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.pieces))


KINDS = {"one": "study", "hostile": "hostile_study", "empty": "empty_study"}


@pytest.fixture(scope="module", params=["one", "three", "hostile", "empty"])
def html(request: pytest.FixtureRequest, factory: SimpleNamespace) -> str:
    if request.param == "three":
        return study_html(factory.study(seeds=3))
    return study_html(getattr(factory, KINDS[request.param])())


def test_page_is_well_formed(html: str) -> None:
    page = Page(html)
    assert page.open == []
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert len([tag for tag, _ in page.elements if tag == "h1"]) == 1


def test_nothing_is_loaded_and_nothing_runs(html: str) -> None:
    allowed = re.compile(r"data:,|#[a-z]+")
    for tag, attributes in Page(html).elements:
        assert tag not in {"script", "iframe", "object", "embed", "img", "form", "base", "foreignobject", "use"}
        for name, value in attributes.items():
            assert not name.startswith("on"), f"<{tag} {name}>"
            assert name != "style"
            if name in {"src", "href", "srcset", "action", "xlink:href", "poster", "formaction"}:
                assert allowed.fullmatch(value or ""), f"<{tag} {name}={value}>"
    assert "url(" not in html
    assert "@import" not in html


def test_policy_forbids_all_but_our_style_sheet(html: str) -> None:
    policy = next(a["content"] for t, a in Page(html).elements if a.get("http-equiv") == "Content-Security-Policy")
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def test_page_encodes_and_holds_no_hidden_character(html: str) -> None:
    assert html.encode("utf-8")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]", html)


def test_hostile_texts_are_shown_as_text(factory: SimpleNamespace) -> None:
    html = study_html(factory.hostile_study())
    for raw in ("<script>document", "<img src=x", "<svg onload", "<b onmouseover", "</textarea>"):
        assert raw not in html
    text = Page(html).text
    assert factory.HOSTILE[0] in text
    assert "{{ 7*7 }}" in text
    assert "49" not in re.findall(r"\d+", Page(study_html(factory.empty_study())).text)
    assert "⟨U+202E⟩" in text
    assert "⟨U+001B⟩" in text
    assert "⟨U+D83D⟩" in text


def test_long_answers_are_shown_whole(factory: SimpleNamespace) -> None:
    assert len(factory.LONG) > 10_000
    assert factory.LONG in study_html(factory.study())


def test_same_record_same_bytes(factory: SimpleNamespace) -> None:
    assert study_html(factory.study(seeds=3)) == study_html(factory.study(seeds=3))


def test_sections_stand_in_their_order(factory: SimpleNamespace) -> None:
    html = study_html(factory.study())
    places = [
        html.index(f'id="{name}"')
        for name in ("rates", "contrasts", "families", "curves", "data", "ledger", "answers", "settings", "making")
    ]
    assert places == sorted(places)
    assert html.index("INCONCLUSIVE</span>") < places[0]


def test_verdict_says_all_it_must_first(factory: SimpleNamespace) -> None:
    result = factory.study()
    head = Page(study_html(result).split('<section id="rates">')[0]).text
    for text in (result.verdict.question, result.verdict.because, result.verdict.scope, result.verdict.rule):
        assert text in head
    for shown in ("+5.0 points", "−1.8…+11.8", "220", "7.1 points", "with 80 % power", result.warnings[0]):
        assert shown in head


def test_missing_numbers_are_dashes_with_a_reason(factory: SimpleNamespace) -> None:
    result = factory.study()
    first, *rest = result.scores
    guard = factory.changed(first.guard, content_share=None, distinct_2=None)
    nothing = factory.changed(
        first, guard=guard, prompt_strict=factory.wilson(0, 0), families={"case": factory.wilson(0, 0)}
    )
    gone = [score for score in rest if (score.arm, score.slice) != ("sft", "new-family/multiple")]
    html = study_html(factory.changed(result, scores=[nothing, *gone]))
    text = Page(html).text
    assert "None" not in text
    for reason in ("no prompt was measured (n = 0)", "no answer had a text", "not measured on this slice"):
        assert reason in text
    assert "no prompt of the slice was measured under both arms" in text
    assert ">–<" in html


def test_a_zero_is_not_a_dash(factory: SimpleNamespace) -> None:
    result = factory.study()
    none_passed = factory.changed(result.scores[0], prompt_strict=factory.wilson(0, 220))
    html = study_html(factory.changed(result, scores=[none_passed, *result.scores[1:]]))
    assert "0 / 220" in html
    assert "0.0\u00a0%" in html


def test_single_seeds_stand_behind_the_pooled_bars(factory: SimpleNamespace) -> None:
    one, three = study_html(factory.study()), study_html(factory.study(seeds=3))
    assert 'class="seed-dot"' not in one
    bars = three.partition('id="contrasts"')[0]
    assert bars.count('class="seed-dot"') == 3 * 4 * 3  # slices × trained arms × seeds
    assert three.count('<tr class="seed">') == 3 * 4 * 3


def test_one_seed_row_alone_is_the_arms_row(factory: SimpleNamespace) -> None:
    result = factory.study()
    single = [factory.changed(score, seed=0) for score in result.scores]
    page, wanted = (study_html(factory.changed(result, scores=s)) for s in (single, result.scores))
    assert page == wanted


def test_guards_stand_beside_every_pass_rate(factory: SimpleNamespace) -> None:
    result = factory.study()
    table = study_html(result).split('aria-label="Pass rates"')[1].split("</table>")[0]
    rows = re.findall(r"<tr>\n<th scope=\"row\">.*?</tr>", table, re.DOTALL)
    assert len(rows) == len(result.scores)
    for row, score in zip(rows, sorted(result.scores, key=lambda s: result.slices.index(s.slice)), strict=True):
        assert numbers.decimal(score.guard.mean_words) in row
        assert numbers.percent(score.guard.distinct_2, digits=0) in row
        assert f"{score.prompt_strict.passed} / {score.prompt_strict.n}" in row


def test_what_every_arm_forgot_stands_on_the_page(factory: SimpleNamespace) -> None:
    result = factory.study()
    table = study_html(result).split('aria-label="Perplexity of plain text"')[1].split("</table>")[0]
    assert [one.treatment in table for one in result.tax] == [True] * (len(result.arms) - 1)
    assert "60.3" in table
    assert "✗ violated" in table
    assert "Perplexity of plain text" not in study_html(factory.changed(result, tax=[], guards=[]))


def test_command_is_the_stored_one_or_quoted(factory: SimpleNamespace) -> None:
    assert command(factory.study()) == "adhere study examples/quickstart.toml"
    bare = factory.changed(factory.study(), environment={}, name="a b; rm -rf /")
    assert command(bare) == "adhere study 'a b; rm -rf /.toml'"


FORMS: list[Callable[[float], str]] = [
    numbers.percent,
    lambda value: numbers.percent(value, digits=0),
    numbers.points,
    lambda value: numbers.points(value, is_signed=False),
    numbers.decimal,
    numbers.p_value,
    str,
]
NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")


def leaves(value: object) -> Iterator[object]:
    if isinstance(value, Record):
        value = {name: getattr(value, name) for name in value.__struct_fields__}
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def numbers_of(result: Record) -> set[str]:
    """Every number of the record in every form in which a page may print it."""
    shown: set[str] = set()
    for leaf in leaves(result):
        if isinstance(leaf, str):
            shown |= set(NUMBER.findall(leaf))
        elif isinstance(leaf, int | float):
            texts = [form(leaf) for form in FORMS] + ([numbers.count(leaf)] if isinstance(leaf, int) else [])
            shown |= {number for text in texts for number in NUMBER.findall(text)}
    return shown


@pytest.mark.parametrize("seeds", [1, 3])
def test_every_number_on_the_page_comes_from_the_record(factory: SimpleNamespace, seeds: int) -> None:
    result = factory.study(seeds=seeds)
    lengths = {len(result.seeds), len(result.warnings), len(result.shown), len(result.scores[-1].kinds)}
    fixed = {"80", "2", "2.5", "0", "256"}  # 80 % power, distinct-2, Qwen2.5, n = 0, sha256
    shown = re.sub(r"⟨U\+[0-9A-F]+⟩", "", Page(study_html(result)).text)
    strange = set(NUMBER.findall(shown)) - numbers_of(result) - fixed - {str(length) for length in lengths}
    assert not strange
    marked = factory.changed(result, minutes=987_654.3)
    assert "987,654.3" in Page(study_html(marked)).text
