"""The leaderboard page: what it says, what it carries, and that nobody's text becomes markup."""

from __future__ import annotations

import json
import re
import runpy
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from adhere.report.leaderboard.charts import Point, front, interval_bar, scatter, usd
from adhere.report.leaderboard.drilldown import encode_for_script, islands
from adhere.report.leaderboard.html import leaderboard_html
from adhere.schema import ConstraintRef, Prompt, Turn
from adhere.sweep.board import Leaderboard
from adhere.sweep.leaderboard import leaderboard_of_runs


@pytest.fixture(scope="module")
def made() -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("leaderboard_factory.py"))))


@pytest.fixture(scope="module")
def board(made: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Leaderboard:
    found: Leaderboard = made.board(tmp_path_factory.mktemp("board"))
    return found


@pytest.fixture(scope="module")
def html(board: Leaderboard) -> str:
    return leaderboard_html(Path(), board)


class Page(HTMLParser):
    """Every element with its attributes, the text outside of scripts and styles, and each script's text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.words: list[str] = []
        self._inside = ""
        self.feed(html)
        self.text = " ".join("".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in {"script", "style"}:
            self._inside = tag
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        self._inside = "" if tag in {"script", "style"} else self._inside
        if tag in {"td", "th", "dt", "dd"}:
            self.words.append(" ")

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        elif not self._inside:
            self.words.append(data)


def data_of(html: str, name: str) -> Any:
    return next(json.loads(text) for attributes, text in Page(html).scripts if attributes.get("id") == name)


def test_the_policy_lets_nothing_out_and_no_other_script_run(html: str) -> None:
    page = Page(html)
    policy = next(a["content"] for t, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert re.fullmatch(
        r"default-src 'none'; script-src 'sha256-[\w+/=]+'; style-src 'sha256-[\w+/=]+'; img-src data:; base-uri 'none'; form-action 'none'",
        policy,
    )
    running = [
        attributes for attributes, text in page.scripts if attributes.get("type") != "application/json" and text.strip()
    ]
    assert running == [{}]
    assert not [
        a for _, a in page.elements if a.get("src") or any(name.startswith("on") or name == "style" for name in a)
    ]
    assert {a["href"] for _, a in page.elements if "href" in a and not str(a["href"]).startswith("#")} == {"data:,"}


def test_no_text_of_others_is_markup(html: str) -> None:
    page = Page(html)
    assert "img" not in {tag for tag, _ in page.elements}
    assert page.text.count("</script><script>document.title='owned'</script>") > 10
    assert "⟨U+202E⟩gnp.exe⟨U+2066⟩" in page.text
    assert "<b>bold test</b>" in page.text
    assert not set("\u202e\u2066\x1b\u2028\u2029\x85") & set(html)  # in the data they are escaped or written out


def test_without_a_script_ranks_ranges_bounds_and_reasons_stand_there(html: str, board: Leaderboard) -> None:
    text = Page(html).text
    first, lost = board.rows[0], board.rows[-1]
    assert f"{first.rank} ({first.rank_low}–{first.rank_high})" in text
    assert lost.rank is None
    assert f"{100 * lost.bound_low:.1f}…{100 * lost.bound_high:.1f} possible" in text
    assert lost.unranked in text
    assert "Without a rank, because less than 98\u00a0% of its answers were measured: 1 model." in text.replace(
        "98 %", "98\u00a0%"
    )
    assert "dead/two timeout: no answer within 10 s" in text
    assert "6 answered; 2 of 8 wanted are dead, 11 listed" in text
    assert "3: puts out no text" in text
    assert "40 prompts: every rate is known as well as its interval says" in text
    n = 6 * 40
    assert re.search(rf"n {n} = \d+ ok \+ \d+ truncated \+ 0 empty \+ 0 refused \+ \d+ error \+ 0 missing", text)
    assert "reverse a word is the easiest" in text
    assert "1 model without a known price or rate is not drawn." in text


def test_of_models_that_tie_none_is_singled_out(board: Leaderboard) -> None:
    ranked = [row for row in board.rows if row.rank is not None]
    best = ranked[0].prompt_strict
    tied = msgspec.structs.replace(
        board, rows=tuple(msgspec.structs.replace(row, rank=1, prompt_strict=best) for row in ranked)
    )
    fact = leaderboard_html(Path(), tied).partition("<dt>Highest rate")[2].partition("</dd>")[0]
    assert f"{len(ranked)} models alike, all of them" in fact
    assert not any(row.model in fact for row in ranked)


def test_every_row_and_cell_of_the_board_is_in_the_page(html: str, board: Leaderboard) -> None:
    rows = re.findall(r'<tr data-row="(\d+)"', html)
    assert sorted(map(int, rows)) == sorted([*range(6), *range(6)])
    cells = re.findall(r'data-t="(\d)" title="(\d+) of (\d+) ', html)
    assert len(cells) == 6 * 4
    assert [(int(passed), int(n)) for _, passed, n in cells[:4]] == [(c.passed, c.n) for c in board.rows[0].cells]


def test_islands_hold_what_was_asked_answered_and_judged(html: str, board: Leaderboard) -> None:
    prompts = data_of(html, "prompts-0")
    assert (prompts["noun"], prompts["tests"][0], len(prompts["prompts"])) == ("test", "reverse a word", 40)
    data = data_of(html, "answers-0")
    assert (data["model"], data["total"], len(data["answers"])) == (board.rows[0].model, 40, 40)
    of_test = [one for one in data["answers"] if one[7] == [0]]
    assert len(of_test) == 10
    assert sum(one[4] == "pass" for one in of_test) == board.rows[0].cells[0].passed
    place, turn, draw, status, _, text, verdicts, *_ = of_test[0]
    assert (turn, draw) == (0, 0)
    assert status in {"ok", "truncated"}
    assert text.startswith(f"Answer {int(prompts['prompts'][place][0][1:])}\n")
    assert [one[0] for one in verdicts] == ["exact:text", "length:at_most"]
    failed = data_of(html, "answers-5")
    assert {one[9][:18] for one in failed["answers"] if one[3] == "error"} == {"timeout: no answer"}


def test_failure_modes_point_at_their_answers(html: str, board: Leaderboard) -> None:
    data = data_of(html, "answers-0")
    modes = {(mode, name): (count, places) for mode, name, count, _, places in data["modes"]}
    failure = board.rows[0].failures[0]
    count, places = modes[failure.mode, failure.name]
    assert count == failure.count
    asked = data_of(html, "prompts-0")["prompts"]
    assert [asked[data["answers"][place][0]][0] for place in places] == [one.prompt_id for one in failure.examples]


def test_the_cap_holds_and_is_stated(board: Leaderboard) -> None:
    most = 200_000
    found = islands(board, Path(), most_bytes=most)
    assert 0 < found.shown < found.total == 240
    assert len(str(found.html).encode()) < most
    page = Page(leaderboard_html(Path(), board, most_bytes=1 << 20)).text
    stated = re.search(
        r"It carries (\d+) of 240 answers: at most 250 of a model to a test and 1 MB in all, failures", page
    )
    assert stated is not None
    assert int(stated[1]) == islands(board, Path(), most_bytes=1 << 20).shown


def test_a_cell_carries_at_most_so_many_answers(board: Leaderboard) -> None:
    without_examples = msgspec.structs.replace(
        board, rows=tuple(msgspec.structs.replace(row, failures=()) for row in board.rows)
    )
    found = islands(without_examples, Path(), most_per_cell=3)
    assert found.shown == 6 * 4 * 3


def test_failures_come_first(board: Leaderboard) -> None:
    rows = tuple(msgspec.structs.replace(row, failures=()) for row in board.rows)  # their examples come before all else
    found = islands(msgspec.structs.replace(board, rows=rows), Path(), most_per_cell=3)
    data = data_of(str(found.html), "answers-0")
    asked = data_of(str(found.html), "prompts-0")["prompts"]
    assert len(data["answers"]) < len(asked)
    assert {one[4] for one in data["answers"]} == {"fail"}


def test_a_run_that_cannot_be_read_is_named(board: Leaderboard) -> None:
    gone = msgspec.structs.replace(
        board, rows=(msgspec.structs.replace(board.rows[0], run="/nowhere/at/all"), *board.rows[1:])
    )
    text = Page(leaderboard_html(Path(), gone)).text
    assert f"The answers of {board.rows[0].model} cannot be opened here: /nowhere/at/all is no Run" in text


def test_families_are_the_columns_where_prompts_name_no_test(made: SimpleNamespace, tmp_path: Path) -> None:
    refs = (ConstraintRef("exact:text"), ConstraintRef("length:at_most"))
    asked = [Prompt(f"p{n}", (Turn("say", refs),), tags={"test": "reverse a word"}) for n in range(12)]
    folder = made.store(tmp_path, "m/one", 0.9, asked, cost=None)
    untagged = [msgspec.structs.replace(prompt, tags={}) for prompt in asked]
    board = leaderboard_of_runs([folder])
    families = msgspec.structs.replace(
        board.suites[0],
        noun="family",
        tests=tuple(msgspec.structs.replace(board.suites[0].tests[0], test=name) for name in ("exact", "length")),
    )
    found = islands(msgspec.structs.replace(board, suites=(families,)), Path())
    assert untagged[0].tags == {}
    assert all(one[7] == [0, 1] for one in data_of(str(found.html), "answers-0")["answers"])


def test_an_empty_board_is_a_page_too() -> None:
    assert "No model was measured." in Page(leaderboard_html(Path(), Leaderboard((), ()))).text


def test_encoded_text_cannot_leave_a_script() -> None:
    hostile = "</script><!--<script>&\u2028\u2029\ud800"
    written = encode_for_script({"a": hostile})
    assert not set("<>&\u2028\u2029") & set(written)
    assert json.loads(written) == {"a": hostile.replace("\ud800", "?")}


def test_front_is_what_nothing_beats() -> None:
    points = [
        Point("a", 1.0, 0.5),
        Point("b", 2.0, 0.5),
        Point("c", 2.0, 0.9),
        Point("d", 0.0, 0.1),
        Point("e", 1.0, 0.4),
    ]
    assert {point.model: point.front for point in front(points)} == {"a": 2, "b": None, "c": 3, "d": 1, "e": None}


@pytest.mark.parametrize("points", [[Point("a", 1.0, 0.0)], [Point("a", 1e-9, 1.0), Point("b", 0.0, 0.5)]])
def test_a_picture_of_any_costs(points: list[Point]) -> None:
    drawn = str(scatter(front(points)))
    assert drawn.count("<title>") == len(points) + 1
    places = [float(place) for place in re.findall(r'c?x="(-?[\d.]+)%"', drawn)]
    assert all(0 <= place <= 100 for place in places)


def test_a_bar_without_a_number_is_empty() -> None:
    assert interval_bar(None, None, None) == ""
    assert 'cx="50.0%"' in interval_bar(0.5, 0.25, 0.75)
    assert 'class="range bound"' in interval_bar(None, 0.0, 1.0, is_bound=True)
    assert "dot" not in interval_bar(None, 0.0, 1.0)


@pytest.mark.parametrize(
    ("cost", "shown"),
    [(None, "–"), (0, "$0"), (0.0123, "$0.0123"), (12.34, "$12.3"), (1234.5, "$1,234"), (1e-6, "$0.00000100")],
)
def test_amounts(cost: float | None, shown: str) -> None:
    assert usd(cost) == shown
