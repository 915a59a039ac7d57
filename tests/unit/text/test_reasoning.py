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
    "text", ["analysis of the sea", "analysis: it works", "analysisResult = 3", "Analysis", "analysis"]
)
def test_an_answer_about_an_analysis_is_one(text: str) -> None:
    assert split_answer(text) == (text, None, "ok")
