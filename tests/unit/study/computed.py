"""What the decoder, the judge, the rows and every method compute on fixed inputs, beside the versions they declare.

A study's cells are keyed by declared versions (`study.design.identity`), so none of these may compute anything else
under the same version. After a change that is meant, raise the version that the test names and store anew:

    python -m tests.unit.study.computed            # everything: minutes
    python -m tests.unit.study.computed NAME…      # these kinds and methods, new ones too: seconds
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import msgspec
import torch
import transformers
from tests.conftest import _shape, _tokenizer
from tests.unit.build.function_model import FunctionModel

from adhere import testing
from adhere.build.decontaminate.parts import decontaminate
from adhere.build.plain import build_plain_pool
from adhere.build.pool import build_pool
from adhere.build.rows import ROWS_VERSION
from adhere.build.transforms.base import Settings, transform
from adhere.constraints import from_ref, registry
from adhere.constraints.published import kinds as published_kinds
from adhere.constraints.published.shared.registry import PROFILES
from adhere.constraints.repair import repair_all
from adhere.models.chat import conversation
from adhere.models.local.decoder import DECODER_VERSION
from adhere.models.local.decoder.decode import Decoder, DecodeRow
from adhere.models.local.decoder.pick import pick_tokens, uniforms
from adhere.models.local.transformers import load_weights
from adhere.pipeline.guard import guard
from adhere.pipeline.judge import VERIFIER_VERSION, judge_text, verifier_version
from adhere.pipeline.reward import reward_of
from adhere.progress import Silent
from adhere.schema import ConstraintRef, Message, PairRow, Prompt, RlRow, Sampling, SftRow, Turn
from adhere.study.run.plain import read_plain
from adhere.train.batch.rollout import Answer
from adhere.train.loop import LOOP_VERSION
from adhere.train.packed.rows import prompt_ids
from adhere.train.settings import Lora, Merging
from adhere.train.stage.scoring import open_scorer
from adhere.train.stage.train import MODEL, Training, train_stage
from adhere.train.stages import STAGES

STORED = Path(__file__).parent / "computed"
# fp32, one thread. After three steps processors with AVX2 and with AVX512 are up to 5e-6 apart.
TOLERANCE = 2e-5
# Where entries are kept by their size, a last digit decides which: 1e-3 apart between the same two processors.
BY_SIZE, COARSE = "by size", 5e-3


class Computed(NamedTuple):
    """The version that is declared, where it is declared, and the values."""

    version: str
    declared_in: str
    values: Any


def is_same(stored: Any, here: Any, tolerance: float = TOLERANCE) -> bool:
    """Whether two computed values agree; floats to `tolerance`, absolute below 1 and relative above.

    A field that came since, such as a new setting, is no change of the others.
    """
    if isinstance(stored, Mapping) and isinstance(here, Mapping):
        return stored.keys() <= here.keys() and all(
            is_same(stored[name], here[name], COARSE if name == BY_SIZE else tolerance) for name in stored
        )
    if isinstance(stored, list) and isinstance(here, list):
        return len(stored) == len(here) and all(
            is_same(one, other, tolerance) for one, other in zip(stored, here, strict=True)
        )
    if isinstance(stored, float) and isinstance(here, int | float):
        return math.isclose(stored, here, rel_tol=tolerance, abs_tol=tolerance)
    return bool(stored == here)


def problem(name: str, stored: Mapping[str, Any] | None, here: Computed) -> str | None:
    """What is wrong with a computed value beside the stored one; None: nothing."""
    if stored is None:
        return f"{name} is not stored. Run: python -m tests.unit.study.computed"
    same, as_stored = stored["version"] == here.version, is_same(stored["values"], here.values)
    if same and not as_stored:
        return f"{name} computes something else than before as version {here.version}. Raise {here.declared_in}"
    if not same:
        return f"{name} has version {here.version}, stored is {stored['version']}. Run: python -m tests.unit.study.computed"
    return None


# ---------------------------------------------------------------------------------------------------------- the model


def tiny_model(architecture: str = "Llama") -> tuple[Any, Any]:
    """A small chat model whose weights are a formula, so that no library's random numbers are in the results."""
    tokenizer = _tokenizer()
    shape = _shape(len(tokenizer)) | {"hidden_size": 32, "intermediate_size": 48}
    config = getattr(transformers, f"{architecture}Config")(**shape, tie_word_embeddings=architecture == "Llama")
    model = getattr(transformers, f"{architecture}ForCausalLM")(config)
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            places = torch.arange(parameter.numel(), dtype=torch.float64)
            values = torch.sin(places * places * 0.37 + places * 1.7 + number).view_as(parameter)
            parameter.copy_(1 + 0.1 * values if parameter.dim() == 1 else 0.3 * values)
    model.generation_config.eos_token_id = model.generation_config.pad_token_id = 2
    return model.train(mode=False), tokenizer


