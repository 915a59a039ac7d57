"""Commands are read as a shell reads them: what runs, what only stands in a text."""

from __future__ import annotations

from pathlib import Path

import pytest

from adhere.errors import SpecError
from adhere.rules.shell.effects import effects_of
from adhere.rules.shell.forms import runs_of
from adhere.rules.shell.parse import parse
from adhere.rules.shell.patterns import groups, matches, patterns_of
from adhere.rules.shell.scripts import written_by

MEANT = [
    ("git push", "git push"),
    ("cd a && git -C b push origin main", "git push"),
    ("bash -lc 'git add . && git push'", "git push"),
    ("sudo -u me env A=1 git push", "git push"),
    ("if true; then git push; fi", "git push"),
    ("(cd x; git push)", "git push"),
    ("x=$(git push)", "git push"),
    ("bash <<'E'\ngit push\nE", "git push"),
    ("find . -name '*.pyc' -exec rm -rf {} +", "rm -rf"),
    ("ls | xargs rm -f -r", "rm -rf"),
    ("git push -uf origin", "git push --force"),
    ("python3.12 -m pytest -x", "@tests"),
    ("FOO=1 .venv/bin/pytest 'a b'", "pytest"),
    ("uv run --with x pytest", "@tests"),
    ("npm run test:unit -- --watch", "@tests"),
    ("timeout 60 cargo test", "@tests"),
    ("eval 'npm test'", "npm test"),
    ("case $x in a) git push;; esac", "git push"),
    ("for f in *; do git push; done", "git push"),
    ("git commit -m \"$(cat <<'EOF'\nit's fine\nEOF\n)\" && git push", "git push"),
]
NOT_MEANT = [
    ("echo pytest", "@tests"),
    ("echo 'git push'", "git push"),
    ("grep -rn 'git push --force' docs", "git push"),
    ("cat > a.sh <<'EOF'\ngit push\nEOF", "git push"),
    ("git commit -m 'run pytest && git push'", "git push"),
    ("pytest --collect-only", "@tests"),
    ("npm test --help", "@tests"),
    ("git push --dry-run", "git push"),
    ("git push --force-with-lease", "git push --force"),
    ("which pytest", "@tests"),
    ("uv pip install x", "pip install"),
    ("# git push", "git push"),
    ("git stash push", "git push"),
    ("npm install", "@install"),
    ("make -n test", "git push"),
]


@pytest.mark.parametrize(("line", "pattern"), MEANT)
def test_a_command_is_found(line: str, pattern: str) -> None:
    assert any(matches(run, [pattern]) for run in runs_of(line, 0))


@pytest.mark.parametrize(("line", "pattern"), NOT_MEANT)
def test_what_only_looks_like_a_command_is_none(line: str, pattern: str) -> None:
    assert not any(matches(run, [pattern]) for run in runs_of(line, 0))


@pytest.mark.parametrize(
    ("line", "code", "known"),
    [
        ("a && b", 0, [(True, True), (True, True)]),
        ("a && b", 1, [(True, None), (None, None)]),
        ("cd x && b", 1, [(True, None), (True, False)]),
        ("a; b", 1, [(True, None), (True, False)]),
        ("a | b", 0, [(True, None), (True, True)]),
        ("a || true", 0, [(True, None), (None, None)]),
        ("set -e; a; b", 0, [(True, True), (True, True), (True, True)]),
        ("if a; then b; fi", 0, [(True, None), (None, None)]),
        ("a && b", None, [(True, None), (True, None)]),
    ],
)
def test_one_exit_status_says_so_much(
    line: str, code: int | None, known: list[tuple[bool | None, bool | None]]
) -> None:
    assert [(run.known.ran, run.known.passed) for run in runs_of(line, code)] == known


@pytest.mark.parametrize(
    ("line", "effects"),
    [
        ("echo hi > f", [("f", "create")]),
        ("x >> log 2>&1", [("log", "modify")]),
        ("ls > /dev/null 2>&1", []),
        ("sed -i 's/a/b/' a.py", [("a.py", "modify")]),
        ("sed -i '' s/a/b/ a.py", [("a.py", "modify")]),
        ("sed -n 1,3p a.py", [("a.py", "read")]),
        ("perl -pi -e s/a/b/ a.py", [("a.py", "modify")]),
        ("mv a b/", [("a", "delete"), ("b/a", "create")]),
        ("cp a b", [("a", "read"), ("b", "create")]),
        ("cat x | tee -a y", [("x", "read"), ("y", "modify")]),
        ("rm -rf build", [("build", "delete")]),
        ("git checkout -- a.py", [("a.py", "modify")]),
        ("git checkout main", []),
        ("git restore a.py", [("a.py", "modify")]),
        ("touch a b", [("a", "create"), ("b", "create")]),
    ],
)
def test_files_that_a_command_touches(line: str, effects: list[tuple[str, str]]) -> None:
    assert [(one.path, one.how) for run in runs_of(line, 0) for one in effects_of(run)] == effects


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ("p='a.py'\ns=open(p).read()\ns=s.replace('x','y')\nopen(p,'w').write(s)", [("a.py", "y")]),
        ("from pathlib import Path\nPath('b') .write_text('t')", [("b", "t")]),
        ("import json\njson.dump({}, open('c.json', mode='w'))", [("c.json", None)]),
        ("open('d' + '.txt', 'a').write(f'{1}')", [("d.txt", None)]),
        ("print(open('a.py').read())", []),
        ("import sys\nopen(sys.argv[1], 'w')", None),
        ("import shutil\nshutil.rmtree('x')", None),
        ("x ==", None),
    ],
)
def test_what_a_program_writes(source: str, written: list[tuple[str, str | None]] | None) -> None:
    found = written_by(source)
    assert (found if found is None else [tuple(one) for one in found]) == written


def test_sed_shows_what_it_puts_in() -> None:
    def added(line: str) -> list[str | None]:
        return [one.text for run in runs_of(line, 0) for one in effects_of(run) if one.how == "modify"]

    assert added("sed -i 's/a/b c/g' f") == ["b c"]
    assert added("sed -i '1i # top' f") == ["# top"]
    assert added("sed -i '/a/d' f") == [None]


def test_make_and_npm_are_followed_where_the_repository_is_there(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("check: lint\n\t@pytest -q\nlint:\n\truff check .\n")
    (tmp_path / "package.json").write_text('{"scripts": {"verify": "tsc && vitest run"}}')
    assert [run.words for run in runs_of("make check", 0, repo=tmp_path)][1:] == [
        ("ruff", "check", "."),
        ("pytest", "-q"),
    ]
    assert any(matches(run, ["vitest"]) for run in runs_of("npm run verify", 0, repo=tmp_path))
    assert len(list(runs_of("make check", 0))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "echo 'unclosed",
        "$(",
        "((",
        "a && ",
        "| |",
        "case x in",
        "if",
        "<<",
        "{ a",
        "\\",
        "a" * 300_000,
        "(" * 5000,
        "$(" * 2000,
    ],
)
def test_no_text_breaks_the_reader(line: str) -> None:
    list(runs_of(line, 0))
    parse(line)


def test_a_group_that_is_not_there_is_named() -> None:
    with pytest.raises(SpecError, match=r"no group of commands '@test'\. Did you mean 'tests'"):
        patterns_of("@test")
    assert all(patterns_of(f"@{name}") for name in groups())
