from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from adhere.report.pieces.untrusted import mark_hidden, visible
from adhere.terminal import one_line, plain

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # lone surrogates and controls included


def test_hidden_characters_are_written_out_in_pages() -> None:
    assert visible("a\u202eb\x1b[0m\x00\ud800\u2028") == "a⟨U+202E⟩b⟨U+001B⟩[0m⟨U+0000⟩⟨U+D800⟩⟨U+2028⟩"


def test_ordinary_text_is_kept() -> None:
    for text in ("two\nlines\tand a tab", "Ünïcode 漢字 👩\u200d🚀 \u0645\u06cc\u200c\u062e\u0648", "−2.0…+4.4"):
        assert visible(text) == text


def test_windows_line_ends_are_line_ends() -> None:
    assert visible("a\r\nb\rc") == "a\nb⟨U+000D⟩c"


def test_marked_escapes_and_sets_hidden_characters_apart() -> None:
    assert mark_hidden("<b>\u202e") == '&lt;b&gt;<span class="hidden-char">⟨U+202E⟩</span>'


def test_terminal_text_loses_whole_sequences() -> None:
    hostile = (
        "\x1b[2J\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07 \x1b]52;c;AAAA\x1b\\\x9b31m\x1bPdata\x1b\\ok"
    )
    assert plain(hostile) == "red link ok"


def test_unfinished_sequence_swallows_no_more_than_itself() -> None:
    assert plain("before \x1b[31") == "before 31"


def test_one_line_has_no_line_breaks() -> None:
    assert one_line(" a\n\n b\tc ") == "a b c"


@given(ANY_TEXT)
def test_pages_never_hold_a_hidden_character(text: str) -> None:
    shown = visible(text)
    shown.encode()
    assert all(char in "\n\t\u200c\u200d" or unicodedata.category(char) not in {"Cc", "Cf", "Cs"} for char in shown)


@given(ANY_TEXT)
def test_terminals_never_get_a_control_character(text: str) -> None:
    printed = plain(text)
    assert all(char == "\n" or unicodedata.category(char) not in {"Cc", "Cf", "Cs"} for char in printed)
