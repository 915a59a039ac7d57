"""A rich made-up StudyResult for tests of reports.

Several arms, one or three seeds, undefined numbers, hostile texts.
"""

from __future__ import annotations

import math
import random

from adhere.pipeline.compare.sides import SideTest
from adhere.schema import EngineInfo, Record
from adhere.store.summary import GuardMeans, Share
from adhere.study.outcome.result import (
    ArmCost,
    ArmScore,
    CellNote,
    Contrast,
    Curve,
    DataFacts,
    GuardTest,
    Match,
    SeedEstimate,
    SettingNote,
    ShownAnswer,
    ShownPrompt,
    SpecChange,
    StageCost,
    StudyResult,
    StudySides,
    StudyVerdict,
)

ARMS = {
    "start": [],
    "sft": ["sft"],
    "sft+dpo": ["sft", "dpo"],
    "sft+dpo+online-dpo": ["sft", "dpo", "online-dpo"],
    "sft+dpo+grpo": ["sft", "dpo", "grpo"],
}
RATES = {"start": 0.11, "sft": 0.335, "sft+dpo": 0.37, "sft+dpo+online-dpo": 0.405, "sft+dpo+grpo": 0.455}
SLICES = {"new-topic/single": 140, "new-family/multiple": 80, "all": 220}
FAMILIES = {
    "new-topic/single": ("case", "keywords", "length", "punctuation", "startend", "structure"),
    "new-family/multiple": ("format", "letters"),
}
HOSTILE = [
    "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">",
    "]]> </textarea></style></title>{{ 7*7 }} <svg onload=\"document.title='owned'\">",
    "safe \u202etxt.exe\u202c and \u2066isolated\u2069, zero\u200bwidth, \ufefffirst",
    (
        "\x1b[2J\x1b[31mred\x1b[0m \x1b]8;;http://evil.example/\x07link\x1b]8;;\x07 \x1b]52;c;AAAA\x1b\\ \x9b31m "
        "bell\x07 nul\x00 \x7f"
    ),
    "half a pair: \ud83d end",
]
LONG = "A long answer about tides and the moon. " * 256


def wilson(passed: int, n: int) -> Share:
    """A plausible interval; what it is exactly does not matter to a report."""
    if n == 0:
        return Share(0, 0, None, None, None)
    z, p = 1.96, passed / n
    centre, spread = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return Share(passed, n, p, (centre - spread) / (1 + z * z / n), (centre + spread) / (1 + z * z / n))


def changed(record: Record, **values: object) -> Record:
    """The record with some fields replaced."""
    return type(record)(**{**{name: getattr(record, name) for name in record.__struct_fields__}, **values})


