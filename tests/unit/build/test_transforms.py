"""Every transform: what it makes, that attached constraints are proved, and that nothing is left out in silence."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from adhere.build.convert import write_table
from adhere.build.transforms import TRANSFORMS, Settings, transform
from adhere.build.transforms.documents import repetition
from adhere.build.transforms.rows import constraints, keeps, sentence_in, text_of
from adhere.cli import adhere
from adhere.constraints import make
from adhere.errors import UnknownName, UsageError
from adhere.schema import CRITERIA

INCLUDE = make("keywords:include", words=("river",))
FEW = make("length:at_most", limit=12)
COMMAS = make("punctuation:no_commas")


def columns(*found: object) -> dict:
    refs = [one.ref() for one in found]
    return {
        "instruction_id_list": [ref.id for ref in refs],
        "kwargs": [dict(ref.params) for ref in refs],
        "prompt_id": "p",
        "turn": 0,
        "origin": "sampled",
    }


def prompt(query: str, *found: object) -> str:
    return " ".join([query, *(one.describe(0) for one in found)])


SFT = [
    {"prompt": prompt("Where do boats go?", INCLUDE, COMMAS), "completion": "Down the river to the sea.",
        **columns(INCLUDE, COMMAS)},
    {"prompt": prompt("Say hello.", FEW), "completion": "Hello there my friend!", **columns(FEW)},
    {"prompt": prompt("Name a fruit.", INCLUDE), "completion": "An apple, by the river, is nice.", **columns(INCLUDE)},
    {"prompt": [{"role": "user", "content": prompt("What is snow?", COMMAS)}],
        "completion": [{"role": "assistant", "content": "Frozen water that falls  \n\n\n\nfrom clouds."}],
        **columns(COMMAS)},
    {"prompt": "Sing.", "completion": "La", **columns()},
]  # fmt: skip
PAIRS = [
    {"prompt": prompt("Where do boats go?", INCLUDE), "chosen": "Down to the sea and far away.",
        "rejected": "They sail on a river.", **columns(INCLUDE)},
    {"prompt": prompt("Where do boats go?", COMMAS), "chosen": "They sail to the sea.",
        "rejected": "They sail to the sea, and back again, every day.", **columns(COMMAS)},
    {"prompt": prompt("Say it.", COMMAS), "chosen": "It, is.", "rejected": "It, so.", **columns(COMMAS)},
]  # fmt: skip
RL = [
    {"prompt": prompt("Say it.", *some), "score_mean": mean, "score_variance": 0.1, "draws": 4, **columns(*some)}
    for some, mean in (((COMMAS, FEW), 0.5), ((COMMAS,), 0.0), ((INCLUDE, COMMAS, FEW), 0.95))
]
TEXT = [
    {"text": "The ferry leaves twice a day. Most passengers live on the island and work in the town."},
    {"text": "Boil water in a pan. Add salt. Put the rice in and stir once. Is it soft? Turn off the heat and wait."},
    {"text": "buy now buy now buy now buy now buy now buy now buy now buy now"},
    {"text": "Das Schiff fährt zweimal am Tag. Die meisten Leute wohnen auf der Insel und arbeiten in der Stadt."},
    {"text": "First line here.\nFirst line here.\nSomething else stands at the end of it."},
    {"title": "no text"},
]
TABLES = {"sft": SFT, "pairs": PAIRS, "rl": RL, "text": TEXT}


def grades(requests: list[str]) -> list[str]:
    """A model for transforms that ask one."""
    answers = []
    for number, request in enumerate(requests):
        if "Write the request that it answers" in request:
            answers.append(f"Tell me something, please ({number}).")
        elif "Rate the answer" in request:
            answers.append(json.dumps(dict.fromkeys(CRITERIA, 5)))
        elif "How good an example" in request:
            answers.append(
                ['{"grade": 5}', '{"grade": 3}', ' {"grade": 5} \n', "very good", '{"grade": 5}'][number % 5]
            )
        else:
            answers.append(["They sail to the sea", "It is so", "still, wrong"][number % 3])
    return answers


NAMES = list(TRANSFORMS)
ASKS_OTHERWISE = {"pseudo_code", "role_rules", "system_prompts"}  # these leave the answer as it was


def test_all_are_here() -> None:
    for name in NAMES:
        one = TRANSFORMS.get(name)
        assert (one.name, one.version >= 1, bool(one.paper), bool(one.summary)) == (name, True, True, True)
        assert one.paper.startswith("arXiv ")


@pytest.mark.parametrize("name", NAMES)
def test_every_transform_keeps_the_house_rules(name: str) -> None:
    keep_house_rules(name)


def keep_house_rules(name: str) -> None:
    """Rows that went in stay as they were; the same seed gives the same; what is left out has a number and a reason.

    Answers keep what rows say.
    """
    one = TRANSFORMS.get(name)
    for table in one.tables:
        before = copy.deepcopy(TABLES[table])
        made = transform(name, TABLES[table], table, Settings(seed=3, ask=grades))
        assert TABLES[table] == before
        assert made == transform(name, TABLES[table], table, Settings(seed=3, ask=grades))
        assert made.rows, f"{name} must make something of these rows"
        assert all(1 <= number <= len(before) and reason for number, reason in made.left_out)
        json.dumps(made.rows)
        for row in made.rows:
            if table == "text":
                continue
            assert len(row["instruction_id_list"]) == len(row["kwargs"])
            asked = constraints(row)
            kept = row.get("completion", row.get("chosen"))
            untouched = row in before  # what only chooses among rows proves nothing
            if kept is not None and asked and not untouched and name not in ASKS_OTHERWISE:
                assert keeps(text_of(kept), asked), name
        assert transform(name, [], table, Settings(ask=grades)) == ([], [])


def test_words_are_not_counted_in_scripts_without_blanks() -> None:
    answer = "大海广阔无边，海水在阳光下闪闪发光。海浪一次又一次地拍打着沙滩，孩子们在岸边捡贝壳。傍晚时分，渔船慢慢回到港口。"
    row = {
        "prompt": "请介绍一下大海。",
        "completion": answer,
        "prompt_id": "z",
        "instruction_id_list": [],
        "kwargs": [],
    }
    for seed in range(5):
        made = transform("hindsight", [row], "sft", Settings(seed=seed, options={"count": 3})).rows
        assert made
        assert not re.search(r"\bwords?\b", made[0]["prompt"])
    assert transform("chain", [row], "sft").left_out == [
        (1, "words or sentences cannot be counted in its answer's script")
    ]


def test_hindsight_attaches_what_holds() -> None:
    made = transform("hindsight", SFT, "sft", Settings(seed=1, options={"count": 3}))
    for row in made.rows:
        assert len(row["instruction_id_list"]) > 0
        for one in constraints(row):
            assert sentence_in(text_of(row["prompt"]), one)
    broken = {**SFT[0], "completion": "A river, wide and slow."}
    assert transform("hindsight", [broken], "sft").left_out == [
        (1, "its answer did not keep its constraints in the first place")
    ]


def test_difficulty_leaves_out_with_numbers() -> None:
    found = transform("difficulty", RL, "rl")
    assert [row["score_mean"] for row in found.rows] == [0.5]
    assert found.left_out[0] == (2, "its score 0.00 lies outside 0.1 to 0.9")


def test_role_rules_moves_every_rule() -> None:
    made = transform("role_rules", SFT[:1], "sft").rows[0]
    assert all(one.describe(0) in made["prompt"][0]["content"] for one in (INCLUDE, COMMAS))
    assert made["prompt"][1]["content"] == "Where do boats go?"


def test_normalise_keeps_only_what_still_passes() -> None:
    made = transform("normalise", SFT[3:4], "sft").rows[0]
    assert made["completion"][0]["content"] == "Frozen water that falls\n\nfrom clouds."


def test_mixture() -> None:
    found = transform("mixture", RL, "rl", Settings(options={"weights": '{"keywords": 2, "": 0}'}))
    assert len(found.rows) == 2
    assert [number for number, _ in found.left_out] == [1, 2]
    with pytest.raises(UsageError, match="must be JSON"):
        transform("mixture", RL, "rl", Settings(options={"weights": "many"}))


def test_what_cannot_be_asked_is_said() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'hindsight'"):
        transform("hindsite", SFT, "sft")
    with pytest.raises(UsageError, match="takes sft rows, not 'rl'"):
        transform("hindsight", RL, "rl")
    with pytest.raises(UsageError, match=r"no option 'cuont'\. Did you mean 'count'"):
        transform("hindsight", SFT, "sft", Settings(options={"cuont": 2}))
    with pytest.raises(UsageError, match="must be a int"):
        transform("hindsight", SFT, "sft", Settings(options={"count": "two"}))
    with pytest.raises(UnknownName, match=r"pip install \./examples/plugins/adhere-more"):
        transform("refine", PAIRS, "pairs")


def test_the_commands(tmp_path: Path) -> None:
    listed = json.loads(CliRunner().invoke(adhere, ["list", "transforms", "--json"]).stdout)
    assert [row["transform"] for row in listed] == NAMES
    write_table(tmp_path / "sft.jsonl", SFT)
    out = tmp_path / "more.jsonl"
    done = CliRunner().invoke(
        adhere,
        [
            "build",
            "transform",
            "hindsight",
            str(tmp_path / "sft.jsonl"),
            "--table",
            "sft",
            "--set",
            "count=1",
            "--out",
            str(out),
        ],
    )
    assert done.exit_code == 0, done.output
    assert len(out.read_text().splitlines()) + len(
        (tmp_path / "more.jsonl.drops.jsonl").read_text().splitlines()
    ) == len(SFT)
    asked = CliRunner().invoke(
        adhere,
        [
            "build",
            "transform",
            "hindsight",
            str(tmp_path / "sft.jsonl"),
            "--table",
            "sft",
            "--set",
            "count",
            "--out",
            str(out),
        ],
    )
    assert "must be OPTION=VALUE" in str(asked.exception)


RATINGS = {"truthfulness": 5, "helpfulness": 4, "conciseness": 3, "relevance": 5, "harmlessness": 5, "debiasing": 5}


def test_six_criteria_by_a_judge_model_put_the_better_answer_first() -> None:
    """The rejected answer of the first pair is rated higher, so it is chosen now.

    A reply of another form rates nothing.
    """
    rows = [
        {"prompt": "Name a river.", "chosen": "Rome.", "rejected": "The Tiber.", **columns()},
        {"prompt": "Name a city.", "chosen": "Rome.", "rejected": "A river.", **columns()},
        {"prompt": "Name a hill.", "chosen": "Etna.", "rejected": "Po.", **columns()},
    ]
    low = json.dumps(dict.fromkeys(RATINGS, 1))
    seen: list[str] = []

    def judge(requests: list[str]) -> list[str]:
        seen.extend(requests)
        return [low, json.dumps(RATINGS), "Sure! " + low, low, low, low]

    made = transform("six_criteria", rows, "pairs", Settings(ask=judge))
    (row,) = made.rows
    assert (row["chosen"], row["rejected"], row["origin"]) == ("The Tiber.", "Rome.", "rated")
    assert row["criteria"] == {name: [(value - 1) / 4, 0.0] for name, value in RATINGS.items()}
    assert made.left_out == [
        (2, "the judge's reply is not the JSON object that it was asked for"),
        (3, "its answers are rated alike (0.00)"),
    ]
    assert len(seen) == 6
    assert all(text.count("Reply with exactly one JSON object") == 2 for text in seen)


def test_six_criteria_by_programs_alone_rate_what_programs_can() -> None:
    """Kept constraints and needless words: the other four have no rating, and none is made up."""
    rows = [
        {
            "prompt": prompt("Say it.", COMMAS),
            "chosen": "Now, it is so, my friend.",
            "rejected": "It is so.",
            **columns(COMMAS),
        }
    ]
    (row,) = transform("six_criteria", rows, "pairs").rows
    assert row["chosen"] == "It is so."
    assert row["criteria"] == {"helpfulness": [1.0, 0.0], "conciseness": [1.0, 0.5]}
    weights = {"helpfulness": 0.0, "conciseness": 0.0}
    refused = transform("six_criteria", rows, "pairs", Settings(options=weights)).left_out
    assert refused == [(1, "no criterion with a weight is rated")]


def test_an_answer_that_breaks_a_rule_is_no_help_whatever_a_judge_model_says() -> None:
    rows = [{"prompt": prompt("Say it.", COMMAS), "chosen": "It is.", "rejected": "It, is.", **columns(COMMAS)}]
    best = json.dumps(dict.fromkeys(RATINGS, 5))
    (row,) = transform("six_criteria", rows, "pairs", Settings(ask=lambda requests: [best] * len(requests))).rows
    assert row["criteria"]["helpfulness"] == [1.0, 0.0]
    assert row["criteria"]["truthfulness"] == [1.0, 1.0]


def kept_documents(**options: object) -> tuple[list[int], dict[int, str]]:
    """Numbers of the documents that are kept, and why the others are not."""
    made = transform("documents", TEXT, "text", Settings(options=options))
    return [TEXT.index(row) + 1 for row in made.rows], dict(made.left_out)


def test_documents_that_repeat_themselves_are_left_out_with_the_measure() -> None:
    kept, why = kept_documents()
    assert kept == [1, 2, 4]
    assert "'buy now' makes 100% of its characters; at most 20% for 2 words" in why[3]
    assert "of its lines" in why[5]
    assert why[6] == "it has no text"


def test_documents_by_language_and_density_of_instructions() -> None:
    assert kept_documents(language="de")[0] == [4]
    assert kept_documents(language="en")[0] == [1, 2]
    assert kept_documents(least_density=0.5)[0] == [2]
    kept, why = kept_documents(most_density=0.1)
    assert kept == [1, 4]
    assert "of its sentences instruct; wanted are 0% to 10%" in why[2]


def test_repeated_runs_are_measured_without_counting_a_word_twice() -> None:
    """Ten words, and the same ten again between others: of the second time every word is in a run that stood before."""
    ten = "one two three four five six seven eight nine ten"
    other = " ".join(f"w{chr(97 + i)}{chr(97 + j)}" for i in range(10) for j in range(10))
    assert repetition(f"{ten} {other}") is None
    again = repetition(
        f"{ten} {other} {ten}"
    )  # 39 letters of 378 stand again: once counted, though six runs of 5 hold them
    assert again == "10% of its characters are in runs of 10 words that stand in it before; at most 10%"
    assert "of its characters are in runs of 5 words" in (repetition(f"{ten} {other[:150]} {ten}") or "")
