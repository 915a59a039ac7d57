"""`world:repo`: a shell in memory, tasks that the state decides, rules that a solver keeps and a breaker breaks one by one."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from adhere import suites
from adhere.errors import UsageError
from adhere.models.fake.scripted import open_scripted
from adhere.pipeline.evaluate import evaluate_sync
from adhere.rules.examine import OWN_WORLD, examine, open_rules
from adhere.rules.repo.machine import Machine
from adhere.rules.repo.python import Incomputable, Program
from adhere.rules.repo.rules import MOST_RULES, draw_page, groups, library
from adhere.rules.repo.shell import run
from adhere.rules.repo.world import Repo, _acts
from adhere.schema import ToolCall
from adhere.worlds import open_world


def bash(command: str) -> ToolCall:
    return ToolCall("c", "bash", {"command": command})


def outcomes(repo: Repo) -> dict[str, str]:
    return {one.rule: one.outcome for one in repo.verdicts()}


def test_each_rule_is_kept_by_the_solver_and_broken_alone_by_its_breaker() -> None:
    repo, seen, kept = Repo(f"rules{MOST_RULES}"), set[str](), set[str]()
    for seed in range(40):
        repo.reset(seed)
        for one in [told for told in repo.page.told if told.rule.id not in seen]:
            seen.add(one.rule.id)
            repo.reset(seed)
            for action in _acts(repo.task, repo.page.told, frozenset([one.rule.id])):
                repo.step(action)
            judged = repo.verdict()
            assert judged.outcome == "pass", (one.rule.id, judged.reason)
            assert {each.rule for each in judged.broken} == {one.rule.id}, one.rule.id
            assert judged.broken[0].action > 0
            assert "undecided" not in outcomes(repo).values()
        repo.reset(seed)
        for action in repo.solver():
            step = repo.step(action)
        assert step.done
        kept |= {rule for rule, outcome in outcomes(repo).items() if outcome == "kept"}
        if seen == {one.rule.id for one in library()}:
            break
    assert seen == kept == {one.rule.id for one in library()}


@pytest.mark.parametrize("rate", [0.1, 0.4])
def test_planted_rates_come_back_within_their_intervals(rate: float, tmp_path: Path) -> None:
    for rules in (4, 16):
        suite = suites.load(f"world:repo:x25+rules{rules}")
        evaluate_sync(open_scripted(f"scripted/breaker:{rate}"), suite, tmp_path / f"{rules}")
    found_rules, held = open_rules(OWN_WORLD)
    found = examine(found_rules, [tmp_path / "4", tmp_path / "16"], versions=held)
    for one in (found.overall, found.of_solved, *(told.rate for told in found.by_told())):
        assert one is not None
        assert one.low is not None
        assert one.high is not None
        assert one.low <= 1 - rate <= one.high, one
    assert [(one.told, one.solved, one.known) for one in found.by_told()] == [(4, 25, 25), (16, 25, 25)]
    assert found.overall.undecided == 0
    assert found.overall.untriggered > 0, "rules of other episodes are in no rate"
    document = json.loads(found.encoded())
    assert len(document["rates"]["by_told"]) == 2
    assert document["conflicts"] == [], "alternatives of one group are never told together"


def test_doing_nothing_keeps_no_rule_and_solves_nothing() -> None:
    repo = Repo("rules16")
    for seed in range(8):
        repo.reset(seed)
        assert repo.step("Done.").done
        judged = repo.verdict()
        assert (judged.outcome, judged.progress) == ("fail", 0.0)
        assert {outcome for rule, outcome in outcomes(repo).items() if not rule.startswith("reply-")} <= {"untriggered"}


def test_what_is_done_and_not_committed_is_half_of_the_way() -> None:
    repo = Repo()
    repo.reset(3)
    for action in repo.solver():
        if isinstance(action, ToolCall) and "git commit" not in str(action.arguments):
            repo.step(action)
    judged = repo.verdict()
    assert (judged.outcome, judged.progress) == ("fail", 0.5)
    assert "not committed" in judged.reason
    repo.step(bash("git add -A && git commit -m x"))
    assert repo.verdict().outcome == "pass"


def test_a_page_has_so_many_rules_that_hold_and_says_which_line_replaces_another() -> None:
    for count in (1, 4, 16, 64):
        page = draw_page(random.Random(count), count)
        lines = page.text.splitlines()
        assert len(page.told) == count
        assert len({one.group for one in page.told}) == count
        assert sum(line.startswith("- ") for line in lines) == count + page.replaced + page.idle
        assert sum("replaces what is said above" in line for line in lines) == page.replaced
        for one in page.told:
            place = next(number for number, line in enumerate(lines) if line.startswith(f"- {one.rule.quote}"))
            others = {rule.rule.quote for rule in groups()[one.group]} - {one.rule.quote}
            assert not others & {line.removeprefix("- ") for line in lines[place:]}, "a later line holds"
    assert page.replaced > 1


@pytest.mark.parametrize(
    ("name", "world", "episodes"),
    [("world:repo:x3+rules16", "repo:rules16", 3), ("world:repo+rules4", "repo:rules4", 50), ("world:repo:rules64:x2", "repo:rules64", 2)],
)  # fmt: skip
def test_suites_are_named_by_episodes_and_rules(name: str, world: str, episodes: int) -> None:
    suite = suites.load(name)
    assert {one.tags["world"] for one in suite.prompts} == {world}
    assert len(suite.prompts) == episodes
    assert len(suite.prompts[0].constraints) == 1 + int(world.partition("rules")[2])
    assert suites.load(suite.name).prompts == suite.prompts
    for prompt in suite.prompts[:2]:
        assert prompt.text.count("AGENTS.md") == 1


def test_the_task_of_a_seed_does_not_depend_on_the_number_of_rules() -> None:
    few, many = Repo("rules4"), Repo("rules64")
    for seed in range(5):
        assert few.reset(seed).partition("\n")[0] == many.reset(seed).partition("\n")[0]


@pytest.mark.parametrize(
    "name", ["world:repo:rules0", "world:repo:rules73", "world:shop:rules4", "world:repo:x2+rule4"]
)
def test_other_numbers_of_rules_are_refused(name: str) -> None:
    with pytest.raises(UsageError):
        suites.load(name)


def test_the_rules_of_the_world_are_only_those_of_its_episodes(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    log.write_text(
        json.dumps({"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]}) + "\n"
    )
    rules, held = open_rules(OWN_WORLD)
    with pytest.raises(UsageError, match="this is none"):
        examine(rules, [log], versions=held)
    ran = evaluate_sync(open_scripted("scripted/breaker:0.5"), suites.load("world:shop:x1"), tmp_path / "run")
    assert "has no breaker" in str(next(iter(ran.responses())).error)
    with pytest.raises(UsageError, match="share from 0 to 1"):
        open_scripted("scripted/breaker:2")


# ------------------------------------------------------------------------------------------------------- the machine


@pytest.mark.parametrize(
    ("line", "said", "code"),
    [
        ("pwd; cd src && pwd", "/repo\n/repo/src\n", 0),
        ("echo one > a.txt && echo two >> a.txt && cat a.txt | wc -l", "2\n", 0),
        ("cat <<'EOF' > b.md\nhi\nEOF\ncat b.md", "hi\n", 0),
        ("false || echo second", "second\n", 0),
        ("false && echo never", "", 1),
        ("grep -rn def src | head -1", "src/shop/core.py:1:def two():\n", 0),
        ("grep -c def src/shop/core.py", "1\n", 0),
        ("sed -i 's/two/three/g' src/shop/core.py && cat src/shop/core.py | head -1", "def three():\n", 0),
        ("sed -n '2,2p' src/shop/core.py", "    return 2\n", 0),
        ("mv README.md docs.md && ls", "docs.md\nsrc\ntests\n", 0),
        ("cp README.md src && ls src", "README.md\nshop\n", 0),
        ("rm -rf src && ls", "README.md\ntests\n", 0),
        ("find . -name '*.py'", "src/shop/core.py\ntests/test_core.py\n", 0),
        ("pytest -q", "1 passed\n", 0),
        ("sed -i 's/2/3/' src/shop/core.py; python -m pytest", "FAILED tests/test_core.py::test_two - assert two() == 2\n1 failed, 0 passed\n", 1),
        ("git checkout -b x && git branch", "Switched to a new branch 'x'\n  main\n* x\n", 0),
        ("echo a > n && git status", "On branch main\n A n\n", 0),
        ("git commit -m x", "On branch main\nnothing added to commit (use git add)\n", 1),
        ("echo a > n && git add n && git commit -qm 'add n' && git log | wc -l && git status", "2\n", 0),
        ("rm README.md && git commit -am gone && git show", "deleted", 0),
        ("git checkout README.md && git diff", "", 0),
        ("cat /etc/passwd", "/etc/passwd: permission denied: only the repository is there\n", 1),
        ("cat ../x", "../x: permission denied: only the repository is there\n", 1),
        ("echo $HOME", "sh: $HOME: variables and substitutions are not known here\n", 2),
        ("for i in 1 2; do ls; done", "sh: only plain commands, joined by && || ; and |, are known here\n", 2),
        ("unknown-tool", "sh: unknown-tool: command not found\n", 127),
        ("grep -E '(a+)+b' README.md", "grep: this pattern is not known here\n", 2),
        ("echo 'open", "sh: a ' has no end", 2),
        ("git stash", "git: stash is not known here\n", 1),
    ],
)  # fmt: skip
def test_the_shell_does_what_a_shell_does_or_says_that_it_does_not(line: str, said: str, code: int) -> None:
    machine = Machine({
        "README.md": "# shop\n", "src/shop/core.py": "def two():\n    return 2\n",
        "tests/test_core.py": "from shop.core import two\n\n\ndef test_two():\n    assert two() == 2\n",
    })  # fmt: skip
    out, found = run(machine, line)
    assert found == code, out
    if "git add n" in line:
        assert out.endswith("2\nOn branch main\nnothing to commit, working tree clean\n")
    elif said == "deleted":
        assert "-# shop" in out
    else:
        assert out == said


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("return [x * 2 for x in values if x > 1]", [4, 6]),
        ("total = 0\n    for x in values:\n        total += x\n    return total", 6),
        ("return f'{len(values)} values' if values else 'none'", "3 values"),
        ("return helper(values[0]) + SIZE", 12),
    ],
)
def test_small_functions_are_computed(body: str, value: object) -> None:
    source = f"SIZE = 10\n\ndef helper(x):\n    return x + 1\n\ndef f(values):\n    {body}\n"
    assert Program({"m": source}).call("m", "f", [1, 2, 3]) == value


@pytest.mark.parametrize(
    "body",
    ["return f(x)", "return 9 ** 9 ** 9", "import os", "return open('x')", "return (x * 10 ** 400) * x", "while True:\n        pass",
     "return ().__class__", "return 'a' * 100000", "return 1 / 0", "return [y for y in x for z in y]"],
)  # fmt: skip
def test_what_is_unknown_or_endless_is_said(body: str) -> None:
    with pytest.raises(Incomputable):
        Program({"m": f"def f(x):\n    {body}\n"}).call("m", "f", 3)


def test_an_action_that_makes_no_sense_is_said_and_never_raised() -> None:
    repo = open_world("repo")
    repo.reset(1)
    for action in (
        ToolCall("1", "no such"), ToolCall("1", "bash", {}, "{"), ToolCall("1", "bash", {"command": 3}), bash(""), bash("\0"),
        bash("a" * 300_000), bash("git"), bash("git commit"), bash("cat"), bash("grep"), bash("sed"), bash("cp x"), bash("head -n"),
        bash("echo x > src"), bash("cd nowhere"), bash("find . -delete"), bash("grep '(' README.md"), bash("git switch"),
        ToolCall("1", "write_file", {"path": "../../x", "content": "x"}), ToolCall("1", "read_file", {"path": "src"}),
        ToolCall("1", "edit_file", {"path": "README.md", "old_string": "", "new_string": "x"}), bash("echo \ud800 > x && pytest x"),
    ):  # fmt: skip
        assert repo.step(action).observation
    assert repo.verdict().outcome == "fail"