@contextmanager
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


# -------------------------------------------------------------------------------------------------------- the decoder


def decoder() -> Computed:
    """Tokens and log-probs of prompts of several lengths, greedy and drawn, for two architectures."""
    values: dict[str, Any] = {}
    texts = ["Write two sentences about the sea.", "the quick brown fox", "Write two words about the fox, and a dog;"]
    for architecture in ("Llama", "Qwen2"):
        model, tokenizer = tiny_model(architecture)
        asked = [prompt_ids(tokenizer, text) for text in texts]
        asked.append(prompt_ids(tokenizer, (Message("system", "Be brief."), Message("user", "the sea"))))
        rows = [DecodeRow(tuple(ids), seed) for seed, ids in enumerate([*asked, *asked])]
        made = Decoder(model, end_ids=[2], rows=3)
        values[architecture] = {
            "prompts": [list(ids) for ids in asked],
            "greedy": [list(one.drawn) for one in made.decode(rows, max_new_tokens=12)],
            "nucleus": [list(one.drawn) for one in made.decode(rows, max_new_tokens=12, temperature=0.7, top_p=0.8)],
            "drawn": [
                [list(one.drawn), list(one.log_probs)]
                for one in made.decode(rows, max_new_tokens=12, temperature=1.3, log_probs=True)
            ],
        }
        plain = read_plain(model, tokenizer)
        values[architecture]["plain"] = [plain.nats[:3], plain.tokens[:3]]
    logits = torch.sin(torch.arange(2000, dtype=torch.float32) ** 1.5).view(250, 8)
    values["uniforms"] = uniforms(5, 8).tolist()
    values["picked"] = [
        pick_tokens(logits.clone(), uniforms(5, 8).tolist(), temperature=temperature, top_p=top_p).tokens.tolist()
        for temperature, top_p in ((1.0, 1.0), (0.5, 0.9), (2.0, 0.3))
    ]
    values["sent"] = conversation([Message("system", "a"), Message("user", "b"), Message("assistant", "c")])
    return Computed(str(DECODER_VERSION), "DECODER_VERSION (adhere.models.local.decoder)", values)


# ---------------------------------------------------------------------------------------------------------- the judge

TEXTS = [
    *testing.ORDINARY,
    "THE SEA IS WIDE.",
    "the sea is wide, and it is blue",
    "* one\n* two\n* three",
    "Sure! Here is it:\n\nThe sea is wide. The sea is wide. The sea is wide. The sea is wide.\n\nP.S. It is blue.",
    '{"name": "sea", "size": 3}',
    "<<Title>>\n\nFirst paragraph.\n\n***\n\nSecond paragraph [a] [b].",
    '"My answer is yes."',
    "Cats sleep.\nCats sleep.\n\nIs it 12 or 1,200? Yes: 3.5%!",
    "Das Meer ist weit und blau, und niemand weiß, wie tief es ist.",
    "",
    "...",
]


