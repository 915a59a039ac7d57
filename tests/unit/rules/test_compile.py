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
    ("No `eval()` on input of users.", {"kind": "text", "of": "files", "without": ["eval("], "conditional": True}),
    ("Never use `as any` in TypeScript code.", {"kind": "text", "of": "files", "without": ["as any"]}),
    ("Do not use `datetime.now()` in tests.", {"kind": "text", "of": "files", "without": ["datetime.now("]}),
    (
        "Always use `is null` instead of `== null`.",
        {"kind": "text", "of": "files", "without": ["== null"], "use": ["is null"]},
    ),
    ("Never use mocks in tests.", {"kind": "text", "of": "files", "words": True}),
    ("Do not use default exports.", {"kind": "text", "of": "files", "without": ["export default"]}),
    ("Use tabs for indentation, not spaces.", {"kind": "text", "of": "files", "no": ["spaces"]}),
    ("PR titles must follow Conventional Commits.", {"kind": "text", "of": "pull_requests", "shape": "conventional"}),
    ("Create PRs in draft mode by default.", {"kind": "never", "event": {"command": ["gh pr create !--draft"]}}),
    (
        "Run the full test suite before committing.",
        {"kind": "before", "first": {"command": ["@tests"], "whole": True}, "then": {"command": ["git commit"]}},
    ),
    ("Never skip the linter before pushing.", {"kind": "before", "first": {"command": ["@lint"]}}),
    (
        "Never say you are done until `make check` passes.",
        {"kind": "after", "then": {"command": ["make check"], "status": "passes"}},
    ),
    (
        "After editing Go files, run `gofmt -w <file>.go` to format them.",
        {"kind": "after", "event": {"edits": ["**/*.go"]}, "then": {"command": ["gofmt -w"]}},
    ),
    (
        "Use tox for testing (not pytest directly):",
        {"kind": "instead", "use": {"command": ["tox"]}, "avoid": {"command": ["pytest"]}},
    ),
    ("Use uv for all Python packages.", {"kind": "instead", "use": {"command": ["uv"]}}),
    ("Do not edit `Cargo.toml` by hand — use `cargo add`.", {"kind": "never", "event": {"edits": ["Cargo.toml"]}}),
    (
        "Never commit without changesets for visible changes.",
        {"kind": "never", "event": {"command": ["git commit"]}, "conditional": True},
    ),
    ("Every bug fix needs a regression test.", {"kind": "does", "conditional": True}),
    ("Add an entry to `CHANGELOG.md` for each change.", {"kind": "does", "event": {"edits": ["CHANGELOG.md"]}}),
    ('You must address me as "Captain".', {"kind": "text", "of": "final", "has": "Captain"}),
    ("Never change global.json unless explicitly asked to.", {"kind": "asks_before", "granted": ["global.json"]}),
    ("Do not run the full test suite; run only affected tests.", None),
    ("Never remove or skip tests to make them pass.", None),
    ("Do not skip formatting or lint checks.", None),
    ("Use normal async functions for async tests.", None),
    ("Put permission checks in `page.tsx`, never in `layout.tsx`.", None),
    ("Must not wipe or bypass the PR template.", None),
    ("Otherwise, run `make style` before you finish.", None),
    ("Keep functions under 50 lines.", None),
    ("Never call `merge_pull_request` directly.", None),
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


def test_headings_blocks_of_code_and_conditions_count(tmp_path: Path) -> None:
    text = (
        "# Setup\n\nBefore running the tests, set up all packages by running:\n\n```bash\nuv sync\n```\n\n"
        "## Ask first\n\n- Adding new dependencies\n\n## Never do\n\n- Force push\n\n"
        "## Else\n\n- If the check fails: look at it. Run `make fix` to mend it.\n"
    )
    checks = [msgspec.to_builtins(rule.check) for rule in _regex_of(tmp_path, text) if rule.check]
    assert [one["kind"] for one in checks] == ["before", "asks_before", "never"]
    assert checks[0]["first"]["command"] == ("uv sync",)


def test_half_of_a_sentence_is_no_rule_alone(tmp_path: Path) -> None:
    rules = _regex_of(tmp_path, "- Always keep the style of the file; avoid `any`.\n")
    assert [rule.check is None for rule in rules] == [False, True]


def test_a_long_word_takes_no_time(tmp_path: Path) -> None:
    assert _regex_of(tmp_path, f"- Never use {'a-very-long-word' * 40} in `x`!\n")


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
