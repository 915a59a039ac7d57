import pytest

from adhere.text.reasoning import split_answer, split_reasoning


def test_split_reasoning():
    assert split_reasoning("an answer") == (None, "an answer")
    assert split_reasoning("<think>why</think>\n\nanswer") == ("why", "answer")
    assert split_reasoning("why</think>answer") == ("why", "answer")
    assert split_reasoning("<think>never closed") == ("never closed", "")
    assert split_reasoning(" <think>a</think> <think>b</think> c") == ("a\nb", "c")
    assert split_reasoning("the tag <think> is no HTML") == (None, "the tag <think> is no HTML")
    assert split_reasoning("<think></think>x") == ("", "x")
    assert split_reasoning("<think>a</think>" * 3) == ("a\na\na", "")


@pytest.mark.parametrize(
    "text",
    ["analysisWe need to write. Let me think", "\nanalysisThe user wants", "analysis用户想要", "analysisI'm asked"],
)
def test_unmarked_reasoning_that_was_cut_is_no_answer(text: str) -> None:
    assert split_answer(text) == ("", text.strip().removeprefix("analysis"), "truncated")


@pytest.mark.parametrize(
    "text",
    [
        "assistantanalysisWe need it.assistantfinalThe sea.",
        "We need it.<|end|><|start|>assistant<|channel|>final<|message|>The sea.<|return|>",
        "analysis<|message|>We need it.<|end|><|start|>assistant<|channel|>final<|message|>The sea.",
        "<|START_THINKING|>We need it.<|END_THINKING|><|START_RESPONSE|>The sea.<|END_RESPONSE|>",
        "<|begin_of_thought|>We need it.<|end_of_thought|>\n<|begin_of_solution|>The sea.<|end_of_solution|>",
        "<unused94>thought\nWe need it.<unused95>The sea.",
        "<|channel>thought\nWe need it.<channel|>The sea.",
        "\ufeff<think>We need it.</think>The sea.",
        "<s><|im_start|>assistant\n<think>We need it.</think>The sea.",
    ],
)
def test_reasoning_of_other_templates_is_set_aside(text: str) -> None:
    answer, reasoning, status = split_answer(text)
    assert (answer, status) == ("The sea.", "ok")
    assert "We need it." in (reasoning or "")


@pytest.mark.parametrize(
    "text", ["<|START_THINKING|>We need", "<s><think>We need", "commentaryWe need", "analysisOk. We"]
)
def test_what_was_cut_in_its_reasoning_is_no_answer(text: str) -> None:
    assert split_answer(text)[::2] == ("", "truncated")


def test_harmony_that_only_answers_is_the_answer() -> None:
    for text in ("assistantfinalThe sea.", "finalThe sea."):
        assert split_answer(text) == ("The sea.", None, "ok")


@pytest.mark.parametrize(
    "text",
    [
        "finalResult = 3",
        "final: yes",
        "finally",
        "analysis of the sea",
        "analysis: it works",
        "analysisResult = 3",
        "Analysis",
        "analysis",
    ],
)
def test_an_answer_about_an_analysis_is_one(text: str) -> None:
    assert split_answer(text) == (text, None, "ok")
