"""The reference of Python and of the commands is not empty on the code host."""

from benchmarks.pages import reference

from adhere.cli import COMMANDS


def test_the_lists_are_current() -> None:
    for page, text in reference.pages().items():
        assert page.read_text(encoding="utf-8") == text, "run: python -m benchmarks.pages.reference"


def test_every_command_and_name_has_a_line() -> None:
    commands = reference.COMMANDS.read_text(encoding="utf-8")
    assert all(f"| `adhere {name}` |" in commands for name in COMMANDS)
    api = reference.API.read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in api for name in ("evaluate", "callback", "FakeEndpoint", "rates"))
