"""A Run in shards gives the numbers that it gives in one piece, by every command that reads it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from tests.unit.pipeline.big_run import write_big

from adhere import suites
from adhere.cli import adhere
from adhere.errors import RunMismatch, UsageError
from adhere.models.catalog import open_model
from adhere.models.fake.scripted import ScriptedModel
from adhere.pipeline import evaluate as evaluating
from adhere.pipeline.compare import compare_runs
from adhere.pipeline.evaluate import evaluate_sync, rescore
from adhere.report.pages import stored_in
from adhere.schema import Usage, Verdict
from adhere.serve.watch import watch
from adhere.store import sharded
from adhere.store.run import Run
from adhere.store.seals.examine import examine
from adhere.store.sharded import ShardedRun, load_run
from adhere.store.shelf import kind_of, shelf
from adhere.store.summary import Summary
from adhere.store.tables.compact import compact
from adhere.store.tables.grouped import from_segments, group_counts
from adhere.verify.traps import answers_of_run, score_traps
from command_line import run_here

DRAWS = 3


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of 60 answers, from 100 answers on."""
    monkeypatch.setattr(evaluating, "MOST_KEYS", 100)
    monkeypatch.setitem(ShardedRun.start.__func__.__kwdefaults__, "shard_answers", 60)


def measured(directory: Path, name: str = "scripted/fixed:7", **more: object) -> Run:
    suite = suites.load("core", limit=70)
    return evaluate_sync(open_model(name), suite, directory, draws=DRAWS, **more)


def bare(summary: Summary) -> Summary:
    return msgspec.structs.replace(summary, sums=msgspec.UNSET)


def close(a: object, b: object) -> bool:
    """Equal, but for the last digits of sums in another order."""
    if isinstance(a, float) and isinstance(b, float):
        return a == pytest.approx(b, rel=1e-12)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[name], b[name]) for name in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(close, a, b))
    return a == b


@pytest.fixture
def both(tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch) -> tuple[Run, ShardedRun]:
    in_shards = measured(tmp_path / "shards")
    monkeypatch.setattr(evaluating, "MOST_KEYS", 10_000)
    whole = measured(tmp_path / "one")
    assert isinstance(in_shards, ShardedRun)
    assert not isinstance(whole, ShardedRun)
    assert len(in_shards.shards) == 4
    return whole, in_shards


def test_the_numbers_are_those_of_one_run(both: tuple[Run, ShardedRun]) -> None:
    whole, in_shards = both
    assert close(msgspec.to_builtins(bare(in_shards.summary())), msgspec.to_builtins(whole.summary()))
    assert in_shards.manifest.prompts_sha256 == whole.manifest.prompts_sha256
    assert (in_shards.n_asked, in_shards.state, in_shards.spec) == (whole.n_asked, "complete", whole.spec)
    assert [one.key for one in in_shards.responses()] == [one.key for one in whole.responses()]
    assert in_shards.prompts() == whole.prompts()
    assert not in_shards.missing()
    names = Verdict.__struct_fields__
    rows = [[[getattr(one, name) for name in names] for one in run.verdicts()] for run in both]
    assert rows[0] == rows[1]


