import pytest

from adhere.constraints import conflict, make

CASES = [
    ("style:reading_ease", {"score": 100}, "The cat sat on the mat.", "pass"),
    ("style:reading_ease", {"score": 50}, "Institutional heterogeneity necessitates reconsideration.", "fail"),
    ("style:sentence_average", {"words": 3}, "Cats sleep. Dogs bark a lot.", "pass"),
    ("style:sentence_average", {"words": 3}, "Cats sleep a lot here. Dogs bark.", "fail"),
    ("style:word_average", {"letters": 5}, "Clever kittens", "pass"),
    ("style:word_average", {"letters": 5}, "Katzen so", "fail"),
    ("style:no_first_person", {}, "The US is big; Weimar too.\nI. Hawaii", "pass"),
    ("style:no_first_person", {}, "They told us.", "fail"),
    ("style:no_first_person", {}, "World War I ended; I/O works", "pass"),
    ("style:no_first_person", {}, "Let’s go", "fail"),
    ("style:no_first_person", {}, "Yes, I’m here", "fail"),
    ("style:no_hedging", {}, "Mayhem in Maytown", "pass"),
    ("style:no_hedging", {}, "It MAY rain", "fail"),
    ("style:no_hedging", {}, "In May it rains.", "pass"),
    ("style:no_hedging", {}, "In May it may rain.", "fail"),
    ("style:no_hedging", {}, "So I think", "fail"),
    ("style:no_fillers", {}, "Justice and verynice", "pass"),
    ("style:no_fillers", {}, "It is just so.", "fail"),
    ("style:no_negation", {}, "Notable knots, a cannon", "pass"),
    ("style:no_negation", {}, "It isn’t", "fail"),
    ("style:no_negation", {}, "NOTHING else", "fail"),
    ("style:no_to_be", {}, "Bees island", "pass"),
    ("style:no_to_be", {}, "That's it", "fail"),
    ("style:no_to_be", {}, "At 7 am or 9 AM, it rains.", "pass"),
    ("style:no_to_be", {}, "Here am I", "fail"),
    ("style:no_to_be", {}, "How’s that", "fail"),
    ("style:no_ly_adverbs", {}, "The family bully can reply early; a fly", "pass"),
    ("style:no_ly_adverbs", {}, "It ran QUICKLY", "fail"),
    ("style:no_ly_adverbs", {}, "Emily met a jolly, smelly cat.", "pass"),
    ("style:no_ly_adverbs", {}, "It ran jollily", "fail"),
    ("style:second_person", {"count": 2}, "You know yourself", "pass"),
    ("style:second_person", {"count": 1}, "The youth", "fail"),
    ("style:varied_starts", {"count": 3}, "Cats nap. (Cows moo.) Dogs run!", "pass"),
    ("style:varied_starts", {"count": 2}, "Cats nap. “CATS” run.", "fail"),
    ("style:varied_starts", {"count": 3}, "Cats nap. Dogs run.", "fail"),
    ("style:varied_letters", {"count": 2}, "Éa nap. Ea run.", "pass"),
    ("style:varied_letters", {"count": 2}, "Cats nap. cows moo.", "fail"),
    ("style:alternating_lines", {"count": 4}, "one two\r\none\r\n\r\none two\none", "pass"),
    ("style:alternating_lines", {"count": 3}, "one\none two\none two three", "fail"),
    ("style:alternating_lines", {"count": 2}, "one\ntwo", "fail"),
    ("style:only_questions", {}, 'Why? He asked "Who?"', "pass"),
    ("style:only_questions", {}, "Why?\nBecause", "fail"),
]


@pytest.mark.parametrize(("name", "params", "text", "outcome"), CASES)
def test_cases(name, params, text, outcome):
    assert make(name, **params).check(text).outcome == outcome


def test_findings_count_and_point():
    finding = make("style:no_hedging").check("It may rain, perhaps.")
    assert finding.reason == 'found 2 hedges, the first is "may"'
    assert (finding.measured, finding.span) == (2, (3, 6))
    finding = make("style:varied_starts", count=2).check("Cats nap. Cats run.")
    assert finding.reason == 'two sentences begin with word "cats"'
    assert finding.span == (10, 11)
    finding = make("style:sentence_average", words=2).check("Cats sleep a lot.")
    assert finding.reason == "the sentences have 4.0 words on average, allowed 2"
    assert finding.score == 0.5


def test_repairs_cut_or_add_little():
    assert make("style:no_fillers").repair("Cats really sleep.") == "Cats sleep."
    assert make("style:no_hedging").repair("It may rain.") == "It can rain."
    assert make("style:no_negation").repair("Cats sleep. They never run.") == "Cats sleep."
    assert make("style:second_person", count=1).repair("Cats sleep.") == "Cats sleep. Now you know."
    assert make("style:only_questions").repair("Cats sleep.") is None


def test_forbidden_words_conflict_with_required_ones():
    assert conflict(make("style:no_hedging"), make("keywords:include", words=["perhaps"]))
    assert not conflict(make("style:no_hedging"), make("keywords:include", words=["mayhem"]))
    assert conflict(make("style:only_questions"), make("counting:questions", count=1))
