"""Read the facts for a report of Runs from their directories: spec, numbers, and some real answers that failed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from adhere.report.pieces.numbers import count, decimal, plural
from adhere.report.run.failures import DrawnFailures, draw_failures
from adhere.report.run.troubles import Troubles, troubles_of
from adhere.schema import EngineInfo, Sampling, encode
from adhere.store.manifest import Manifest, RunSpec
from adhere.store.run import Run
from adhere.store.sharded import ShardedRun
from adhere.store.summary import Accounting, SliceScore, Summary
from adhere.terminal import one_line

SLICE_NOTES = {
    "all": "every prompt of the suite",
    "in-family": "kinds of constraint that training data may use",
    "new-family": "kinds of constraint kept out of training data",
}


class RunFacts(NamedTuple):
    """Holds what a report shows of one Run. `failures` are those of the first of its `shards`."""

    directory: str
    manifest: Manifest
    summary: Summary
    failures: dict[str, DrawnFailures]
    troubles: Troubles
    shards: int = 1

    @property
    def spec(self) -> RunSpec:
        """The Run's spec."""
        return self.manifest.spec

    @property
    def slices(self) -> dict[str, SliceScore]:
        """`all`, then the suite's slices in their order."""
        return slices_of(self.summary)


class Group(NamedTuple):
    """Holds Runs on the same prompts, best first: only these can be ranked against each other."""

    suite: str
    runs: tuple[RunFacts, ...]
    labels: tuple[str, ...]
    warnings: tuple[str, ...]


def slices_of(summary: Summary) -> dict[str, SliceScore]:
    """Return `all`, then the suite's slices in their order."""
    return {"all": summary.overall, **summary.slices}


def suite_name(spec: RunSpec, n_prompts: int) -> str:
    """Name a suite as `core 1, 220 prompts`; one from a file by the file's name, for the page gives its path."""
    family, colon, path = spec.suite.partition(":")
    name = f"{family}{colon}{path.rpartition('/')[2]}"
    version = f" {spec.suite_version}" if spec.suite_version else ""
    return f"{name}{version}, {plural(n_prompts, 'prompt')}"


def run_facts(run: Run, *, failures_per_kind: int = 3) -> RunFacts:
    """Read what a report shows of a finished Run.

    Raises:
        UsageError: The Run has no summary: it is unfinished.
    """
    summary = run.summary()
    parts = len(run.shards) if isinstance(run, ShardedRun) else 1
    failures = draw_failures(next(run.parts()), lambda _, verdict: verdict.constraint_id, most=failures_per_kind)
    return RunFacts(str(run.directory), run.manifest, summary, failures, troubles_of(run), parts)


def groups(runs: Sequence[RunFacts]) -> list[Group]:
    """Group Runs by their prompts, each group ordered by its strict prompt rate; undefined rates come last."""
    keys = dict.fromkeys(_rank_group(run) for run in runs)
    return [_group([run for run in runs if _rank_group(run) == key]) for key in keys]


def _rank_group(run: RunFacts) -> tuple[str, str, bool]:
    """Return a key that is equal for Runs that can be ranked together: those on the same prompts.

    An oracle, which chose answers with the verifiers that score it, is ranked only with oracles.
    """
    return run.spec.suite, run.manifest.prompts_sha256, run.spec.is_oracle


def _group(runs: list[RunFacts]) -> Group:
    def rank(run: RunFacts) -> tuple[bool, float, str]:
        rate = run.summary.overall.prompt_strict.of_all
        return rate is None, -(rate or 0.0), run.spec.model

    by_rank = tuple(sorted(runs, key=rank))
    spec = by_rank[0].spec
    name = suite_name(spec, by_rank[0].manifest.n_prompts)
    return Group(f"{name} (oracles)" if spec.is_oracle else name, by_rank, _labels(by_rank), _warnings(by_rank))


def _labels(runs: Sequence[RunFacts]) -> tuple[str, ...]:
    """Return a label for each Run: the model's name, with as much more as tells the Runs apart."""
    forms = (
        lambda run: run.spec.model,
        lambda run: f"{run.spec.model} ({run.spec.engine.name} {run.spec.engine.precision})",
        lambda run: f"{run.spec.model} ({run.spec.engine.name} {run.spec.engine.precision}, {run.spec.id[-12:]})",
        lambda run: run.directory,
    )
    for form in forms:
        labels = tuple(form(run) for run in runs)
        if len(set(labels)) == len(labels):
            break
    return labels


