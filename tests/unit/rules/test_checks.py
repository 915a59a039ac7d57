"""Each kind of check: kept, broken, untriggered, undecided, on sessions that differ in one thing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.rules.stories import Step, edit, read, run, say, session, user, write

from adhere.errors import SpecError
from adhere.rules.checks.judge import judge_rule
from adhere.rules.checks.spec import parse_rules, rules_toml
from adhere.rules.session.acts import acts_of

Case = tuple[str, list[Step], str]
TESTS = 'kind = "before"\nfirst = { command = ["@tests"], status = "passes" }\nthen = { command = ["git commit"] }\nsince = { edits = ["**"] }'
NO_LOCK = 'kind = "never"\nevent = { edits = ["*.lock"] }'
NO_PUSH = 'kind = "never"\nevent = { command = ["git push"] }'
LINT_LAST = 'kind = "after"\nevent = { edits = ["src/**"] }\nthen = { command = ["ruff check"] }'
UV = 'kind = "instead"\nuse = { command = ["uv"] }\navoid = { command = ["pip"] }'
ASK = 'kind = "asks_before"\nevent = { command = ["git push"] }\ngranted = ["push"]'
LOG = 'kind = "does"\nevent = { edits = ["CHANGELOG.md"] }\nwhen = { edits = ["src/**"] }'
SHORT = 'kind = "text"\nof = "replies"\nconstraint = { id = "length:at_most", params = { limit = 5 } }'
COMMITS = 'kind = "text"\nof = "commits"\nshape = "conventional"\nfirst_line = true'
EMOJI = 'kind = "text"\nof = "replies"\nno = ["emoji"]'
NO_PRINT = 'kind = "text"\nof = "files"\npaths = ["**/*.py"]\nwithout = ["print("]'
LINES = 'kind = "text"\nof = "files"\nmost_lines = 2\nat = "final"'
BRANCH = 'kind = "text"\nof = "branches"\nbegins = ["feat/", "fix/"]'
MAIN = 'kind = "never"\nevent = { command = ["git commit"], on = ["main", "master"] }'
READ = 'kind = "before"\nfirst = { reads = ["docs/arch.md"] }\nthen = { edits = ["src/**"] }'
BETWEEN = 'kind = "between"\nbegin = { command = ["git commit"] }\nend = { command = ["git push"] }\nevent = { command = ["@tests"] }'
FEW = 'kind = "at_most"\nevent = { edits = ["**"] }\nlimit = 1'
TOOL = 'kind = "never"\nevent = { tool = ["Write"], arguments = { file_path = "*secret*" } }'
FINAL = 'kind = "never"\nevent = { edits = ["scratch/**"] }\nat = "final"'
PULL = 'kind = "text"\nof = "pull_requests"\nwithout = ["# Summary"]'
DRAFT = 'kind = "never"\nevent = { command = ["gh pr create !--draft"] }\nwhen = { command = ["gh pr create"] }'
WHOLE = 'kind = "before"\nfirst = { command = ["@tests"], whole = true }\nthen = { command = ["git commit"] }'
UNTIL = 'kind = "never"\nevent = { command = ["git push"] }\nconditional = true'
EVAL = 'kind = "text"\nof = "files"\nwithout = ["eval("]\nuse = ["literal_eval("]\nwords = true'
TYPED = 'kind = "text"\nof = "files"\nno = ["untyped"]\nuse = ["def "]'
TABS = 'kind = "text"\nof = "files"\nno = ["tabs"]'
FORMAT = 'kind = "after"\nevent = { edits = ["**"] }\nthen = { command = ["gofmt"] }'
A = edit("src/a.py", "x", "y")

KEY = "sk-" + "a1B2" * 6  # in the shape of one

CASES: list[Case] = [
    (TESTS, [A, run("pytest"), run("git commit -m x")], "kept"),
    (TESTS, [A, run("pytest && git commit -m x")], "kept"),
    (TESTS, [A, run("pytest > out.txt"), run("git commit -m x")], "kept"),
    (TESTS, [A, run("pytest", "1 failed", status=1), run("git commit -m x")], "broken"),
    (TESTS, [run("pytest"), A, run("git commit -m x")], "broken"),
    (TESTS, [run("echo pytest"), run("git commit -m x")], "broken"),
    (TESTS, [run("pytest || true"), run("git commit -m x")], "undecided"),
    (TESTS, [run("pytest | tail -1", "4 passed"), run("git commit -m x")], "kept"),
    (TESTS, [A, run("pytest")], "untriggered"),
    (TESTS, [run("git commit -m x", state="rejected")], "untriggered"),
    (NO_LOCK, [A], "kept"),
    (NO_LOCK, [edit("uv.lock", "a", "b")], "broken"),
    (NO_LOCK, [run("sed -i s/a/b/ uv.lock")], "broken"),
    (NO_LOCK, [run("cd sub && rm -f x.lock")], "broken"),
    (NO_LOCK, [run("echo x > $F.lock"), A], "undecided"),
    (NO_LOCK, [run("grep -n x uv.lock")], "untriggered"),
    (NO_LOCK, [run("python - <<'E'\nopen('uv.lock', 'w')\nE")], "broken"),
    (NO_LOCK, [run("python - <<'E'\nopen('uv.lock')\nE")], "untriggered"),
    (NO_LOCK, [run("python - <<'E'\nname = input()\nopen(f'{name}.lock', 'w')\nE")], "undecided"),
    (NO_LOCK, [run("python tool.py"), A], "kept"),
    (NO_PUSH, [run("ls")], "kept"),
    (NO_PUSH, [run("git push")], "broken"),
    (NO_PUSH, [run("git push", state="rejected"), run("ls")], "kept"),
    (NO_PUSH, [run("false && git push", status=1)], "undecided"),
    (NO_PUSH, [say("hello")], "untriggered"),
    (LINT_LAST, [A, run("ruff check .")], "kept"),
    (LINT_LAST, [run("ruff check ."), A], "broken"),
    (LINT_LAST, [edit("README.md", "a", "b")], "untriggered"),
    (UV, [run("uv add x")], "kept"),
    (UV, [run("python -m pip install x")], "broken"),
    (UV, [run("ls")], "untriggered"),
    (ASK, [run("git push")], "broken"),
    (ASK, [say("May I push?"), user("yes"), run("git push")], "kept"),
    (ASK, [user("please push it"), run("git push")], "kept"),
    (ASK, [say("May I push?"), run("git push")], "broken"),
    (ASK, [user("Fix it, but do not push."), run("git push")], "broken"),
    (LOG, [A], "broken"),
    (LOG, [A, edit("CHANGELOG.md", "a", "b")], "kept"),
    (LOG, [edit("docs/x.md", "a", "b")], "untriggered"),
    (SHORT, [say("All done now.")], "kept"),
    (SHORT, [say("This is a much longer reply.")], "broken"),
    (SHORT, [run("ls")], "untriggered"),
    (COMMITS, [run("git commit -m 'fix(a): b' -m 'body text'")], "kept"),
    (COMMITS, [run("git commit -am 'Fixed things'")], "broken"),
    (COMMITS, [run("git commit -m \"$(cat <<'EOF'\nfeat: it's new\n\nMore.\nEOF\n)\"")], "kept"),
    (COMMITS, [run('git commit -m "$MSG"')], "undecided"),
    (COMMITS, [run("git commit -m bad", status=1)], "untriggered"),
    (EMOJI, [say("Done ✅")], "broken"),
    (EMOJI, [say("Done ✓ → © 3")], "kept"),
    (EMOJI, [say("Done → 3 files")], "kept"),
    (NO_PRINT, [write("a.py", "print(1)\n")], "broken"),
    (NO_PRINT, [edit("a.py", "print(1)", "log(1)")], "kept"),
    (NO_PRINT, [edit("a.js", "a", "print(1)")], "untriggered"),
    (NO_PRINT, [run("echo 'print(1)' > a.py")], "broken"),
    (NO_PRINT, [run("sed -i s/a/b/ a.py")], "kept"),
    (NO_PRINT, [run("sed -i 's/a/print(1)/' a.py")], "broken"),
    (NO_PRINT, [run("sed -i -f changes.sed a.py")], "undecided"),
    (LINES, [write("a.py", "1\n2\n3\n"), edit("a.py", "3\n", "")], "kept"),
    (LINES, [write("a.py", "1\n2\n3\n")], "broken"),
    (LINES, [edit("a.py", "x", "y")], "undecided"),
    (BRANCH, [run("git checkout -b fix/sum")], "kept"),
    (BRANCH, [run("git switch -c my-branch")], "broken"),
    (MAIN, [run("git commit -m x")], "kept"),
    (MAIN, [run("git checkout main"), run("git commit -m x")], "broken"),
    (READ, [read("docs/arch.md", "text"), A], "kept"),
    (READ, [A, read("docs/arch.md", "text")], "broken"),
    (BETWEEN, [run("git commit -m x"), run("pytest"), run("git push")], "kept"),
    (BETWEEN, [run("git commit -m x"), run("git push")], "broken"),
    (BETWEEN, [run("git commit -m x")], "untriggered"),
    (FEW, [A, A], "kept"),
    (FEW, [A, edit("src/b.py", "x", "y")], "broken"),
    (TOOL, [write("secret.txt", "x")], "broken"),
    (TOOL, [write("open.txt", "x")], "kept"),
    (FINAL, [write("scratch/a.txt", "x"), run("rm scratch/a.txt")], "kept"),
    (FINAL, [write("scratch/a.txt", "x")], "broken"),
    (PULL, [run("gh pr create --title x --body 'It works.'")], "kept"),
    (PULL, [run("gh pr create --title x --body-file - <<'E'\n# Summary\nE")], "broken"),
    (PULL, [write("body.md", "# Summary\n"), run("gh pr create -t x -F body.md")], "broken"),
    (PULL, [run("gh pr create --fill")], "undecided"),
    (DRAFT, [run("gh pr create --draft --title x")], "kept"),
    (DRAFT, [run("gh pr create --title x")], "broken"),
    (DRAFT, [A], "untriggered"),
    (WHOLE, [run("pytest -q"), run("git commit -m x")], "kept"),
    (WHOLE, [run("pytest -k sum"), run("git commit -m x")], "broken"),
    (WHOLE, [run("pytest lib"), run("git commit -m x")], "undecided"),
    (UNTIL, [run("ls")], "kept"),
    (UNTIL, [run("git push")], "undecided"),
    (EVAL, [write("a.py", "literal_eval(x)\n")], "kept"),
    (EVAL, [write("a.py", "eval(x)\n")], "broken"),
    (EVAL, [write("a.py", "x = 1\n")], "untriggered"),
    (TYPED, [write("a.py", "def f(self, x: int) -> int:\n    return x\n")], "kept"),
    (TYPED, [write("a.py", "def f(x):\n    return x\n")], "broken"),
    (TABS, [write("a.py", "if x:\n    y = 1\n")], "kept"),
    (TABS, [write("a.py", "if x:\n\ty = 1\n")], "broken"),
    (FORMAT, [A, run("gofmt -w a.go")], "kept"),
    (FORMAT, [A, run("gofmt -w a.go b.go", "one file at a time", status=1)], "undecided"),
    (COMMITS, [run("git add x && git commit -m 'fix: y'", "no", status=1)], "untriggered"),
    (COMMITS, [run("git add x && git commit -m 'Y'", "no", status=1)], "undecided"),
]  # fmt: skip


# Codex has another name for the tool, and its log of a command alone is the same.
BY_FORMAT = [
    (*case, name)
    for case in CASES
    for name in ("claude.jsonl", "codex.jsonl")
    if name == "claude.jsonl" or case[0] not in {TOOL, SHORT}
]


@pytest.mark.parametrize(("check", "steps", "outcome", "name"), BY_FORMAT)
def test_verdicts(check: str, steps: list[Step], outcome: str, name: str, tmp_path: Path) -> None:
    rule = parse_rules(f'[[rules]]\nid = "r"\nquote = "q"\n[rules.check]\n{check}\n', "r.toml")[0]
    one = session(tmp_path, [user("Go"), *steps], name)
    verdict = judge_rule(rule, one, acts_of(one))
    assert verdict is not None
    assert verdict.outcome == outcome, verdict.reason
    assert verdict.evidence or outcome == "untriggered"


def test_nothing_is_kept_beside_a_line_that_cannot_be_read(tmp_path: Path) -> None:
    rule = parse_rules(f'[[rules]]\nid = "r"\nquote = "q"\n[rules.check]\n{NO_PUSH}\n', "r.toml")[0]
    one = session(tmp_path, [user("Go"), run("ls")])
    one.gaps = [(3, "no JSON")]
    verdict = judge_rule(rule, one, acts_of(one))
    assert verdict is not None
    assert (verdict.outcome, "line 3" in verdict.reason) == ("undecided", True)


def test_a_rule_of_some_files_is_about_these(tmp_path: Path) -> None:
    rule = parse_rules(
        f'[[rules]]\nid = "r"\nquote = "q"\nscope = ["web/**"]\n[rules.check]\n{LINT_LAST}\n'.replace("src/**", "**"),
        "r.toml",
    )[0]
    for path, outcome in (("src/a.py", "untriggered"), ("web/a.py", "broken")):
        one = session(tmp_path, [user("Go"), edit(path, "x", "y")])
        verdict = judge_rule(rule, one, acts_of(one))
        assert verdict is not None
        assert verdict.outcome == outcome


def test_secrets_are_hidden_in_evidence(tmp_path: Path) -> None:
    rule = parse_rules(
        '[[rules]]\nid = "r"\nquote = "q"\n[rules.check]\nkind = "never"\nevent = { command = ["curl"] }\n', "r.toml"
    )[0]
    line = (
        "API_KEY=abcd1234efgh curl -H 'Authorization: Bearer abcdefgh12345678' https://me:hunter22@x.org/?token=zzzz9999 "
        + KEY
    )
    one = session(tmp_path, [user("Go"), run(line)])
    verdict = judge_rule(rule, one, acts_of(one))
    assert verdict is not None
    said = verdict.reason + "".join(row.quote for row in verdict.evidence)
    assert "[hidden]" in said
    for secret in ("abcd1234efgh", "abcdefgh12345678", "hunter22", "zzzz9999", KEY):
        assert secret not in said


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ('kind = "nevr"', "kind"),
        ('kind = "never"\nevent = { comand = ["x"] }', "Did you mean 'command'"),
        ('kind = "never"\nevent = { command = ["x"], edits = ["y"] }', "exactly one of"),
        ('kind = "text"\nof = "replies"', "sets none of"),
        ('kind = "text"\nof = "replies"\nconstraint = { id = "length:at_mst" }', "Did you mean 'length:at_most'"),
        ('kind = "text"\nof = "replies"\nshape = "camel"', "no such shape"),
    ],
)
def test_a_wrong_check_is_refused_by_name(check: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        parse_rules(f'[[rules]]\nid = "r"\nquote = "q"\n[rules.check]\n{check}\n', "r.toml")


def test_toml_comes_back_as_it_was() -> None:
    text = "\n".join(
        f'[[rules]]\nid = "r{number}"\nquote = "say \\"x\\" \\\\ é"\n[rules.check]\n{check}\n'
        for number, check in enumerate(dict.fromkeys(case[0] for case in CASES))
    )
    rules = parse_rules(text, "r.toml")
    assert parse_rules(rules_toml(rules), "again.toml") == rules
