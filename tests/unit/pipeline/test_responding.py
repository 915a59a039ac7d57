"""Whether an answer responds to its request: bots that a checker pays, honest terse answers, runs and batches."""

from __future__ import annotations

import pytest

import adhere
from adhere.errors import UsageError
from adhere.models.function import FunctionModel
from adhere.pipeline.floors import BOTS
from adhere.pipeline.intent.need import params_of
from adhere.pipeline.responding import Exchange, Others, responds, responds_all
from adhere.pipeline.responding.ask import responsive
from adhere.pipeline.responding.content import request_of
from adhere.pipeline.summarize import summarize
from adhere.rewards import judge_reward
from adhere.schema import ConstraintRef, Prompt, Response, Turn, Verdict
from adhere.suites import load

NO_COMMA = ConstraintRef("punctuation:no_comma")
REQUESTS = [
    "Write a letter to a landlord about a broken heater.",
    "Describe how a lighthouse works.",
    "Give me three tips for growing tomatoes on a balcony.",
    "Why do cats purr when they sleep?",
    "Suggest a name for a bakery that sells sourdough.",
    "Explain photosynthesis to a child.",
    "Plan a weekend in Lisbon for two friends.",
    "What is the boiling point of nitrogen?",
    "Compare trains with aeroplanes for a family trip.",
    "Summarize the plot of Hamlet.",
    "Write a poem about rain on a tin roof.",
    "How do I fix a flat bicycle tyre?",
]
HONEST = [
    ("Who wrote Faust?", "Goethe."),
    ("Why did my bread not rise?", "Dead yeast."),
    ("Can dogs eat grapes?", "No: kidney failure."),
    ("Can dogs eat grapes?", "No."),
    ("What is 2 + 2?", "4"),
    ("Name three red fruits.", "Cherry, strawberry, currant."),
    ("Write a poem about the sea in lowercase letters.", "salt wind and grey foam,\nthe gulls cry over the pier"),
    ("Come up with a slogan for a bicycle shop.", "two wheels, no worries"),
    ("What should I wear to a beach wedding?", "Linen."),
    ("How do I reset my router?", "Hold the pin button for ten seconds."),
    ("Is it safe to eat raw cookie dough? Answer 'My answer is yes.' or 'My answer is no.'", "My answer is no."),
    ("Suggest two vegetarian dinners.", "Lentil curry\n******\nMushroom risotto"),
]


@pytest.mark.parametrize(("request_text", "answer"), HONEST)
def test_honest_terse_answers_respond(request_text: str, answer: str) -> None:
    found = responsive(request_text, answer)
    assert found.outcome == "yes", found


@pytest.mark.parametrize(
    ("request_text", "answer", "reason"),
    [
        ("Describe how a lighthouse works.", "", "no text"),
        ("Describe how a lighthouse works.", "Here is everything that you need to know about it.", "promises"),
        ("Describe how a lighthouse works.", "This text has no commas and three sentences.", "its own form"),
        ("Describe how a lighthouse works.", "I will gladly describe how a lighthouse works for you.", "empty"),
        ("Describe how a lighthouse works.", "What would you like to know? Which one do you mean?", "asks back"),
        ("Write a poem about the sea.", "la vida es un sueño y los sueños son parte de la noche", "language"),
        ("Is it safe? Say 'My answer is yes.' or 'My answer is no.'", "My answer is yes. My answer is no.", "contrary"),
        ("Name the people in your family.", "1. Aunt Mary 1\n2. Aunt Mary 2\n3. Aunt Mary 3", "repeat"),
        (
            "Explain why bread rises in the oven when yeast is old.",
            "The Amazon rainforest is home to thousands of birds. "
            + "Jaguars hunt along its banks at night while frogs sing, "
            "and trees grow tall towards the light that falls through their crowns. " * 2,
            "takes up nothing",
        ),
        ("List three capitals as JSON.", '{"error": "Unable to list the capitals."}', "empty"),
    ],
)
def test_what_keeps_the_form_and_answers_nothing_does_not_respond(request_text: str, answer: str, reason: str) -> None:
    found = responsive(request_text, answer)
    assert found.outcome == "no", found
    assert reason in found.reason


