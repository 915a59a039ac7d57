from __future__ import annotations

import pytest

from adhere.evidence.claims.names import benchmark_name, direction_of, looks_like_model, model_name, role_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("GPT-40-mini", "GPT4o-mini"),
        ("ChatGLM4-9B-1M", "GLM4-9b-Chat-1M"),
        ("Llama3.1-8B-Instruct", "meta-llama/Llama-3.1-8B-Instruct"),
        ("Qwen2-57BA14B-Instruct", "Qwen2-57B-A14B-Instruct"),
        ("Gemma2-9B-IT", "gemma-2-9b-it"),
        ("Qwen 2.5 72B Instruct", "Qwen2.5-72B-Instruct"),
    ],
)
def test_spellings_of_one_model_share_a_key(one: str, other: str) -> None:
    first, second = model_name(one), model_name(other)
    assert (first.key, first.tuning) == (second.key, second.tuning)


def test_base_and_instruct_are_two_models_and_a_guess_says_why() -> None:
    tuned = model_name("Qwen2-72B", "instruct", "its caption says so")
    assert tuned.name == "Qwen2-72B-Instruct"
    assert tuned.guesses == ("'Qwen2-72B' is taken as an instruct model: its caption says so",)
    assert model_name("Qwen2-72B", "base", "…").name == "Qwen2-72B"
    assert model_name("Qwen1.5-7B-Chat").name == "Qwen1.5-7B-Chat"


def test_versions_and_sizes_keep_models_apart() -> None:
    keys = {model_name(name).key for name in ("Llama-3-8B", "Llama-3.1-8B", "Llama-3-70B", "Qwen2-7B", "Qwen2.5-7B")}
    assert len(keys) == 5


@pytest.mark.parametrize("text", ["Coding", "MMLU", "Average", "7B", "Alignment Tasks"])
def test_what_is_no_model_does_not_look_like_one(text: str) -> None:
    assert not looks_like_model(text)


@pytest.mark.parametrize(
    ("text", "name", "variant", "metric"),
    [
        ("IFEval *strict-prompt*", "IFEval", "", "strict-prompt"),
        ("IFEval (multilingual)", "IFEval", "multilingual", ""),
        ("LiveCodeBench *v1*", "LiveCodeBench", "v1", ""),
        ("Human Eval+", "HumanEval+", "", ""),
        ("MBPP-Plus", "MBPP+", "", ""),
        ("GPOA", "GPQA", "", ""),
        ("WindoGrande", "WindoGrande", "", ""),  # a letter more is another name: LongVBench, MemBench
        ("XMMLU", "XMMLU", "", ""),
    ],
)
def test_benchmarks_with_variant_and_metric(text: str, name: str, variant: str, metric: str) -> None:
    found = benchmark_name(text)
    assert (found.name, found.variant, found.metric) == (name, variant, metric)


def test_a_guess_at_a_benchmark_is_told() -> None:
    assert benchmark_name("GPOA").guesses == ("'GPOA' is taken as GPQA: letters that scanners confuse",)


@pytest.mark.parametrize(
    ("label", "role"),
    [
        ("Avg.", "aggregate"),
        ("Macro avg. (Coding)", "aggregate"),
        ("Objective-Avg", "aggregate"),
        ("Δ vs. Base", "delta"),
        ("Rel. (%)", "delta"),
        ("Percent of Contamination", "share"),
        ("# Params", "attribute"),
        ("128K tokens", "score"),
        ("MMLU", "score"),
        ("Relevance", "score"),
    ],
)
def test_roles_of_labels(label: str, role: str) -> None:
    assert role_of(label) == role


def test_direction() -> None:
    assert direction_of("Harm, the lower, the better.") == "lower"
    assert direction_of("Accuracy ↑") == "higher"
    assert direction_of("WER") == "lower"
