"""Join other harnesses' measurements of a study's checkpoints to arms and seeds, test them, and store the tests.

DIR/sides.json   the tests, and what they were made for: arms, seeds, cells, margins

A study's checkpoints lie in DIR/cells/FOLDER/model, and FOLDER names stages, seed and key. A harness that was given
that directory uses it as the model's name, so a model whose name has FOLDER in it is that cell's. The untrained arm is
recognised by the end of the start model's name. `--called 'ARM (seed N)=NAME'` helps where a harness's name says
nothing. Nothing is guessed: a name that fits twice, or not at all, is refused.

Nothing here trains or evaluates: sides are joined to a stored result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from adhere.errors import IntegrityError, UsageError
from adhere.schema import content_hash, convert, decode, encode, write_atomic
from adhere.store.files import read_regular, sha256_of
from adhere.study.design.frozen import FrozenStudy, field_words, freeze, load_frozen, spec_hash
from adhere.study.design.spec import GuardSpec, StudySpec
from adhere.study.outcome.result import SpecChange, StudyResult, StudySides
from adhere.study.run.cells import CellRecord
from adhere.verify.sides import SideFiles, SideOptions, WantedModel, is_alike, name_parts

VERSION = 1
FILE = "sides.json"


def add_sides(spec: StudySpec, directory: Path, paths: Sequence[Path], options: SideOptions) -> StudyResult:
    """Join files to the stored result of a study, store both, and return the new result.

    Raises:
        UsageError: `directory` holds no result, the spec differs from the stored one in more than the margins of sides,
            or `join_sides` raises it.
        IntegrityError: The stored result is damaged.
    """
    file, frozen_study = directory / "result.json", load_frozen(directory)
    if frozen_study is None or not file.exists():
        raise UsageError(
            f"{directory} holds no result of a study to join files to. Run it first: the same command without --side"
        )
    result = decode(read_regular(file), StudyResult)
    seeds = frozen_study.latest.seeds  # seeds of the command line say nothing here: what is finished counts
    spec = msgspec.structs.replace(spec, seeds=seeds)
    margins = {name: getattr(spec.guards, name) for name in ("side", "side_perplexity")}
    comparable_spec = msgspec.structs.replace(
        frozen_study.latest, guards=msgspec.structs.replace(frozen_study.latest.guards, **margins)
    )
    if spec_hash(spec) != spec_hash(comparable_spec):
        raise UsageError(
            f"{directory} was made by another spec than this file. Run the study first, without --side, "
            "so that the change is recorded"
        )
    result = msgspec.structs.replace(result, spec=msgspec.to_builtins(spec))
    sides = join_sides(result, directory, SideFiles.read(paths), options)
    frozen_study = freeze(spec, directory, precisions=frozen_study.resolved, evaluations=len(result.runs))
    write_atomic(directory / FILE, encode(sides))  # for every later collection of the result
    result = with_sides(msgspec.structs.replace(result, changes=changes_of(frozen_study)), sides)
    write_atomic(file, encode(result))
    return result


def changes_of(frozen_study: FrozenStudy | None) -> list[SpecChange]:
    """Return the changes of a spec as a report shows them."""
    return [
        SpecChange(change.at, change.evaluations, list(map(field_words, change.fields)))
        for change in (frozen_study.changes if frozen_study else ())
    ]


def join_sides(result: StudyResult, directory: Path, files: SideFiles, options: SideOptions) -> StudySides:
    """Test treatment against control of the primary contrast at every task that the files hold.

    The tests are over the seeds that both arms finished.

    Args:
        result: What the study found.
        directory: Directory of the study.
        files: Files that the harnesses wrote.
        options: Scores, pools and names; margins and confidence are the study's.

    Raises:
        UsageError: No seed is finished, a checkpoint is missing in the files or not recognised, a task is measured for
            some checkpoints only, or `options.called` has an unknown label.
    """
    primary = result.verdict.primary
    seeds = [estimate.seed for estimate in primary.by_seed]
    if not seeds:
        raise UsageError(
            f"{primary.treatment} and {primary.control} are not both evaluated at any seed yet, "
            "so there is nothing to stand beside. Run the study first: the same command without --side"
        )
    labels = {arm: [label_of(result, arm, seed) for seed in seeds] for arm in (primary.treatment, primary.control)}
    folders = cells_of(result, directory)
    every_label = [label for of_arm in labels.values() for label in of_arm]
    for name in options.called:
        if name not in every_label:
            raise UsageError(
                f"--called '{name}=…': no compared checkpoint is called so. There are: {', '.join(every_label)}"
            )
    margins = _margins(result)
    options = msgspec.structs.replace(
        options, margin=margins.side, perplexity_margin=margins.side_perplexity, confidence=primary.confidence
    )
    checkpoint_names = {label: _checkpoint_name(label, folders, result, directory) for label in every_label}
    tests = files.compare_seeds(
        [checkpoint_names[label] for label in labels[primary.treatment]],
        [checkpoint_names[label] for label in labels[primary.control]],
        options,
    )
    files_by_label = {label: files.used(checkpoint, options) for label, checkpoint in checkpoint_names.items()}
    return StudySides(
        version=VERSION,
        treatment=primary.treatment,
        control=primary.control,
        seeds=seeds,
        cells={label: folders.get(label, "") for label in every_label},
        margin=options.margin,
        perplexity_margin=options.perplexity_margin,
        confidence=options.confidence,
        models={
            label: list(dict.fromkeys(f"{harness}: {model}" for _, harness, model in label_files))
            for label, label_files in files_by_label.items()
        },
        files_sha256=content_hash(
            sorted({sha256_of(path) for label_files in files_by_label.values() for path, _, _ in label_files})
        ),
        tests=tests,
    )


def with_sides(result: StudyResult, sides: StudySides | None) -> StudyResult:
    """Return the result with `sides` joined.

    Sides of other arms, seeds, checkpoints or margins are left out, with a warning. The headline says "better at
    following, not worse at …" only where both are shown: the verdict is YES, and every test holds.
    """
    headline = result.verdict.headline.removesuffix(_suffix(result))
    stale = "" if sides is None else _stale(result, sides)
    warnings = [text for text in result.warnings if not text.startswith(STALE)]
    new_result = msgspec.structs.replace(
        result, sides=None if stale else sides, warnings=[*warnings, f"{STALE} {stale}"] if stale else warnings
    )
    verdict = msgspec.structs.replace(result.verdict, headline=headline + _suffix(new_result))
    return msgspec.structs.replace(new_result, verdict=verdict)


def _suffix(result: StudyResult) -> str:
    return f"; {result.not_worse}" if result.not_worse else ""


STALE = "The side measures that were joined to this study are left out:"


def load_sides(directory: Path) -> StudySides | None:
    """Return the sides that were joined last; None if there are none.

    Raises:
        IntegrityError: The file is damaged, or of another version.
    """
    file = directory / FILE
    if not file.exists():
        return None
    try:
        sides = decode(file.read_bytes(), StudySides)
    except IntegrityError as error:
        raise IntegrityError(f"{file}: {error}. Remove it, and join the files again with --side") from error
    if sides.version != VERSION:
        raise IntegrityError(
            f"{file} has version {sides.version}, this adhere writes {VERSION}. Remove it, and join the files again"
        )
    return sides


def label_of(result: StudyResult, arm: str, seed: int) -> str:
    """Return the name of a checkpoint in this study: `ARM (seed N)`.

    The start model, the same at every seed, has the arm's name alone.
    """
    return f"{arm} (seed {seed})" if result.arm_stages.get(arm) else arm


def cells_of(result: StudyResult, directory: Path) -> dict[str, str]:
    """Return the cell folder of each trained arm and seed, by label.

    The folders come from the result, or for an older result from the cells on disk.

    Raises:
        UsageError: A cell was trained more than once, and the result does not say which training was evaluated.
    """
    if result.cells:
        return dict(result.cells)
    cells: dict[str, str] = {}
    records = [
        (file.parent.name, decode(file.read_bytes(), CellRecord))
        for file in sorted(directory.glob("cells/*/cell.json"))
    ]
    for arm, stages in result.arm_stages.items():
        for seed in result.seeds if stages else ():
            folders = [name for name, record in records if record.path == list(stages) and record.seed == seed]
            if len(folders) > 1:
                raise UsageError(
                    f"{arm} (seed {seed}) was trained more than once: {', '.join(folders)}, "
                    "and this older result.json does not say which was evaluated. Remove the folders that were not, "
                    "or run the study again without --side"
                )
            if folders:
                cells[label_of(result, arm, seed)] = folders[0]
    return cells


def _checkpoint_name(label: str, folders: Mapping[str, str], result: StudyResult, directory: Path) -> WantedModel:
    """Return how a checkpoint is recognised by the name that a harness gives it."""
    if label in folders:
        folder = folders[label]
        where = directory / "cells" / folder / "model"
        return WantedModel(label, lambda model: folder.lower() in name_parts(model), f" Measure {where}.")
    start, trained = result.start_model.partition("/")[2], {folder.lower() for folder in folders.values()}
    return WantedModel(
        label,
        lambda model: is_alike(model, start) and not trained & set(name_parts(model)),
        f" Measure the start model, {result.start_model}.",
    )


def _margins(result: StudyResult) -> GuardSpec:
    """Return the study's own margins; an older result, which has none for sides, takes the defaults."""
    return convert(result.spec.get("guards", {}), GuardSpec)


def _stale(result: StudyResult, sides: StudySides) -> str:
    """Say in what the tests no longer fit the result; empty if they fit."""
    primary, margins = result.verdict.primary, _margins(result)
    now = {label: result.cells.get(label, folder) for label, folder in sides.cells.items()}
    differs = {
        "arms": (sides.treatment, sides.control) != (primary.treatment, primary.control),
        "seeds": sides.seeds != [estimate.seed for estimate in primary.by_seed],
        "checkpoints": now != sides.cells,
        "margins": (sides.margin, sides.perplexity_margin) != (margins.side, margins.side_perplexity),
        "confidence": sides.confidence != primary.confidence,
    }
    aspects = [name for name, is_other in differs.items() if is_other]
    return f"they are of other {' and '.join(aspects)}. Join the files again with --side." if aspects else ""