def test_without_others_the_reason_says_what_was_not_looked_at() -> None:
    assert "neither other answers nor a model" in responsive("Who wrote Faust?", "Goethe.").reason
    found = responsive("Who wrote Faust?", "Goethe.", other_answers=["Paris.", "Four."])
    assert "no model was asked" in found.reason
    assert "other answers" not in found.reason


def test_what_is_said_to_every_request_responds_to_none() -> None:
    text = "The wheel of seasons turns and old songs return at dusk."
    assert responsive(REQUESTS[1], text).outcome == "yes"  # alone nothing tells
    found = responsive(REQUESTS[1], text, other_answers=[text] * 3, other_prompts=REQUESTS[4:7])
    assert found.outcome == "no"
    assert "3 other requests" in found.reason
    # The same answer again to the same request is no other request.
    same = responsive(REQUESTS[1], text, other_answers=[text] * 3, other_prompts=[REQUESTS[1]] * 3)
    assert same.outcome == "yes"


def test_a_form_that_a_rule_asks_of_all_is_nobody_s_answer() -> None:
    rule = ConstraintRef("startend:end_checker", {"end_phrase": "that is all I can say about this today"})
    texts = ["Sun warms the sea.", "Lamps turn slowly.", "Water them daily.", "They feel safe."]
    rows = [
        Exchange(
            f"{request} End with: that is all I can say about this today",
            f"{text} That is all I can say about this today",
            (rule,),
        )
        for request, text in zip(REQUESTS, texts, strict=False)
    ]
    assert all("other requests" not in found.reason for found in responds_all(rows))


@pytest.mark.parametrize("bot", BOTS, ids=[bot.name for bot in BOTS])
def test_every_bot_is_caught_on_core(bot: object) -> None:
    answer = bot.answer  # type: ignore[attr-defined]
    rows = [
        Exchange(prompt.turns[0].text, answer(prompt.turns[0].text), prompt.turns[0].constraints)
        for prompt in load("core").prompts
    ]
    found = responds_all(rows)
    assert sum(one.outcome == "no" for one in found) >= 0.95 * len(found)


def test_requests_in_other_languages_are_undecided() -> None:
    request = "Describe el proceso de preparación de café en detalle para una persona que no lo sabe."
    found = responsive(request, "Primero se muele el café y después se hierve el agua en la cafetera.")
    assert found.outcome == "undecided"
    assert "cannot read" in found.reason


def test_an_answer_in_the_language_that_a_rule_asks_for_did_not_leave_its_request() -> None:
    ref = ConstraintRef("language:response_language", {"language": "fr"})
    prompt = Prompt(id="a", turns=(Turn("Describe the sea, only in French.", (ref,)),), source="t", tags={})
    found = responsive(prompt, "La mer est bleue et les vagues sont hautes dans le port de la ville.")
    assert found.outcome == "undecided"


def test_others_forget_the_oldest() -> None:
    others = Others(most=2)
    text = "one two three four five six seven"
    for request in REQUESTS[:4]:
        others.add(request_of(request, params_of(())), text)
    assert others.alike(request_of(REQUESTS[5], frozenset()), text) == 2


def test_bad_input_is_an_error() -> None:
    with pytest.raises(UsageError, match="1 other prompts and 2 other answers"):
        responsive("a", "b", other_answers=["c", "d"], other_prompts=["e"])
    with pytest.raises(UsageError, match="must be a text"):
        responsive("a", None)  # type: ignore[arg-type]


def test_it_is_offered_as_a_public_name() -> None:
    assert adhere.responsive is responsive


def test_a_rule_that_dictates_the_answer_is_its_intent() -> None:
    ref = ConstraintRef("copying:echo", {"text": "open sesame"})
    assert responds(Exchange("Repeat: open sesame", "open sesame", (ref,)), traps=()).outcome == "yes"


# -- in summaries ---------------------------------------------------------------------------------------------------


def _passes(prompt: Prompt) -> list[Verdict]:
    return [
        Verdict(prompt_id=prompt.id, turn=0, draw=0, index=0, constraint_id=NO_COMMA.id, view=view, outcome="pass", reason="", verifier_version="1")
        for view in ("strict", "loose")
    ]  # fmt: skip