def judge() -> Computed:
    """Findings whole, rewards, and what stands beside a pass rate, for a handful of constraints."""
    refs = [
        ConstraintRef("case:lower", {}),
        ConstraintRef("length:at_least", {"least": 8}),
        ConstraintRef("length_constraints:number_words", {"relation": "less than", "num_words": 12}),
        ConstraintRef("punctuation:no_comma", {}),
        ConstraintRef("detectable_format:number_bullet_lists", {"num_bullets": 3}),
    ]
    whole = [
        [
            [one.view, one.outcome, one.score, one.measured, one.needed, one.span, one.fault]
            for one in judge_text(text, refs)
        ]
        for text in TEXTS
    ]
    rewards = [
        [reward_of(text, refs, kind=kind, is_cut=cut) for kind in ("dense", "binary") for cut in (False, True)]
        for text in TEXTS
    ]
    reasoned = [reward_of(f"<think>{text}</think>the sea", refs, kind="dense") for text in TEXTS[:3]]
    asked = Prompt("p", (Turn("Write about the sea. Use no commas at all.", tuple(refs)),))
    guards = [
        guard(asked, text)
        for text in [*TEXTS, "The sea. " * 9, "Write about the sea. Use no commas at all."]
        if text.strip()
    ]
    beside = [[*one, one.is_repetitive, one.is_echo, one.is_empty_form, one.is_letter_alone] for one in guards]
    rows = [RlRow("p", asked.text, 8, 0.5, 0.1, tuple(ref.id for ref in refs), tuple(dict(ref.params) for ref in refs))]
    scores = {
        str(kind): open_scorer(kind, rows, judge=None, device="cpu")("p", [Answer(text, False) for text in TEXTS])
        for kind in ("dense", "binary")
    }
    return Computed(
        VERIFIER_VERSION,
        "VERIFIER_VERSION (adhere.pipeline.judge)",
        {"verdicts": whole, "rewards": rewards, "reasoned": reasoned, "beside": beside, "scores": scores},
    )


class Case(msgspec.Struct):
    """A constraint and texts of its own, as they were when it was stored."""

    ref: ConstraintRef
    texts: list[str] = []


def new_cases() -> dict[str, list[Case]]:
    """Fresh inputs for every kind: drawn parameters, and for ours texts that pass, nearly pass and fail."""
    cases: dict[str, list[Case]] = {}
    for name in registry:
        kind = registry.get(name)
        if kind.__module__.startswith("adhere.") and not kind.runs_code:
            drawn = testing.draw_several(kind, count=1)[:2]
            cases[f"{name} own"] = [Case(one.ref(), [one.witness(), one.counter_witness()]) for one in drawn]
            for params, text in (kind.passing, kind.failing):
                cases[f"{name} own"].append(Case(ConstraintRef(name, dict(params)), [text]))
    for profile in PROFILES:
        for published in published_kinds(profile):
            if published.id != "agentif:code":  # runs code that a model wrote
                params = [testing.published_params(published, seed) for seed in range(2)]
                cases[f"{published.id} {profile}"] = [Case(ConstraintRef(published.id, one)) for one in params]
    return cases


def kind(name: str, cases: Sequence[Case]) -> Computed:
    """The outcomes of one kind, strict and loose, on its own texts and on TEXTS; one letter each."""
    id_, profile = name.split(" ")
    named = None if profile == "own" else profile
    values = {
        mode: [
            " ".join(
                "".join(found.outcome[0] for found in judge_text(text, [case.ref], mode=mode, profile=named))  # type: ignore[arg-type]
                for text in (*case.texts, *TEXTS)
            )
            for case in cases
        ]
        for mode in (("reference",) if named is None else ("reference", "fixed"))
    }
    versions = [verifier_version(id_, mode=mode, profile=named) for mode in values]  # type: ignore[arg-type]
    return Computed(" ".join(versions), f"the version of the kind {id_!r}", values)


# ----------------------------------------------------------------------------------------------------------- the rows