def test_compare_reads_shards(both: tuple[Run, ShardedRun], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, in_shards = both
    monkeypatch.setattr(evaluating, "MOST_KEYS", 100)
    other = measured(tmp_path / "other", "scripted/echo")
    assert isinstance(other, ShardedRun)
    expected, found = compare_runs(whole, other), compare_runs(in_shards, other)
    assert expected == found
    assert found.answers == 70 * DRAWS
    same = compare_runs(in_shards, whole)
    assert (same.overall.difference, same.same_answers) == (0.0, 70 * DRAWS)


def test_compact_and_groups_read_shards(both: tuple[Run, ShardedRun], tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    whole, in_shards = both
    expected = from_segments(whole.directory)
    for use_summaries in (True, False):
        found = from_segments(in_shards.directory, use_summaries=use_summaries)
        assert [msgspec.structs.replace(one, run="one") for one in found] == expected
    made = compact(in_shards.directory)
    assert (made.responses, len(made.cells), made.cells[0].asked) == (70 * DRAWS, 1, 70 * DRAWS)
    of_parquet = group_counts(in_shards.directory)
    assert (of_parquet.source, of_parquet.groups) == ("parquet", found)
    compact(tmp_path)  # the directory above holds both
    assert [one.run for one in group_counts(tmp_path).groups] == ["one", "shards"]
    assert group_counts(tmp_path).source == "parquet"
    (in_shards.shards[1] / "responses/9.jsonl").write_text("")
    assert group_counts(tmp_path).source == group_counts(in_shards.directory).source == "segments"


def test_traps_are_counted_a_shard_at_a_time(
    both: tuple[Run, ShardedRun], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, in_shards = both
    [expected, found] = [score_traps("", answers_of_run(run)) for run in both]
    assert found == expected
    assert found.answers == 70 * DRAWS
    printed = CliRunner().invoke(adhere, ["traps", str(in_shards.directory), "--json"])
    assert json.loads(printed.output)["answers"] == 70 * DRAWS, printed.output
    for name in ("prompts", "responses", "verdicts"):
        monkeypatch.setattr(ShardedRun, name, lambda self: pytest.fail("a page read all answers of a sharded Run"))
    page = stored_in([in_shards.directory]).html()
    assert page.count(", in the first of 4 shards") == 1
    assert ", in the first of" not in stored_in([whole.directory]).html()


def test_a_cap_counts_what_every_shard_has_cost_before_any_is_asked(
    tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Priced(ScriptedModel):
        spent_usd = 0.0
        seen: list[float] = []

        async def respond(self, requests, sampling):
            self.seen.append(self.spent_usd)
            async for one in super().respond(requests, sampling):
                yield msgspec.structs.replace(one, usage=Usage(cost_usd=1.0))

    suite, first = suites.load("core", limit=70), Priced(lambda _: "seven", name="scripted/priced")
    run = evaluate_sync(first, suite, tmp_path / "run", draws=DRAWS)
    assert isinstance(run, ShardedRun)
    assert first.seen == [0.0] * 4, "nothing was there before"
    for file in (run.shards[0] / "responses").iterdir():
        file.unlink()
    (run.shards[0] / "summary.json").unlink()
    again = Priced(lambda _: "seven", name="scripted/priced")
    again.seen = []
    evaluate_sync(again, suite, tmp_path / "run", draws=DRAWS)
    assert again.seen == [150.0], "three shards of four were paid for when the first is asked again"


def test_report_reads_shards(both: tuple[Run, ShardedRun]) -> None:
    whole, in_shards = both
    assert kind_of(in_shards.directory) == "run"
    assert [item.name for item in shelf(in_shards.directory.parent)] == ["one", "shards"]
    texts = [stored_in([run.directory]).text(120).splitlines() for run in both]
    assert texts[0][3:] == texts[1][3:], "all but where it is stored"
    page = stored_in([in_shards.directory]).html()
    assert "first of 4 shards" in page
    assert "first of" not in stored_in([whole.directory]).html()
    assert {checked.state for checked in examine(in_shards.directory).values()} == {"whole"}
    assert len(examine(in_shards.directory)) == 4


def test_the_viewer_watches_shards(both: tuple[Run, ShardedRun]) -> None:
    _, in_shards = both
    (item,) = shelf(in_shards.directory)
    state = watch(item).state()
    assert (state.state, state.done, state.total, state.failed) == ("complete", 70 * DRAWS, 70 * DRAWS, 0)
    (in_shards.directory / "summary.json").unlink()
    assert watch(item).state().done == 70 * DRAWS


def test_going_on_asks_nothing_twice(both: tuple[Run, ShardedRun], small: None, tmp_path: Path) -> None:
    _, in_shards = both
    sizes = {path: path.stat().st_size for path in in_shards.directory.rglob("*.jsonl")}
    again = measured(in_shards.directory)
    assert {path: path.stat().st_size for path in in_shards.directory.rglob("*.jsonl")} == sizes
    assert again.summary() == in_shards.summary()
    shard = Run.load(in_shards.shards[2])
    lost = shard.responses()[5]
    with shard:
        shard.append_response(msgspec.structs.replace(lost, text="another answer"))
    assert not in_shards.is_sealed
    assert not (in_shards.directory / "summary.json").exists(), (
        "a summary never stands beside rows that it does not count"
    )
    with pytest.raises(UsageError, match="unfinished"):
        stored_in([in_shards.directory]).text(100)
    summary = rescore(in_shards.directory)
    assert in_shards.is_sealed
    assert summary == in_shards.summary()
    with pytest.raises(RunMismatch, match="draws"):
        ShardedRun.start(in_shards.directory, msgspec.structs.replace(in_shards.spec, draws=2), in_shards.prompts())
    with pytest.raises(RunMismatch, match="prompts: stored 70"):
        ShardedRun.start(in_shards.directory, in_shards.spec, in_shards.prompts()[1:])
    with pytest.raises(TypeError, match="shard by shard"):
        in_shards.append_response(lost)


def test_groups_of_prompts_are_not_cut() -> None:
    prompts = suites.load("core", limit=10).prompts
    tagged = [msgspec.structs.replace(one, tags={**one.tags, "group": str(n // 4)}) for n, one in enumerate(prompts)]
    assert [len(cut) for cut in sharded.cuts(prompts, 3)] == [3, 3, 3, 1]
    assert [len(cut) for cut in sharded.cuts(tagged, 3)] == [4, 4, 2]


def test_draw_makes_a_sharded_run_with_verdicts(tmp_path: Path) -> None:
    rows = [
        {"key": f"p{n}", "prompt": f"Say {n}.", "instruction_id_list": ["length:at_least"], "kwargs": [{"least": 2}]}
        for n in range(30)
    ]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ["draw", str(tmp_path / "p.jsonl"), "--model", "scripted/echo", "--out", str(tmp_path / "out")]
    found = CliRunner().invoke(adhere, [*arguments, "--draws", "2", "--shard-answers", "20", "--json"])
    assert found.exit_code == 0, found.output
    run = load_run(tmp_path / "out")
    assert isinstance(run, ShardedRun)
    assert (len(run.shards), run.summary().accounting.ok) == (3, 60)
    assert run.summary().overall.prompt_strict.passed == 60
    said = CliRunner().invoke(adhere, ["report", str(tmp_path / "out")])
    assert "60/60" in said.output
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text(json.dumps({**rows[0], "instruction_id_list": ["length:no_such"]}) + "\n")
    refused = CliRunner().invoke(adhere, ["draw", str(wrong), *arguments[2:4], "--out", str(tmp_path / "wrong")])
    assert "wrong.jsonl:1" in str(refused.exception)
    assert not list((tmp_path / "wrong").glob("shards/*")), "before anybody is asked"
    (listed,) = json.loads(CliRunner().invoke(adhere, ["list", "runs", "--dir", str(tmp_path), "--json"]).output)
    assert (listed["run"], listed["asked"], listed["missing"], listed["state"]) == (
        str(tmp_path / "out"),
        60,
        0,
        "complete",
    )
    for name in ("report", "rescore", "compact"):
        done = CliRunner().invoke(adhere, [name, str(tmp_path / "out")])
        assert done.exit_code == 0, (name, done.output, done.exception)


LAUNCHER = """
import resource, subprocess, sys
done = subprocess.run([sys.executable, "-m", "adhere", *sys.argv[1:]], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6, file=sys.stderr)
"""


def used(*command: str) -> tuple[str, float, float]:
    """What a command printed, its seconds of processor time, and its peak of memory in GB.

    A fork counts its parent's, so a small one starts it.
    """
    done = subprocess.run([sys.executable, "-c", LAUNCHER, *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seconds, peak = done.stderr.splitlines()[-1].split()
    return done.stdout, float(seconds), float(peak)


def here(*command: str) -> tuple[str, float, float]:
    """The same without measuring, in this process."""
    done = run_here(*command)
    assert done.returncode == 0, done.stderr
    return done.stdout, 0.0, 0.0


def read_as_one(
    directory: Path, verdicts: int, shards: int, commands: Sequence[str], *, run: Callable[..., Any] = used
) -> dict[str, tuple[str, float, float]]:
    """Commands on a sharded Run of so many verdicts; what each printed and took. Their numbers must agree."""
    pytest.importorskip("duckdb")
    answers = verdicts // 4
    a, b = directory / "a", directory / "b"
    write_big(a, shards=shards, prompts=answers // 4 // shards)
    if "compare" in commands:
        write_big(b, shards=shards, prompts=answers // 4 // shards, seed=1)
    arguments = {
        "rescore": ["rescore", str(a), "--json"],
        "report": ["report", str(a), "--html", str(directory / "page.html")],
        "compare": ["compare", str(a), str(b), "--json"],
        "compact": ["compact", str(a), "--json"],
        "groups": ["compact", str(a), "--groups", "--json"],
    }
    found = {}
    for name in commands:
        found[name] = run(*arguments[name])
        sys.stdout.write(f"{name}: {found[name][1]:.1f} s of processor time, {found[name][2]:.2f} GB\n")
    summary = json.loads(found["rescore"][0])
    assert summary["overall"]["accounting"]["ok"] == answers
    assert sum(kind["checked"] for kind in summary["overall"]["kinds"].values()) == verdicts // 2
    assert "shards" in (directory / "page.html").read_text()
    if "compare" in commands:
        compared = json.loads(found["compare"][0])[0]
        assert (compared["overall"]["n"], compared["answers"]) == (answers // 4, answers)
        assert abs(compared["overall"]["difference"]) < 0.1
    if "groups" in commands:
        groups = json.loads(found["groups"][0])
        (group,) = groups["groups"]
        strict = summary["overall"]["prompt_strict"]
        assert groups["source"] == "parquet"
        assert group["prompt_strict"] == {"passed": strict["passed"], "n": strict["n"]}
        assert (group["ok"], group["missing"]) == (answers, 0)
        assert json.loads(found["compact"][0])["verdicts"] == verdicts
    return found


EVERY = ("rescore", "report", "compare", "compact", "groups")


def test_commands_read_a_sharded_run_as_one(tmp_path: Path) -> None:
    read_as_one(tmp_path, 4_000, 5, EVERY, run=here)
    copied = ShardedRun.load(tmp_path / "a").summary()
    for shard in (tmp_path / "a/shards").iterdir():
        (shard / "summary.json").unlink()
    assert rescore(tmp_path / "a") == copied, "the sums were those of the rows"


@pytest.mark.slow
def test_a_million_verdicts_by_every_command(tmp_path: Path) -> None:
    found = read_as_one(tmp_path, 1_000_000, 5, EVERY)
    assert all(peak < 2 for _, _, peak in found.values())


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_ten_million_verdicts(tmp_path: Path) -> None:
    """2.5 million answers in 50 shards: adding up and showing them takes less than a minute and 2 GB."""
    found = read_as_one(tmp_path, 10_000_000, 50, ("rescore", "report"))
    for name, (_, seconds, peak) in found.items():
        assert seconds < 60, name
        assert peak < 2, name