def _warnings(runs: Sequence[RunFacts]) -> tuple[str, ...]:
    """Return the reasons against comparing the Runs of a group, or against believing a Run."""
    warnings = []
    if len({run.spec.sampling for run in runs}) > 1 or len({run.spec.draws for run in runs}) > 1:
        warnings.append("these Runs were sampled differently: a difference may come from that")
    if len({(run.spec.engine.name, run.spec.engine.precision) for run in runs}) > 1:
        warnings.append("these Runs come from different engines or precisions: a difference may come from that")
    if len({request_line(run.spec.engine) for run in runs}) > 1:
        warnings.append("these Runs sent other fields (--send, --omit): a difference may come from that")
    if len({(run.spec.mode, run.spec.random_in_reference) for run in runs}) > 1:
        warnings.append(
            "these Runs were judged differently (--mode, --random-in-reference): a difference may come from that"
        )
    elif len({tuple(sorted(run.summary.verifier_versions.items())) for run in runs}) > 1:
        warnings.append("these Runs were judged by different verifier versions: run adhere rescore on the older ones")
    warnings += notes_of_kinds(name for run in runs for name in run.summary.overall.kinds)
    for run in runs:
        accounting = run.summary.accounting
        lost_answers = accounting.error + accounting.missing
        if lost_answers:
            warnings.append(
                f"{run.spec.model}: {count(lost_answers)} of {plural(accounting.n, 'answer')} failed or are missing"
            )
        if run.summary.damage:
            warnings.append(f"{run.spec.model}: {plural(run.summary.damage, 'stored row')} could not be read")
    return tuple(warnings)


_KNOWN_DIFFERENCES = {
    "ja:": (
        "M-IFEval in Japanese: with its parsers, ja:keywords:existence of prompt 172 differs from the official "
        "verdicts (23 of 6,420; docs/reference/parity.md)"
    ),
    "es:": (
        "M-IFEval in Spanish: sentences need a parser that is on no index, so 6.6 % of the official answers' verdicts "
        "are undecided here (docs/reference/parity.md)"
    ),
}


def notes_of_kinds(kinds: Iterable[str]) -> list[str]:
    """Return the known differences from the published verdicts of these kinds, to be shown with their rate."""
    names = list(kinds)
    return [note for head, note in _KNOWN_DIFFERENCES.items() if any(name.startswith(head) for name in names)]


def accounting_line(accounting: Accounting) -> str:
    """Format an accounting: `n 220 = 212 ok + 8 truncated + 0 empty + 0 refused + 0 error + 0 missing`."""
    parts = ("ok", "truncated", "empty", "refused", "error", "missing")
    return f"n {count(accounting.n)} = " + " + ".join(f"{count(getattr(accounting, part))} {part}" for part in parts)


def batch_note(engine: EngineInfo) -> str:
    """Return the end of a line on whether an engine's answers depend on their batch; empty if it does not say."""
    setting = engine.settings.get("batch_invariant")
    return "" if setting is None else f"; batch_invariant: {setting}"


def request_line(engine: EngineInfo) -> str:
    """Return the fields added to and left out of every request, as `top_k=20; without seed`; empty without any."""
    send, omit = engine.settings.get("send"), engine.settings.get("omit")
    additions = [f"{name}={encode(value).decode()}" for name, value in send.items()] if isinstance(send, dict) else []
    omissions = f"without {', '.join(map(str, omit))}" if isinstance(omit, list) and omit else ""
    return one_line("; ".join(part for part in (", ".join(additions), omissions) if part))


def sampling_line(sampling: Sampling, draws: int) -> str:
    """Format a sampling: `greedy, at most 64 tokens, 1 draw, seed 0`."""
    how = (
        "greedy"
        if sampling.temperature == 0
        else f"temperature {decimal(sampling.temperature, digits=2)}, top-p {decimal(sampling.top_p, digits=2)}"
    )
    return f"{how}, at most {plural(sampling.max_new_tokens, 'token')}, {plural(draws, 'draw')}, seed {sampling.seed}"