def rows() -> Computed:
    """Pools of a model that is a function, and the repairs of every kind that may be in training data."""
    refs = [
        ConstraintRef("case:lower", {}),
        ConstraintRef("startend:quotes", {}),
        ConstraintRef("length:at_least", {"least": 14}),
    ]
    prompts = [
        Prompt(
            f"p{i}", (Turn(f"Give advice number {i} about sleep. Rule {i % 3}.", (refs[i % 3],)),), tags={"slice": "s"}
        )
        for i in range(9)
    ]
    values: dict[str, Any] = {}
    sampling = Sampling(max_new_tokens=64, temperature=1.0, seed=3)
    with tempfile.TemporaryDirectory() as place:
        pool = build_pool(FunctionModel(), prompts, draws=6, sampling=sampling, directory=Path(place) / "a", seed=5)
        plain = build_plain_pool(
            FunctionModel(),
            [Prompt(f"q{i}", (Turn(f"Give advice number {i}."),)) for i in range(9)],
            like=pool.sft,
            tokens=lambda text: len(text.split()),
            sampling=sampling,
            directory=Path(place) / "b",
            contamination=decontaminate((), ()),
            progress=Silent(),
        )
    for name, made in {"sft": pool.sft, "pairs": pool.pairs, "rl": pool.rl, "plain": plain.sft}.items():
        values[name] = [msgspec.to_builtins(row) for row in made]
    values["rated"] = transform(
        "six_criteria", [msgspec.to_builtins(row) for row in pool.pairs], "pairs", Settings()
    ).rows
    values["repaired"] = {
        name: [repair_all(text, [from_ref(case.ref)]) for case in cases for text in TEXTS[:3]]
        for name, cases in sorted(stored_cases().items())
        if name.endswith(" own") and registry.get(name.split(" ")[0]).part == "train"
    }
    return Computed(str(ROWS_VERSION), "ROWS_VERSION (adhere.build.rows)", values)


# -------------------------------------------------------------------------------------------------------- the methods

_EPISODES: dict[str, Any] = {"steps": 3, "prompts_per_step": 2, "answers_per_prompt": 4, "max_new_tokens": 6}
_PAIRS: dict[str, Any] = {"batch_pairs": 3}
_ITEMS: dict[str, Any] = {"batch_items": 6}
# Settings of a method without a row below, by the rows that it learns from.
_USUAL: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "sft": ({"batch_rows": 3},),
    "pairs": (_PAIRS,),
    "rl": (_EPISODES,),
}
VARIANTS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "sft": (
        {"batch_rows": 3},
        {"data": "chosen", "prompt": "empty"},
        {"longest": 75, "mix": {"above": 60, "share": 0.5}},
    ),
    "more-sft": ({"equivalent_tokens": 500},),
    "continue": ({"tokens": 300, "batch_tokens": 100, "share": 0.5, "window": 40, "held_out": 0.3},),
    "rft": (_EPISODES,),
    "dpo": (
        _PAIRS,
        _PAIRS | {"loss": "ipo", "beta": 0.5},
        _PAIRS | {"by_length": True, "smoothing": 0.1},
        _PAIRS | {"sft_weight": 0.5},
    ),
    "kto": (_ITEMS, _ITEMS | {"weight_bad": 0.7}),
    "online-dpo": (_EPISODES, _EPISODES | {"trained_tokens": 100}),
    "grpo": (
        _EPISODES | {"temperature": 0.9},
        _EPISODES
        | {"updates_per_episode": 3, "kl_beta": 0.1, "loss_type": "grpo", "clip_low": 1e-3, "clip_high": 2e-3},
        _EPISODES
        | {"importance": "sequence", "loss_type": "sequence", "scale_rewards": "none", "updates_per_episode": 2},
        _EPISODES | {"overlong_tokens": 3, "loss_type": "dr_grpo", "rounds": 2},
        _EPISODES | {"mask_truncated": True, "max_new_tokens": 200, "answers_per_prompt": 8, "importance_cap": 1.5},
        _EPISODES | {"max_trained_groups": 1, "baseline": "others"},
    ),
    "rloo": (_EPISODES,),
    "reward-model": (
        _PAIRS | {"epochs": 3, "held_out_share": 0.3, "centre": 0.1},
        _PAIRS | {"labels": "criteria"},
    ),
}


