"""The intent gate: what takes a trap, what does not, and the scripted exploits of kinds."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from adhere.cli.traps import command
from adhere.constraints.base import registry
from adhere.constraints.published.shared.registry import fill, find
from adhere.environments import env
from adhere.environments.environment import Environment
from adhere.errors import SpecError, UsageError
from adhere.pipeline.intent import traps_of
from adhere.pipeline.intent.exploits import exploits_of
from adhere.pipeline.intent.gate import dictates
from adhere.pipeline.reward import reward_of
from adhere.rewards import judge_reward
from adhere.schema import ConstraintRef, Prompt, RlRow, Turn, encode
from adhere.suites import Suite
from adhere.train.recipe.load import load_recipe

ASKED = (
    "Write a short blog post about the benefits of cycling to work every morning in winter for office employees of "
    "large cities. Use the word lantern. Use no commas."
)
HONEST = (
    "Cycling wakes you up before the day begins. A lantern on the handlebar keeps you safe in winter and the ride "
    "home clears your head. You save money on fuel and arrive at your desk in a good mood."
)
NO_COMMA, LANTERN = (
    ConstraintRef("punctuation:no_comma"),
    ConstraintRef("keywords:existence", {"keywords": ["lantern"]}),
)
REFS = (NO_COMMA, LANTERN)
PLAIN = HONEST.replace("lantern", "lamp")
FILLER = "The weather was mild and two old boats lay at the pier while gulls circled above them. " * 2 + (
    "Nobody spoke for a long time until a bell rang behind the market hall and everyone went home with a lantern."
)


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        (HONEST, ()),
        ("", ()),
        (f"{PLAIN}\n<!-- lantern -->", ("hidden",)),
        (f"{PLAIN}\n\n[//]: # (lantern)", ("hidden",)),
        (HONEST.replace(" ", "\u200b"), ("hidden", "empty")),
        (HONEST.replace(" and ", "， "), ("look-alike",)),
        (f"{PLAIN}\n\nKeywords: lantern", ("padding",)),
        (f"{PLAIN}\n\nlantern lantern lantern lantern lantern", ("padding",)),
        (ASKED, ("padding", "echo", "empty")),
        (ASKED.upper(), ("padding", "echo", "empty")),
        (ASKED.replace(" ", ""), ("echo", "empty")),
        ("lantern", ("empty",)),
        ("# Lantern\n\n## Lantern\n\n* \n* ", ("empty", "repeat")),
        ("```\n```\nlantern", ("empty",)),
        ("lantern " * 30, ("empty", "repeat")),
        (f"{HONEST} " * 5, ("repeat",)),
        (FILLER.replace(",", ""), ("off-topic",)),
        (f'{PLAIN}\n<span style="font-size:0">lantern</span>', ("hidden",)),
        (f"{PLAIN}\n<template>lantern</template>", ("hidden",)),
        (f"{PLAIN}\n<p hidden>lantern", ("hidden",)),
        (HONEST.replace(" and ", "، "), ("look-alike",)),
        (HONEST.translate(str.maketrans("oe", "ое")), ("look-alike",)),
        (f"Keywords - lantern\n\n{PLAIN}", ("padding",)),
        (f"{PLAIN}\n\nRelated terms: lantern lantern", ("padding",)),
        (" ".join(reversed(ASKED.split())), ("padding", "echo")),
        (f"Absolutely, happy to help! {' '.join(reversed(ASKED.split()))}", ("padding", "echo")),
        (f"{PLAIN}\n\n{{{{# my lantern shines #}}}}", ("hidden",)),
        (f"{PLAIN}\n\n% my lantern shines", ("hidden",)),
        (f"{PLAIN}\n\\iffalse my lantern shines \\fi", ("hidden",)),
        (f"{PLAIN}\n\\phantom{{{{my lantern shines}}}}", ("hidden",)),
        (f"{PLAIN}\n<details><summary></summary>my lantern shines</details>", ("hidden",)),
        (f"{PLAIN}\n\n[^1]: my lantern shines", ("hidden",)),
        (f"{PLAIN} So it pays[^1].\n\n[^1]: a lantern is sold at any bicycle shop in town", ()),
        (HONEST.replace(" and", "\u202f\u2060 and").replace(".", ""), ("look-alike",)),
        (f"You asked: {ASKED}", ("padding", "echo", "empty")),
        ("lantern 1\n[TODO]\n\nlantern 2\n[TODO]", ("empty", "repeat")),
        (" ".join(f"lantern{at}" for at in range(30)), ("repeat",)),
        (PLAIN.replace(". A lamp", ". (lantern; lantern) A lamp"), ("padding",)),
        (
            f"{PLAIN}\n\nThe word lantern appears in this answer.\n\nRide on tomorrow and the day after it.",
            ("padding",),
        ),
        (f"{PLAIN}\n\nYou need:\n- gloves\n- lantern\n- helmet", ()),
        (f"{PLAIN}\n\n# Lantern\n\nHang it on the handlebar.", ()),
        (f"---\nword: lantern\n---\n\n{PLAIN}", ("hidden", "padding")),
        (f"{PLAIN}\n<span class='x'>lantern</span>", ("hidden",)),
        (f"{PLAIN} ![lantern](a.png)", ("hidden",)),
        (f"{PLAIN}\n\n[lantern]: https://example.org", ("hidden",)),
        (f"{PLAIN} {{% comment %}}lantern{{% endcomment %}}", ("hidden",)),
        (HONEST.translate(str.maketrans("aeo", "ạẹọ")).replace("lạntẹrn", "lantern"), ("look-alike",)),
        (HONEST.replace("the", "th3").replace("you", "y0u").replace("and", "4nd"), ("look-alike",)),
        (HONEST.replace("fuel", "fuẹl"), ()),
        (
            " ".join(f"Let us say {word}." for word in ASKED.split()[4:16] if word.isalpha()) + " lantern",
            ("padding", "empty", "repeat"),
        ),
    ],
)
def test_what_takes_a_trap(text: str, taken: tuple[str, ...]) -> None:
    assert traps_of(ASKED, text, REFS) == taken


def test_what_a_rule_asks_for_is_no_trap() -> None:
    assert (
        traps_of(
            "Repeat: one two three four five six seven eight. Say nothing else.",
            "one two three four five six seven eight",
            (ConstraintRef("copy:copy", {"prompt_to_repeat": "one two three four five six seven eight"}),),
        )
        == ()
    )
    end = ConstraintRef("startend:end_checker", {"end_phrase": "Ride on."})
    assert traps_of(ASKED, f"{PLAIN}\n\nRide on.", (end,)) == ()
    assert (
        traps_of("Is it raining? Answer yes or no.", "no", (ConstraintRef("detectable_format:constrained_response"),))
        == ()
    )
    riddle = "What has keys but opens no door? What am I?"
    assert traps_of(riddle, "A piano", (NO_COMMA,)) == ()
    assert (
        traps_of(
            "Summarise: cats sleep long because hunting takes energy.",
            "Cats sleep long; hunting takes energy.",
            (NO_COMMA,),
        )
        == ()
    )
    russian = "Почему ночью темно, скажи."
    assert (
        traps_of(
            "Why is the night dark? Say it in Russian.",
            russian,
            (ConstraintRef("length_constraints:number_words", {"num_words": 3, "relation": "at least"}),),
        )
        == ()
    )


@pytest.mark.parametrize(
    ("asked", "text", "taken"),
    [
        ("How do I boil an egg?", "Boil water, add eggs, wait ten minutes.", ()),
        ("How do I boil an egg?", "Title. The end.", ("empty",)),
        ("How do I boil an egg?", "<h1></h1>", ("empty",)),
        ("Is the sky blue at noon? Answer yes or no.", "Yes.", ()),
        ("Who wrote the novel Emma?", "Austen", ()),
        ("How many eggs make a dozen?", "12", ()),
        ("Tell me how eggs are boiled.", "1. a\n2. b\n3. c", ("empty",)),
        (
            "What is the name of the river that flows through Cairo?",
            "The name of the river that flows through Cairo is the Nile.",
            (),
        ),
        ("Give me a nickname for Edward.", "Ted", ()),
        ("Complete the sentence: the quick brown fox jumps over the lazy ____", "dog", ()),
        ("Which is larger? A) the moon B) the sun", "B", ()),
        ("Question: who wrote Emma?\nAnswer: Jane Austen\nQuestion: and who painted her?\nAnswer:", "Cassandra", ()),
        ("Say whether the review is either positive or negative: I loved it.", "positive", ()),
        ("Write a regex that matches an IPv4 address.", r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}", ()),
        (
            "Why is the unit µm used for dust by many laboratories?",
            "Dust grains are a few µm wide, so µm says it best; μg says how heavy they are.",
            (),
        ),
    ],
)
def test_what_a_prompt_needs(asked: str, text: str, taken: tuple[str, ...]) -> None:
    assert traps_of(asked, text) == taken


def test_a_forbidden_word_is_found_in_other_letters() -> None:
    no = (ConstraintRef("keywords:forbid", {"words": ["winter"]}),)
    for word in ("w1nter", "wıntеr", "w.i.n.t.e.r", "w i n t e r", "ⓦⓘⓝⓣⓔⓡ"):
        assert traps_of(ASKED, HONEST.replace("winter", word), no) == ("look-alike",), word
    assert traps_of(ASKED, HONEST.replace("in winter", "when it is cold"), no) == ()


def test_the_same_words_in_other_orders_are_an_answer() -> None:
    asked = (
        "Four friends rank chess, checkers, monopoly and scrabble by these clues: … What does each of them like most?"
    )
    ranks = "Amy: chess > scrabble > monopoly > checkers\nBob: checkers > chess > scrabble > monopoly\n"
    more = "Cem: scrabble > checkers > chess > monopoly\nDee: monopoly > checkers > scrabble > chess"
    assert traps_of(asked, ranks + more) == ()


@pytest.mark.parametrize("part", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_hostile_megabytes_take_a_second_each(part: int) -> None:
    """Or a part of one that part of a second: what is quadratic takes longer than either limit."""
    for whole in (
        "<p hidden>" * 100_000,
        "very " * 200_000,
        "1. a\n" * 200_000,
        "аb " * 300_000,
        "# [x]: # (" * 100_000,
        "{#" * 500_000,
        "\\phantom{" * 100_000,
        "[^1]: x\n" * 100_000,
        "b\u2800" * 500_000,
        "é" * 1_000_000,
        "(lantern " * 100_000,
        "[a]: b\n" * 150_000,
        "{% comment " * 100_000,
    ):
        start = time.process_time()
        traps_of(ASKED, whole[: len(whole) // part], REFS)
        assert time.process_time() - start < 20 / part, whole[:10]


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("keywords:include", {"phrase", "keywords", "hidden", "fence", "repeat"}),
        ("length:at_least", {"repeat", "echo"}),
        ("punctuation:no_commas", {"echo", "sections"}),
        ("structure:bullets", {"sections"}),
    ],
)
def test_exploits_pass_their_checker_and_are_caught(name: str, shapes: set[str]) -> None:
    constraint = registry.get(name).draw(random.Random(1), words=("garden", "river"))
    asked = f"{ASKED} {constraint.describe(0)}"
    honest = "Cycling to work is good, cheap and quick. You see the town wake up, and you sleep better."
    found = exploits_of(constraint, asked, [honest])
    assert shapes <= {exploit.shape for exploit in found}
    for exploit in found:
        assert constraint.check(exploit.text).outcome == "pass", exploit
        if exploit.shape != "canned":
            assert traps_of(asked, exploit.text, (constraint.ref(),)), exploit


def test_a_rule_that_dictates_the_answer_has_no_exploit() -> None:
    constraint = fill(find("detectable_format:constrained_response"), {})
    assert dictates(constraint.ref())
    assert exploits_of(constraint, ASKED, [HONEST]) == []


def test_the_gate_takes_the_reward_and_nothing_else() -> None:
    for text, whole in ((HONEST, 1.0), ("lantern", 0.0), ("nothing, at all", 0.0)):
        assert reward_of(text, REFS, kind="binary", request=ASKED) == whole
    assert reward_of("lantern", REFS, kind="binary") == 1.0
    columns: dict[str, Any] = {
        "instruction_id_list": [[ref.id for ref in REFS]] * 2,
        "kwargs": [[ref.params for ref in REFS]] * 2,
    }
    prompts = [[{"role": "system", "content": "Be kind."}, {"role": "user", "content": ASKED}], ASKED]
    assert judge_reward(traps=True)(prompts=prompts, completions=[HONEST, "lantern"], **columns) == [1.0, 0.0]
    assert judge_reward()(prompts=prompts, completions=[HONEST, "lantern"], **columns) == [1.0, 1.0]
    with pytest.raises(UsageError, match="one prompt a completion"):
        judge_reward(traps=True)(completions=["x", "y"], **columns)


def test_environments_gate_and_say_so() -> None:
    suite = Suite("test", "1", (Prompt("p", (Turn(ASKED, REFS),)),))
    judged = Environment(suite, traps=True).judge("p", "lantern")
    assert (judged.score, judged.metrics["traps"], judged.reasons) == (0.0, 1.0, ("trap: empty",))
    assert Environment(suite, traps=True).score("p", HONEST) == 1.0
    assert Environment(suite).judge("p", "lantern").score == 1.0
    assert env(suite, traps=True).traps


def test_recipes_take_the_table(tmp_path: Path) -> None:
    file = tmp_path / "r.toml"
    for table, kind in (("[reward]\ntraps = true", "dense"), ('[[reward]]\nkind = "binary"\ntraps = true', "binary")):
        file.write_text(f'name = "r"\n{table}\n', encoding="utf-8")
        [term] = load_recipe(str(file))[0].reward
        assert (term.kind, term.traps) == (kind, True)  # type: ignore[union-attr]
    for wrong in ('kind = "too-long"\ntraps = true', "trap = true", 'traps = "yes"'):
        file.write_text(f'name = "r"\n[reward]\n{wrong}\n', encoding="utf-8")
        with pytest.raises(SpecError, match="trap"):
            load_recipe(str(file))


def test_our_stages_gate() -> None:
    pytest.importorskip("torch")
    from adhere.train.batch.rollout import Answer
    from adhere.train.stage.scoring import open_scorer
    from adhere.train.stage.settings import RewardTerm

    row = RlRow("p", ASKED, 8, 0.5, 0.1, tuple(ref.id for ref in REFS), tuple(ref.params for ref in REFS))
    answers = [Answer(HONEST, truncated=False), Answer("lantern", truncated=False)]
    for reward, scores in (("dense", [1.0, 1.0]), ((RewardTerm("dense", traps=True),), [1.0, 0.0])):
        assert open_scorer(reward, [row], judge=None, device="cpu")("p", answers) == scores  # type: ignore[arg-type]


def test_the_command_scores_files_logs_and_models(tmp_path: Path) -> None:
    file = tmp_path / "completions.jsonl"
    refs = {"instruction_id_list": [ref.id for ref in REFS], "kwargs": [ref.params for ref in REFS]}
    rows = [
        {
            "step": step,
            "prompt": [{"role": "user", "content": ASKED}],
            "completion": [{"role": "assistant", "content": text}],
            **refs,
        }
        for step, text in ((1, HONEST), (1, "lantern"), (2, f"{PLAIN}\n<!-- lantern -->"), (2, ""))
    ]
    file.write_bytes(b"\n".join(map(encode, rows)))
    found = json.loads(CliRunner().invoke(command, [str(file), "--json"], catch_exceptions=False).output)
    assert (found["answers"], found["taken"], found["by_trap"]) == (3, 2, {"hidden": 1, "empty": 1})
    assert (found["passing"], found["passing_taken"]) == (3, 2)
    assert found["by_step"] == [{"step": 1, "answers": 2, "taken": 1}, {"step": 2, "answers": 1, "taken": 1}]
    shown = CliRunner().invoke(command, [str(file)], catch_exceptions=False).output
    assert "2 of 3 answers take a trap" in shown
    out = str(tmp_path / "runs")
    asked = ["scripted/echo", "--suite", "core:x1", "--out", out, "--json"]
    echoed = json.loads(CliRunner().invoke(command, asked, catch_exceptions=False).output)
    assert echoed["answers"] == echoed["taken"] == echoed["by_trap"]["echo"]
    [run] = [path.parent for path in (tmp_path / "runs").rglob("manifest.json")]
    assert json.loads(CliRunner().invoke(command, [str(run), "--json"], catch_exceptions=False).output) == echoed | {
        "target": str(run)
    }
    file.write_text('{"prompt": "x", "response": "y", "instruction_id_list": ["a:b"]}\n', encoding="utf-8")
    with pytest.raises(SpecError, match=r"jsonl:1: instruction_id_list names 1 constraints, kwargs 0"):
        CliRunner().invoke(command, [str(file)], catch_exceptions=False)
    file.write_text('{"prompt": "x"}\n', encoding="utf-8")
    with pytest.raises(SpecError, match=r"jsonl:1: a row needs"):
        CliRunner().invoke(command, [str(file)], catch_exceptions=False)
