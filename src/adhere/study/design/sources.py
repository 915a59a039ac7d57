"""Find the models or answers of arms that others trained, at each seed, and what is known before they are asked.

An arm of a study may name models (`models = "hf/runs/grpo-s{seed}"`) or files of answers in place of stages. Before
anything is asked, weights, tokenizer, chat template and stop tokens are compared, and arms that would be asked in
different ways are refused. What cannot be read, as behind an endpoint, is marked as unknown.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from adhere.errors import AdhereError, SpecError
from adhere.models.catalog import base_and_adapter, is_endpoint
from adhere.models.local.fetch import model_dir
from adhere.models.local.transformers import load_tokenizer, weights_sha256
from adhere.models.local.vllm import split_adapter
from adhere.schema import content_hash
from adhere.study.design.spec import ArmSpec, StudySpec

Kind = Literal["model", "answers"]
SourceKey = tuple[str, int | None]  # arm, seed
UNKNOWN = ""  # of what cannot be looked at


class Source(NamedTuple):
    """Describes one model or file of answers, as far as it can be seen without asking.

    Attributes:
        arm, seed: The arm and the seed; None: the same at every seed of the study.
        kind: A model to ask, or answers that exist.
        name: Name as `adhere eval` takes it, or the path of the file.
        identity: Hash that changes with the weights, answers or sessions.
        engine: What answers: `transformers`, `vllm`, the address of an endpoint; empty: unknown.
        template: Hash of the chat template; empty: unknown.
        stops: Ids of the tokens that end an answer; empty: unknown.
        tokenizer: Hash of the tokenizer; empty: unknown.
        weights: Directory of weights that transformers loads, or None.
        adapter: Directory of a LoRA adapter that is merged into the weights, or None.
        trouble: Why it cannot be asked; empty: no reason is known.
    """

    arm: str
    seed: int | None
    kind: Kind
    name: str
    identity: str
    engine: str = UNKNOWN
    template: str = UNKNOWN
    stops: tuple[int, ...] = ()
    tokenizer: str = UNKNOWN
    weights: Path | None = None
    adapter: Path | None = None
    trouble: str = ""

    @property
    def label(self) -> str:
        """Name for messages, such as `grpo (seed 3)`."""
        return self.arm if self.seed is None else f"{self.arm} (seed {self.seed})"


def places(spec: StudySpec) -> Iterator[tuple[ArmSpec, int | None]]:
    """Yield every arm that others trained with each of its seeds; an arm without seeds with None."""
    for arm in spec.arms:
        if arm.source is not None:
            seeds: Sequence[int | None] = (arm.seeds or spec.seeds) if arm.is_seeded else [None]
            yield from ((arm, seed) for seed in seeds)


def find_sources(spec: StudySpec) -> dict[SourceKey, Source]:
    """Return the model or answers of every arm that others trained, by arm and seed.

    A model that is missing at some seeds has `trouble` there, so that the other seeds are measured.

    Raises:
        SpecError: An arm is missing at all seeds, two of its seeds have the same weights or answers, or arms would be
            asked in different ways and the spec does not allow that.
    """
    sources = {(arm.name, seed): look_at(arm, seed) for arm, seed in places(spec)}
    for arm in spec.arms:
        own = [source for (name, _), source in sources.items() if name == arm.name]
        if own and all(source.trouble for source in own):
            raise SpecError(f"arms.{arm.name}: {own[0].trouble}. None of its {len(own)} seeds is there")
        _require_different(own)
    if spec.evaluation.across_engines is not True:
        _require_alike(list(sources.values()))
    return sources


def look_at(arm: ArmSpec, seed: int | None) -> Source:
    """Describe one model or file of answers without asking anything."""
    name = arm.at(seed)
    if arm.answers is not msgspec.UNSET:
        return _look_at_answers(arm.name, seed, name)
    blank = Source(arm.name, seed, "model", name, content_hash(["model", name]))
    if is_endpoint(name):
        return blank._replace(engine=name.partition("#")[0] if "#" in name else name.partition("/")[0])
    provider, _, rest = name.partition("/")
    if provider not in {"hf", "local", "vllm"} or "(" in name:
        return blank._replace(engine=provider)
    engine = "vllm" if provider == "vllm" else "transformers"
    try:
        if engine == "vllm":
            return _look_at_served(blank, rest)
        directory, adapter = (model_dir(name), None) if provider == "local" else base_and_adapter(rest)
        return _look_at_weights(blank, directory, _hashes(directory, adapter))._replace(adapter=adapter)
    except AdhereError as error:
        why = str(error).partition("\n")[0].rstrip(".")
        return blank._replace(engine=engine, trouble=f"{blank.label}: {why}")


def _hashes(directory: Path, adapter: Path | None) -> list[str]:
    return [weights_sha256(directory), *([weights_sha256(adapter)] if adapter else [])]


def _look_at_served(blank: Source, rest: str) -> Source:
    """Describe what a server that we start will answer with. It holds the weights, so plain text is not scored here."""
    base, adapter = split_adapter(rest)
    if not Path(base).is_dir():  # of the hub: vLLM fetches it
        extra = [weights_sha256(adapter)] if adapter else []
        return blank._replace(identity=content_hash([blank.identity, *extra]), engine="vllm")
    source = _look_at_weights(blank, Path(base), _hashes(Path(base), adapter))
    return source._replace(identity=content_hash(["vllm", source.identity]), engine="vllm", weights=None)


def _look_at_weights(blank: Source, directory: Path, identity: Sequence[str]) -> Source:
    tokenizer = load_tokenizer(directory)
    template = tokenizer.chat_template or ""
    if not template:
        raise SpecError(f"{directory}: the tokenizer has no chat template, so prompts cannot be put to the model")
    stops = _stops(directory, tokenizer)
    words = content_hash(sorted(tokenizer.get_vocab().items()))
    return blank._replace(
        identity=content_hash([*identity, content_hash(template), stops, words]),
        engine="transformers",
        template=content_hash(template),
        stops=stops,
        tokenizer=words,
        weights=directory,
    )


def _stops(directory: Path, tokenizer: Any) -> tuple[int, ...]:
    """Return the ids of the tokens that end an answer, as the model's own files say."""
    file = directory / "generation_config.json"
    eos = json.loads(file.read_text(encoding="utf-8")).get("eos_token_id") if file.exists() else None
    ids = eos if isinstance(eos, list) else [eos]
    return tuple(sorted({int(token_id) for token_id in (*ids, tokenizer.eos_token_id) if token_id is not None}))


