from adhere.text.reasoning import split_reasoning


def test_split_reasoning():
    assert split_reasoning("an answer") == (None, "an answer")
    assert split_reasoning("<think>why</think>\n\nanswer") == ("why", "answer")
    assert split_reasoning("why</think>answer") == ("why", "answer")
    assert split_reasoning("<think>never closed") == ("never closed", "")
    assert split_reasoning(" <think>a</think> <think>b</think> c") == ("a\nb", "c")
    assert split_reasoning("the tag <think> is no HTML") == (None, "the tag <think> is no HTML")
    assert split_reasoning("<think></think>x") == ("", "x")
    assert split_reasoning("<think>a</think>" * 3) == ("a\na\na", "")