def data(count: int = 8) -> SimpleNamespace:
    """Rows of two crossing rules."""
    lower, upper = (("case:lower",), ({},)), (("case:upper",), ({},))
    sft, pairs, rl = [], [], []
    for i in range(count):
        (ids, kwargs), good, bad = (
            (lower, "the sea is wide", "The Sea") if i % 2 else (upper, "THE FOX IS QUICK", "The Fox")
        )
        prompt = "Write about the sea " * (i % 3) + f"and thing {i}."
        rated = {"helpfulness": (1.0, 0.5), "conciseness": (0.25 * (i % 4), 0.5)}
        sft.append(SftRow(f"p{i}", prompt, good, "sampled", ids, kwargs))
        pairs.append(PairRow(f"p{i}", prompt, good, bad, "sampled", ids, kwargs, criteria=rated))
        rl.append(RlRow(f"p{i}", prompt, 8, 0.5, 0.01 * i, ids, kwargs))
    return SimpleNamespace(sft=sft, pairs=pairs, rl=rl)


def _score(prompt_id: str, answers: Sequence[Answer]) -> list[float | None]:
    """A third of the answers is good, by their letters alone."""
    return [float(sum(map(ord, answer.text)) % 3 == 0) for answer in answers]


def method(name: str) -> Computed:
    """Logs and weights of a stage on fixed rows, in each of its variants."""
    stage = STAGES.get(name)
    values: list[Any] = [{"defaults": msgspec.to_builtins(stage.settings())}]
    for variant in VARIANTS.get(name, _USUAL.get(stage.data, ({},))):
        model, tokenizer = tiny_model()
        options = {"learning_rate": 2e-3, "clip": 0.5} | dict(variant)
        if name == "continue":
            options["text"] = (str(Path(__file__).parents[1] / "train" / "plain.txt"),)
        settings = msgspec.convert(options, stage.settings)
        online = {"score": _score} if stage.online else {}
        result = stage.run(model, tokenizer, stage.rows(data(), settings), settings, seed=3, **online)
        values.append(_told(result.log) | {"weights": norms(result.artefact.backbone if result.artefact else model)})
    version = f"{LOOP_VERSION}.{DECODER_VERSION}.{stage.version}"
    return Computed(version, f"the version of the stage {name!r}, or LOOP_VERSION (adhere.train.loop) for all", values)


def loop() -> Computed:
    """What all methods share: schedules, decay, merging and adapters, by `train_stage` and its files."""
    stage = STAGES.get("sft")
    shared: list[dict[str, Any]] = [
        {"schedule": "cosine", "warmup_share": 0.3, "weight_decay": 0.5, "batch_rows": 2, "final_share": 0.2},
        {"schedule": "linear", "freeze_embeddings_and_head": False, "betas": (0.8, 0.9), "tree_tokens": 64},
        {"merging": Merging(method="ties", p=0.5, alpha=0.3), "batch_rows": 4},
        {"merging": Merging(p=0.5, alpha=0.3, mode="paper"), "batch_rows": 4},
    ]
    values = []
    with tempfile.TemporaryDirectory() as place:
        start, origin = Path(place) / "start", Path(place) / "origin"
        model, tokenizer = tiny_model()
        for weights in (start, origin):
            model.save_pretrained(weights)
            tokenizer.save_pretrained(weights)
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.mul_(0.9)
        for number, (options, lora) in enumerate([*((one, None) for one in shared), ({}, Lora(rank=2, alpha=8.0))]):
            settings = stage.settings(learning_rate=2e-3, **options)
            into = Path(place) / str(number)
            training = Training(
                stage, settings, data().sft, start, origin, into / "kept", 3, "key", lora=lora, policy="compare"
            )
            trained = train_stage(training, into, progress=Silent())
            told = _told(trained.log) | {"weights": norms(load_weights(into / MODEL, "cpu")[0])}
            merging = options.get("merging")
            values.append({BY_SIZE: told} if merging is not None and merging.method == "ties" else told)
    return Computed(str(LOOP_VERSION), "LOOP_VERSION (adhere.train.loop)", values)