def _look_at_answers(arm: str, seed: int | None, name: str) -> Source:
    blank = Source(arm, seed, "answers", name, content_hash(["answers", name]))
    path = Path(name).expanduser()
    try:
        digest = _folder_hash(path) if path.is_dir() else hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        return blank._replace(trouble=f"{blank.label}: {name} cannot be read ({error.strerror or error})")
    return blank._replace(identity=digest)


def _folder_hash(folder: Path) -> str:
    """Hash all files below a folder, with their names."""
    hashes = []
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        with file.open("rb") as stream:
            hashes.append([file.relative_to(folder).as_posix(), hashlib.file_digest(stream, "sha256").hexdigest()])
    return content_hash(hashes)


def _require_different(own: Sequence[Source]) -> None:
    """Refuse a checkpoint that stands at two seeds, for it would be counted twice."""
    by_identity: dict[str, Source] = {}
    for source in own:
        other = by_identity.setdefault(source.identity, source)
        is_seen = source.kind == "answers" or source.engine in {"transformers", "vllm"}
        if other is not source and (is_seen or other.name == source.name):
            noun = "answers" if source.kind == "answers" else "weights"
            raise SpecError(
                f"arms.{source.arm}: seeds {other.seed} and {source.seed} are the same {noun} ({other.name}, "
                f"{source.name}), which would count one training twice. Give each seed its own, or leave one out of "
                "`seeds`"
            )


_ASPECTS: Mapping[str, tuple[str, str]] = {  # field of Source -> what it is called, what to do
    "engine": ("answered by different engines", "Serve or load all of them in one way"),
    "template": ("put the question through different chat templates", "Give all of them one chat template"),
    "stops": ("stopped by different tokens", "Give all of them one generation_config.json"),
}


def differences(sources: Sequence[Source]) -> list[str]:
    """List in what ways the arms would be asked differently, as far as known."""
    lines = []
    usable = [source for source in sources if not source.trouble]
    for field, (difference, mend) in _ASPECTS.items():
        values: dict[Any, Source] = {}
        for source in usable:
            value = (
                "answers that are there" if field == "engine" and source.kind == "answers" else getattr(source, field)
            )
            if value not in {UNKNOWN, ()}:
                values.setdefault(value, source)
        if len(values) > 1:
            labels = {value: source.label for value, source in values.items()}
            who = "; ".join(f"{label}: {_short(value)}" for value, label in labels.items())
            lines.append(f"the arms are {difference} ({who}). {mend}")
    return lines


def _short(value: Any) -> str:
    return value[:40] if isinstance(value, str) else ", ".join(map(str, value))


def _require_alike(sources: Sequence[Source]) -> None:
    lines = differences(sources)
    if lines:
        raise SpecError(
            f"{'; '.join(lines)}, or give --across-engines: the study then runs, and its page says what differed"
        )