def score(arm: str, seed: int | None, slice_name: str, *, copies: int = 1) -> ArmScore:
    rng = random.Random(f"{arm}/{seed}/{slice_name}")
    n = SLICES[slice_name] * copies
    share = RATES.get(arm, 0.3) * (0.62 if slice_name.startswith("new-family") else 1.05) + (rng.random() - 0.5) * 0.03
    passed = round(share * n)
    names = FAMILIES.get(slice_name) or FAMILIES["new-topic/single"] + FAMILIES["new-family/multiple"]
    families = {name: wilson(round(min(share * rng.uniform(0.5, 2.0), 1) * n // 6), n // 6) for name in names}
    kinds = {f"{name}:{kind}": wilson(round(rate.passed * 0.5), rate.n // 2) for name,
        rate in families.items() for kind in ("a", "b")}  # fmt: skip
    words = {"start": 41.2, "sft": 33.0}.get(arm, 30.4)
    guard = GuardMeans(words + rng.random(), 0.91, 0.44 + rng.random() / 20, 0.02, 0.01, 0.07)
    accounting = {"n": n, "ok": n - 6, "truncated": 5, "empty": 1, "refused": 0, "error": 0, "missing": 0}
    loose, single = wilson(min(passed + 4, n), n), wilson(round(n * 2 * min(share * 1.4, 1)), n * 2)
    return ArmScore(arm, seed, slice_name, wilson(passed, n), loose, single, families, kinds, guard, accounting)


def contrast(treatment: str, control: str, low: float, high: float, /, **values: object) -> Contrast:
    fields = {
        "name": f"{treatment} over {control}", "role": "secondary", "treatment": treatment, "control": control,
        "slice": "all", "n_prompts": 220, "n_seeds": 1, "rate_treatment": RATES.get(treatment, 0.3),
        "rate_control": RATES.get(control, 0.2), "difference": (low + high) / 2, "low": low, "high": high,
        "confidence": 0.95, "gained": 31, "lost": 20, "p_value": 0.161, "p_adjusted": 0.322,
        "minimum_detectable": 0.0712, "n_queries": 110, "coverage": 1.0, "by_seed": [],
    }  # fmt: skip
    return Contrast(**{**fields, **values})


def stage_cost(stage: str, arms: list[str], seed: int, minutes: float) -> StageCost:
    online = stage in {"grpo", "online-dpo"}
    return StageCost(
        f"{stage}-s{seed}", stage, stage, arms, seed, 40, 640 if online else 0, 0 if online else 583,
        2560 if online else 0, 131_204 if online else 0, 48_211, 97_410, 3_120, 0.12, minutes,
        minutes * 0.45 if online else 0.0, 5.31,
    )  # fmt: skip


def curve(stage: str, seed: int) -> Curve:
    rng = random.Random(f"{stage}{seed}")
    steps = 40

    def noisy(start: float, end: float, noise: float) -> list[float | None]:
        return [end + (start - end) * math.exp(-i / 12) + rng.gauss(0, noise) for i in range(steps)]

    columns = {
        "step": [float(i + 1) for i in range(steps)],
        "loss": noisy(0.69 if "dpo" in stage else 2.4, 0.4 if "dpo" in stage else 1.6, 0.03),
        "learning_rate": [1e-5] * steps,
    }
    if stage in {"grpo", "online-dpo"}:
        columns["reward_mean"] = noisy(0.42, 0.62, 0.03)
        columns["pass_rate"] = noisy(0.3, 0.5, 0.04)
        columns["frac_zero_variance"] = [None if i % 9 == 4 else abs(rng.gauss(0.3, 0.08)) for i in range(steps)]
        columns["mean_tokens"] = noisy(38, 33, 1.1)
    if stage == "dpo":
        columns["accuracy"] = [min(value or 0, 1.0) for value in noisy(0.5, 0.9, 0.04)]
        columns["margin"] = noisy(0.0, 1.4, 0.08)
    return Curve(f"{stage}-s{seed}", stage, stage, seed, columns)


def _shown() -> list[ShownPrompt]:
    texts = [
        "Explain in simple words why the sea has tides. Answer with at least 40 words. Do not use any commas.",
        (
            "Name three things one can cook with lentils. Write all letters in lower case. "
            'End with the words "that is all".'
        ),
        "Write a short note to a neighbour about a parcel. Use exactly two paragraphs.",
        "Say why bread rises. Include the words yeast and warm.",
        HOSTILE[0],
    ]
    replies = [
        (
            "The sea has tides because the moon pulls the water toward itself. "
            "The side that faces the moon rises and so does the far side."
        ),
        "soup, stew and salad. that is all",
        "Dear neighbour,\n\nyour parcel is with me.\n\nCome by any time.",
    ]
    prompts = []
    for index, text in enumerate(texts):
        answers = []
        for place, arm in enumerate(ARMS):
            reply = HOSTILE[place] if index == 4 else replies[(index + place) % 3]
            passed = None if (index, place) == (3, 0) else (index + place) % 2 == 0
            reasons = (
                ["found 23 words, needed at least 40", "found no comma"]
                if not passed
                else ["found 42 words, needed at least 40"]
            )
            answers.append(ShownAnswer(arm, reply, "ok", passed, reasons))
        answers[0] = (
            ShownAnswer("start", LONG if index == 1 else answers[0].text, "truncated", False, [HOSTILE[2]])
            if index in (1, 4)
            else answers[0]
        )
        if index == 2:
            answers[1] = ShownAnswer("sft", "", "empty", False, ["the answer is empty"])
        prompts.append(
            ShownPrompt(
                f"core-{index:03d}",
                "new-family/multiple" if index > 2 else "new-topic/single",
                text,
                ["at least 40 words", "no comma"],
                answers,
            )
        )
    return prompts


def study(*, seeds: int = 1) -> StudyResult:
    """A finished study of five arms on 220 prompts."""
    numbers = list(range(seeds))
    scores = []
    for name in SLICES:
        for arm, stages in ARMS.items():
            scores.append(score(arm, None, name, copies=seeds if stages else 1))
            scores += [score(arm, seed, name) for seed in numbers] if stages and seeds > 1 else []
    each = [SeedEstimate(seed, 0.45, 0.4, 0.05 + seed / 100, 31 - seed, 20) for seed in numbers]
    several = {"n_seeds": seeds, "by_seed": each} if seeds > 1 else {}
    primary = contrast(
        "sft+dpo+grpo", "sft+dpo+online-dpo", -0.0182, 0.1182, role="primary", p_adjusted=None, **several
    )
    contrasts = [
        primary,
        contrast("sft", "start", 0.168, 0.291, slice="new-topic", n_prompts=140, p_value=0.0, p_adjusted=0.0, gained=36,
            lost=3),
        contrast("sft+dpo", "sft", -0.02, 0.044, **several),
        contrast("sft+dpo+grpo", "sft+dpo", 0.021, 0.149, p_value=0.012, p_adjusted=0.061),
        contrast("sft+dpo+online-dpo", "sft+dpo", -0.12, -0.011, p_value=0.002, p_adjusted=0.008, gained=9, lost=24),
        contrast("sft+dpo+grpo", "start", 0, 0, slice="new-family", n_prompts=0, rate_treatment=None, rate_control=None,
            difference=None, low=None, high=None, gained=0, lost=0, p_value=None, p_adjusted=None,
            minimum_detectable=None, reason="no prompt of the slice was measured under both arms"),
    ]  # fmt: skip
    stages = {"sft": [a for a in ARMS if a != "start"], "dpo": [a for a in ARMS if "dpo" in a],
              "online-dpo": ["sft+dpo+online-dpo"], "grpo": ["sft+dpo+grpo"]}  # fmt: skip
    costs = [stage_cost(name, arms, seed, 2.4 + len(name) / 3) for seed in numbers for name, arms in stages.items()]
    data = DataFacts(
        0, "the start model", "9f2c" * 16, 300, 1200, 402, 61_200, 3.4, 512, {"sampled": 301, "repaired": 211}, 270,
        {"sampled": 160, "repaired": 110}, 281, ["structure:b"],
        {f"{family}:{kind}": {"judged": 120, "passed": 10 * i, "sft_sampled": 7 * i,
            "sft_repaired": 14 if kind == "a" else 0, "pairs": 9 * i}
         for i, family in enumerate(FAMILIES["new-topic/single"]) for kind in ("a", "b")},
        {"compared": 66_000, "dropped": 2, "rule": "common subsequence of 13 tokens", "failed": False,
            "closest": [0.41, 0.4], "note": None},
    )  # fmt: skip
    return StudyResult(
        version=2, name="quickstart", spec_sha256="ab12" * 16, spec_frozen_at="2026-07-01T11:00:00+00:00", changes=[],
        spec={"name": "quickstart", "seeds": numbers, "verdict": {"smallest_effect": 0.03}, "note": HOSTILE[0]},
        start_model="local/smollm2-135m",
        engine=EngineInfo("transformers", "5.23.0", "fp32", "cd34" * 16, {"threads": 2}),
        suite="core", suite_sha256="ef56" * 16, n_prompts=220, slices=list(SLICES),
        arms=list(ARMS), arm_stages=dict(ARMS),
        arm_notes={"sft+dpo+online-dpo": "earlier recipe", "sft+dpo+grpo": "Qwen2.5 recipe"}, seeds=numbers,
        seeds_finished=numbers, failures=[],
        verdict=StudyVerdict(
            "Does the Qwen2.5 recipe (SFT, DPO, GRPO) follow held-out instructions more often than the earlier recipe "
            "(SFT, DPO, online DPO) from the same start on the same data?",
            "INCONCLUSIVE",
            "INCONCLUSIVE, about the checkpoints of this one seed: +5.0 points [−1.8 points, +11.8 points] on 220 prompts",
            "YES if the interval lies above 0; NO if it lies below +3.0 points; INCONCLUSIVE otherwise.",
            "The interval reaches from −1.8 to +11.8 points: it holds both no difference and differences worth having.",
            "checkpoints" if seeds == 1 else "method",
            "these checkpoints, not the methods: every stage was trained once" if seeds == 1 else "the methods, on this start model and data",
            "This design can find a difference of +7.1 points with 80 % power. To find +3.0 points of these checkpoints: 1270 prompts.",
            [],
            primary,
        ),
        guards=[
            GuardTest("words", "sft+dpo+grpo", "sft+dpo+online-dpo", 30.5, 30.9, 0.013, -0.02, 0.046, 0.2, "holds"),
            GuardTest("topic_words", "sft+dpo+grpo", "sft+dpo+online-dpo", 0.44, 0.47, 0.031, 0.004, 0.058, 0.05,
                "undecided"),
            GuardTest("repetition", "sft+dpo+grpo", "sft+dpo+online-dpo", 0.12, 0.01, 0.11, 0.07, 0.15, 0.05,
                "violated"),
            GuardTest("perplexity", "sft+dpo+grpo", "sft+dpo+online-dpo", None, None, None, None, None, 0.1,
                "undecided"),
        ],
        tax=[GuardTest("perplexity", arm, "start", 60.3, 49.4, 0.223, 0.17, 0.277, 0.1,
            "violated") for arm in ARMS if arm != "start"],
        matched=[Match("sft+dpo+online-dpo", "sft+dpo+grpo", seed, "tokens trained", 41_210, 40_990, 1.01,
            True) for seed in numbers],
        contrasts=contrasts, scores=scores, data=[data], stage_costs=costs,
        arm_costs=[ArmCost(arm, seed, 300, 2560, 131_204, 150_321, 0.31, 12.25,
            5.31) for seed in numbers for arm in ARMS if arm != "start"],
        curves=[curve(name, seed) for seed in numbers for name in stages], shown=_shown(),
        runs={"start": "start-0a1b2c3d4e"},
        settings=[
            SettingNote("sft", "learning rate", "7e-6 to 7e-7", "2e-5", "135 M parameters learn too slowly at 7e-6"),
            SettingNote("grpo", "answers per prompt", "8", "8", "as stated"),
            SettingNote("grpo", "order of prompts", "variance of scores, high first", "variance of scores, high first",
                "as stated"),
        ],
        warnings=["41 % of GRPO's groups had no variance: these prompts taught nothing."],
        environment={"python": "3.12.4", "torch": "2.13.0", "cores": 2,
            "command": "adhere study examples/quickstart.toml", "gpu": None},
        minutes=19.4, created="2026-07-01T12:00:00Z",
    )  # fmt: skip


def hostile_study() -> StudyResult:
    """The same with markup and control characters in every free text, arm names included."""
    result = study()
    bad = "<b onmouseover=\"document.title='owned'\">arm</b>\u202e\x1b[31m"
    swap = lambda name: bad if name == "sft" else name  # noqa: E731
    return changed(
        result,
        name=HOSTILE[0],
        arms=[swap(name) for name in result.arms],
        arm_stages={swap(name): stages for name, stages in result.arm_stages.items()},
        scores=[changed(s, arm=swap(s.arm), kinds={HOSTILE[1]: wilson(1, 2)}) for s in result.scores],
        contrasts=[changed(c, treatment=swap(c.treatment), control=swap(c.control),
            reason=HOSTILE[3]) for c in result.contrasts],
        verdict=changed(result.verdict, question=HOSTILE[0], because=HOSTILE[1], reach=HOSTILE[2], rule=HOSTILE[3],
            headline=HOSTILE[0], decides=HOSTILE[1]),
        warnings=list(HOSTILE), failures=list(HOSTILE), changes=[SpecChange(HOSTILE[2], 3, [HOSTILE[0]])],
        settings=[SettingNote(*HOSTILE)],
        notes=[CellNote(HOSTILE[0], "grpo", 0, HOSTILE[1], 0.2, 3, 9, 12, HOSTILE[3])],
        sides=StudySides(
            1, bad, HOSTILE[1], [0], {bad: HOSTILE[0]}, 0.02, 0.1, 0.95, {bad: [HOSTILE[2], HOSTILE[3]]}, "ab",
            [SideTest(HOSTILE[0], "lm-eval", HOSTILE[1], "rate", 9, 0, 0.5, 0.5, 0.0, -0.1, 0.1, 0.02, "undecided",
                4000, HOSTILE[2])],
        ),
        environment={HOSTILE[0]: HOSTILE[1], "nested": {"list": list(HOSTILE)}},
        engine=EngineInfo(HOSTILE[0], HOSTILE[1], HOSTILE[2]),
        start_model=HOSTILE[0], suite=HOSTILE[1], created=HOSTILE[2],
    )  # fmt: skip


def empty_study() -> StudyResult:
    """A study interrupted before anything was measured."""
    result = study()
    nothing = contrast("sft+dpo+grpo", "sft+dpo+online-dpo", 0, 0, role="primary", n_prompts=0, rate_treatment=None,
                       rate_control=None, difference=None, low=None, high=None, gained=0, lost=0, p_value=None,
                       p_adjusted=None, minimum_detectable=None, reason="no arm was evaluated")  # fmt: skip
    return changed(
        result, scores=[], contrasts=[nothing], verdict=changed(result.verdict, primary=nothing), stage_costs=[],
        arm_costs=[], curves=[], shown=[], settings=[], warnings=[], environment={}, data=[], guards=[], tax=[],
        matched=[], runs={}, seeds_finished=[],
    )  # fmt: skip