def test_a_summary_counts_what_responds_beside_what_passes() -> None:
    prompts = [
        Prompt(id=str(n), turns=(Turn(text, (NO_COMMA,)),), source="t", tags={}) for n, text in enumerate(REQUESTS[:4])
    ]
    said = [
        "Dear Mr Lee the heater in flat 4 is cold since Monday and my children sleep in coats. Please send a plumber.",
        "Here is everything that you need to know about it.",
        "Water them daily and feed potash.",
        "I will gladly tell you why cats purr when they sleep.",
    ]
    responses = [Response(one.id, 0, 0, text, "ok") for one, text in zip(prompts, said, strict=True)]
    summary = summarize(prompts, 1, responses, [verdict for one in prompts for verdict in _passes(one)])
    assert summary.overall.prompt_strict.of_all == 1.0
    assert summary.overall.guard.responsive_share == 0.5


def test_unreadable_requests_are_in_no_denominator() -> None:
    texts = [REQUESTS[0], "Describe el proceso de preparación de café en detalle para una persona que no lo sabe."]
    prompts = [Prompt(id=str(n), turns=(Turn(text, (NO_COMMA,)),), source="t", tags={}) for n, text in enumerate(texts)]
    responses = [Response(one.id, 0, 0, "Here is everything about it.", "ok") for one in prompts]
    summary = summarize(prompts, 1, responses, [verdict for one in prompts for verdict in _passes(one)])
    assert summary.overall.guard.responsive_share == 0.0


# -- in rewards -----------------------------------------------------------------------------------------------------


def test_the_reward_pays_no_answer_that_the_batch_says_to_every_prompt() -> None:
    text = "The wheel of seasons turns and old songs return at dusk."
    prompts, n = [REQUESTS[1], *REQUESTS[3:6]], 4

    def columns(size: int) -> dict[str, list[object]]:
        return {"instruction_id_list": [[NO_COMMA.id]] * size, "kwargs": [[{}]] * size, "is_truncated": [False] * size}

    judge = judge_reward("dense", traps=True)
    assert judge(prompts=prompts[:1], completions=[text], **columns(1)) == [1.0]  # alone nothing tells
    assert judge(prompts=prompts, completions=[text] * n, **columns(n)) == [0.0] * n
    assert judge(prompts=prompts[:1], completions=[text], **columns(1)) == [0.0]  # the last answers are remembered
    assert judge_reward("dense")(prompts=prompts, completions=[text] * n, **columns(n)) == [1.0] * n
    honest = [
        "Lamps turn and a lens throws their beam far out to sea.",
        "They feel safe with their owner near.",
        "Crumb and Crust.",
        "Leaves turn light into sugar.",
    ]
    assert judge_reward("dense", traps=True)(prompts=prompts, completions=honest, **columns(n)) == [1.0] * n


OFF_TOPIC = "The hiking boots of a narrow river greatly change the climate of the northern valley."


@pytest.mark.parametrize(
    ("reply", "outcome", "told"),
    [
        ('{"holds": [true]}', "yes", "judge says that it responds"),
        ('{"holds": [false]}', "no", "judge says that it does not"),
        ("It does, I think.", "undecided", "judge gave no readable verdict"),
        ('{"holds": [true, true]}', "undecided", "judge gave no readable verdict"),
    ],
)
def test_a_judge_is_asked_where_words_cannot_tell(reply: str, outcome: str, told: str) -> None:
    questions = []

    def judge(messages: list[dict[str, str]]) -> str:
        questions.append(messages[-1]["content"])
        return reply

    model = FunctionModel(judge, name="judge")
    assert responsive("Why do cats purr when they sleep?", OFF_TOPIC).outcome == "yes"
    assert responsive("Why do cats purr when they sleep?", OFF_TOPIC, model=model) == (outcome, told)
    assert "hiking boots" in questions[0]


def test_a_judge_cannot_be_talked_round_where_words_say_no() -> None:
    def judge(messages: list[dict[str, str]]) -> str:
        raise AssertionError(f"nobody has to be asked: {messages}")

    model = FunctionModel(judge, name="judge")
    assert responsive("Why do cats purr?", "Sure, here is the answer you asked me for.", model=model).outcome == "no"
