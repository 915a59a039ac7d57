"""Register a study: store the hash of its rule before any of the answers exist that it will be applied to.

Times of files prove nothing, so a study whose rule was not registered says that it is *not shown to be registered
before the answers were there*. `judge_hash` names the judge: a spec may pin it (`[verdict] judge`), and then another
version of the judge is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

import adhere
from adhere.errors import RunMismatch, SpecError
from adhere.pipeline.judge import verifier_version
from adhere.schema import Prompt, content_hash, encode, write_atomic
from adhere.study.design.frozen import spec_hash
from adhere.study.design.registered import FILE, VERSION, Registration, load_registration
from adhere.study.design.rules import judges_of
from adhere.study.design.sources import places
from adhere.study.design.spec import StudySpec

JUDGE_LENGTH = 16


def judge_hash(prompts: Iterable[Prompt]) -> str:
    """Return the versions of all verifiers that judge answers to `prompts`, as one short hash."""
    prompts = list(prompts)
    versions = set(judges_of([prompt for prompt in prompts if "rule" in prompt.tags])) | {
        f"{ref.id} {verifier_version(ref, profile=prompt.tags.get('profile'))}"
        for prompt in prompts
        if "rule" not in prompt.tags
        for turn in prompt.turns
        for ref in turn.constraints
    }
    return content_hash(sorted(versions))[:JUDGE_LENGTH]


def require_judge(spec: StudySpec, prompts: Iterable[Prompt]) -> None:
    """Refuse a judge other than the one that the spec pins.

    Raises:
        SpecError: The judge is another one.
    """
    judge = spec.verdict.judge
    if judge is msgspec.UNSET:
        return
    ours = judge_hash(prompts)
    if judge != ours:
        raise SpecError(
            f"verdict.judge = {judge!r}: the judge of adhere {adhere.__version__} for this suite is {ours!r}. Install "
            "the version that the spec was registered with, or leave `judge` out and say that the judge was changed"
        )


def register(spec: StudySpec, directory: Path, prompts: Iterable[Prompt]) -> Registration:
    """Store the hash of a rule before there is anything to apply it to.

    Raises:
        RunMismatch: Another rule is registered in `directory`.
        SpecError: Answers exist already: files that the spec names, or evaluations in the directory.
    """
    registration = load_registration(directory)
    if registration is not None:
        if registration.sha256 != spec_hash(spec):
            raise RunMismatch(
                f"{directory} has another rule, registered at {registration.at}. A changed rule is another study: give "
                "it another --out"
            )
        return registration
    files = [arm.at(seed) for arm, seed in places(spec) if arm.answers is not msgspec.UNSET]
    answer_files = [name for name in files if Path(name).expanduser().exists()]
    evaluation_files = sorted((directory / "evaluations").glob("*.json"))
    if answer_files or evaluation_files:
        noun = (
            f"{len(answer_files)} of {len(files)} files of answers ({answer_files[0]})"
            if answer_files
            else f"{len(evaluation_files)} evaluations"
        )
        raise SpecError(f"--register: {noun} are there already, so registering now would show nothing")
    registration = Registration(
        version=VERSION,
        sha256=spec_hash(spec),
        judge=judge_hash(prompts),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        adhere=adhere.__version__,
        sources=sum(1 for _ in places(spec)),
    )
    directory.mkdir(parents=True, exist_ok=True)
    write_atomic(directory / FILE, encode(registration))
    return registration