def _told(log: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what a log tells of its steps. At the first, policy and reference are one, and rounding prefers."""
    rows = [{name: value for name, value in row.items() if "second" not in name and "bytes" not in name} for row in log]
    for row in rows[:1]:
        row.pop("accuracy", None)
    return {"log": rows}


def norms(model: Any) -> list[float]:
    """Of each weight its mean and its weighted mean, so that neither a change of size nor of place is lost."""
    found: list[float] = []
    for parameter in model.parameters():
        values = parameter.detach().double().flatten()
        places = torch.cos(torch.arange(len(values), dtype=torch.float64) * 0.9)
        found += [float(values.mean()), float((values * places).mean())]
    return found


# ------------------------------------------------------------------------------------------------------------ storing

SHARED: Mapping[str, Callable[[], Computed]] = {"decoder": decoder, "judge": judge, "rows": rows, "loop": loop}


def load(part: str) -> dict[str, Any]:
    """The stored results of a part by name; empty where nothing is stored."""
    file = STORED / f"{part}.json"
    return json.loads(file.read_text()) if file.exists() else {}


def compute(part: str, name: str) -> Computed:
    """One result, computed here and now."""
    with one_thread():
        if part == "kinds":
            return kind(name, stored_cases()[name])
        return SHARED[name]() if part == "shared" else method(name)


def methods_of_ours() -> set[str]:
    """Names of the methods that no package of somebody else brings."""
    return {name for name in STAGES if STAGES.get(name).run.__module__.startswith("adhere.")}


def stored_cases() -> dict[str, list[Case]]:
    """The inputs of the kinds, as they were stored."""
    return {name: msgspec.convert(one["cases"], list[Case]) for name, one in load("kinds").items()}


def builtins(one: Computed) -> dict[str, Any]:
    """A result as JSON gives it back."""
    return json.loads(json.dumps({"version": one.version, "values": one.values}))


def store(names: Sequence[str] = ()) -> list[str]:
    """Store what is new or has another version; return the names of what changed under the version that it had.

    `names`: kinds and methods to compute; empty: all of them, and what methods share.
    """
    cases = {name: one for name, one in (new_cases() | stored_cases()).items() if not names or name.split()[0] in names}
    if unknown := {*names} - {name.split()[0] for name in cases} - methods_of_ours():
        return [f"{name}: no kind and no method has this name" for name in sorted(unknown)]
    parts: dict[str, dict[str, Computed]] = {"kinds": {}, "shared": {}, "methods": {}}
    inputs = {name: {"cases": msgspec.to_builtins(found)} for name, found in cases.items()}
    with one_thread():
        parts["kinds"] = {name: kind(name, found) for name, found in cases.items()}
        _settle("kinds", parts["kinds"], inputs)  # the rows repair by these cases
        parts["shared"] = {} if names else {name: compute() for name, compute in SHARED.items()}
        parts["methods"] = {name: method(name) for name in methods_of_ours() if not names or name in names}
    return [trouble for part, here in parts.items() for trouble in _settle(part, here, inputs)]


def _settle(part: str, computed: Mapping[str, Computed], inputs: Mapping[str, Any]) -> list[str]:
    known, refused = load(part), list[str]()
    for name, here in computed.items():
        stored = known.get(name)
        if stored is None or stored["version"] != here.version:
            known[name] = inputs.get(name, {}) | builtins(here)
        elif not is_same(stored["values"], builtins(here)["values"]):
            refused.append(f"{name}: raise {here.declared_in}")
    _write(part, known)
    return refused


def _write(part: str, known: Mapping[str, Any]) -> None:
    """One line a result, so that a change of one kind is one line of a diff."""
    STORED.mkdir(exist_ok=True)
    lines = [f"{json.dumps(name)}: {json.dumps(known[name], ensure_ascii=True)}" for name in sorted(known)]
    (STORED / f"{part}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    left = store(sys.argv[1:])
    print("\n".join(left) or f"stored in {STORED}: {', '.join(sys.argv[1:]) or 'all'}")  # noqa: T201 - a command
    sys.exit(bool(left))
