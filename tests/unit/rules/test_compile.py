"""Common phrasings become checks; what no program decides is listed without one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from adhere.errors import SpecError
from adhere.rules.checks.spec import Rule, parse_rules, rules_toml
from adhere.rules.compile.compile import compile_file

SAID: list[tuple[str, dict[str, Any] | None]] = [
    (
        "Always run the tests before committing.",
        {"kind": "before", "first": {"command": ["@tests"]}, "then": {"command": ["git commit"]}},
    ),
    (
        "Before pushing, run `make check`.",
        {"kind": "before", "first": {"command": ["make check"]}, "then": {"command": ["@push"]}},
    ),
    ("Run `make lint` after editing code.", {"kind": "after", "then": {"command": ["make lint"]}}),
    (
        "Tests must pass before you say you are done.",
        {"kind": "after", "then": {"command": ["@tests"], "status": "passes"}},
    ),
    ("Do not commit until the tests pass.", {"kind": "before", "then": {"command": ["git commit"]}}),
    ("Never force push.", {"kind": "never", "event": {"command": ["@force_push"]}}),
    ("You must not use `git rebase`.", {"kind": "never", "event": {"command": ["git rebase"]}}),
    (
        "Don't commit directly to main.",
        {"kind": "never", "event": {"command": ["git commit"], "on": ["main", "master"]}},
    ),
    ("Use `pnpm` instead of `npm`.", {"kind": "instead", "use": {"command": ["pnpm"]}, "avoid": {"command": ["npm"]}}),
    ("Use uv, not pip.", {"kind": "instead", "use": {"command": ["uv"]}, "avoid": {"command": ["pip"]}}),
    ("Prefer rg over grep.", {"kind": "instead", "use": {"command": ["rg"]}, "avoid": {"command": ["grep"]}}),
    ("Never use `npm`; use `pnpm`.", {"kind": "instead", "use": {"command": ["pnpm"]}, "avoid": {"command": ["npm"]}}),
    ("Never edit files in `migrations/`.", {"kind": "never", "event": {"edits": ["migrations/**"]}}),
    ("`src/gen/` is generated; do not touch it.", {"kind": "never", "event": {"edits": ["src/gen/**"]}}),
    ("`uv.lock` must not be edited by hand.", {"kind": "never", "event": {"edits": ["uv.lock"]}}),
    ("Only edit files in `src/`.", {"kind": "never", "event": {"edits": ["**", "!src/**"]}}),
    ("Ask before installing new dependencies.", {"kind": "asks_before", "event": {"command": ["@install"]}}),
    ("Don't push unless I ask you to.", {"kind": "asks_before", "event": {"command": ["@push"]}}),
    ("Never commit without asking first.", {"kind": "asks_before", "event": {"command": ["git commit"]}}),
    (
        "Read `docs/arch.md` before changing code in `src/`.",
        {"kind": "before", "first": {"reads": ["docs/arch.md"]}, "then": {"edits": ["src/**"]}},
    ),
    (
        "Update `CHANGELOG.md` whenever you change files in `src/`.",
        {"kind": "does", "event": {"edits": ["CHANGELOG.md"]}, "when": {"edits": ["src/**"]}},
    ),
    ("Commit messages must follow Conventional Commits.", {"kind": "text", "of": "commits", "shape": "conventional"}),
    (
        "Branch names must start with `feat/` or `fix/`.",
        {"kind": "text", "of": "branches", "begins": ["feat/", "fix/"]},
    ),
    (
        "Keep commit titles under 72 characters.",
        {"kind": "text", "of": "commits", "longest_line": 71, "first_line": True},
    ),
    (
        "Keep replies under 100 words.",
        {"kind": "text", "of": "replies", "constraint": {"id": "length:at_most", "params": {"limit": 99}}},
    ),
    ("Never use emojis.", {"kind": "text", "of": "replies", "no": ["emoji"]}),
    (
        'Do not say "You\'re absolutely right".',
        {"kind": "text", "of": "replies", "without": ["You're absolutely right"]},
    ),
    (
        "Always respond in German.",
        {"kind": "text", "constraint": {"id": "language:answer_in", "params": {"language": "German"}}},
    ),
    (
        "Never use `console.log` in TypeScript code.",
        {"kind": "text", "of": "files", "paths": ["**/*.ts", "**/*.tsx"], "without": ["console.log"]},
    ),
    ("Do not leave TODO comments in the code.", {"kind": "text", "of": "files", "without": ["TODO"]}),
    ("Do not add Co-Authored-By lines to commits.", {"kind": "text", "of": "commits"}),
    (
        "Use the Grep tool instead of `grep`.",
        {"kind": "instead", "use": {"tool": ["Grep"]}, "avoid": {"command": ["grep"]}},
    ),
    ("Do not edit files outside `src/`.", {"kind": "never", "event": {"edits": ["**", "!src/**"]}}),
    ("Do not use npm or yarn.", {"kind": "never", "event": {"command": ["npm", "yarn"]}}),
    (
        "Never commit with failing tests.",
        {"kind": "before", "first": {"command": ["@tests"], "status": "passes"}, "then": {"command": ["git commit"]}},
    ),
    ("Only commit when the user asks for it.", {"kind": "asks_before", "event": {"command": ["git commit"]}}),
    (
        "Every change to `src/` needs an entry in `CHANGELOG.md`.",
        {"kind": "does", "event": {"edits": ["CHANGELOG.md"]}, "when": {"edits": ["src/**"]}},
    ),
    ("Run `pytest` at least once before finishing.", {"kind": "after", "then": {"command": ["pytest"]}}),
    (
        "Start each commit message with a Jira ticket such as `SHOP-12`.",
        {"kind": "text", "of": "commits", "shape": "ticket"},
    ),
    ("Limit commit subject lines to 50 characters.", {"kind": "text", "of": "commits", "longest_line": 50}),
    ("Do not run the full test suite; run only affected tests.", None),
    ("Write clean, simple code.", None),
    ("Prefer composition over inheritance.", None),
    ("Handle errors gracefully.", None),
    ("Always think about edge cases.", None),
]


def _regex_of(tmp_path: Path, text: str, name: str = "AGENTS.md") -> tuple[Rule, ...]:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return compile_file(path)


@pytest.mark.parametrize(("said", "check"), SAID)
def test_a_phrasing_becomes_its_check(said: str, check: dict[str, Any] | None, tmp_path: Path) -> None:
    rules = _regex_of(tmp_path, f"# Guide\n\n- {said}\n")
    assert [rule.quote for rule in rules] == [said]
    made = msgspec.to_builtins(rules[0].check) if rules[0].check is not None else None
    if check is None or made is None:
        assert made is check
        return
    plain = {key: list(value) if isinstance(value, tuple) else value for key, value in made.items()}
    for key, value in check.items():
        got = plain[key]
        got = (
            {name: list(one) if isinstance(one, tuple) else one for name, one in got.items()}
            if isinstance(got, dict)
            else got
        )
        assert got == value, plain


def test_what_tells_nothing_is_no_rule(tmp_path: Path) -> None:
    text = "# Shop\nThis project sells shoes. It has a web page.\n\n```\nnever run this\n```\n\n| never | a table |\n"
    assert _regex_of(tmp_path, text) == ()


def test_lists_under_never_are_never_and_the_next_list_is_not(tmp_path: Path) -> None:
    rules = _regex_of(tmp_path, "- Never:\n  - run `sudo`\n- Run `make lint` before committing.\n")
    assert [rule.check.__struct_config__.tag for rule in rules if rule.check] == ["never", "before"]
    assert [rule.line for rule in rules] == [2, 3]


def test_several_commands_are_several_rules(tmp_path: Path) -> None:
    rules = _regex_of(tmp_path, "- Before committing, run `ruff check` and `mypy`.\n")
    assert [rule.check.first.command for rule in rules] == [("ruff check",), ("mypy",)]  # type: ignore[union-attr]
    assert len({rule.id for rule in rules}) == 2


def test_imports_nested_files_and_scopes(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/more.md").write_text("- Never use `sudo`.\n")
    (tmp_path / "web").mkdir()
    (tmp_path / "web/AGENTS.md").write_text("- Use `pnpm` instead of `npm`.\n")
    (tmp_path / "outside.md").write_text("x")
    rules = _regex_of(
        tmp_path, "See @docs/more.md and @../../etc/passwd.txt\n\n## Files in `api/`\n\n- Never use `print`.\n"
    )
    assert [(rule.file, rule.line, rule.scope) for rule in rules] == [
        ("docs/more.md", 1, ()), ("AGENTS.md", 5, ("api/**",)), ("web/AGENTS.md", 1, ("web/**",)),
    ]  # fmt: skip


def test_modality_is_kept(tmp_path: Path) -> None:
    rules = _regex_of(tmp_path, "- You should use `rg` instead of `grep`.\n- Never use `sudo`.\n")
    assert [rule.modality for rule in rules] == ["should", "must"]


def test_compiled_rules_are_read_back(tmp_path: Path) -> None:
    rules = _regex_of(tmp_path, "".join(f"- {said}\n" for said, _ in SAID))
    assert parse_rules(rules_toml(rules, head="# x"), "rules.toml") == rules


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "A.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="UTF-8"):
        compile_file(tmp_path / "A.md")
    with pytest.raises(SpecError, match="a folder"):
        compile_file(tmp_path)
    with pytest.raises(SpecError, match="no such file"):
        compile_file(tmp_path / "B.md")
