"""`adhere build`: what DATA.toml may say, what comes out, and what happens to bad input."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

import adhere.schema
from adhere.build.dataset.card import load_card, yield_table
from adhere.build.dataset.make import build_dataset
from adhere.build.dataset.prompts import fits_script, make_prompts
from adhere.build.dataset.queries import UserQuery, find_queries, topic_words
from adhere.build.dataset.spec import (
    Constraints,
    DataSpec,
    Decontaminate,
    Filter,
    Output,
    Queries,
    Turns,
    change_spec,
    load_spec,
)
from adhere.build.rows import Limits
from adhere.cli import adhere as command
from adhere.constraints import conflict, from_ref, registry
from adhere.errors import ContaminationError, Incomplete, IntegrityError, SpecError, UsageError
from adhere.models.base import Request
from adhere.pipeline.judge import judge_text
from adhere.progress import Silent
from adhere.rewards.rows import refs_of
from adhere.schema import Prompt, Response, read_rows
from adhere.suites.generated.core.deal import kinds_of
from unit.build.function_model import FunctionModel, answer, everyday

SPEC = DataSpec(model="function/everyday", queries=Queries(count=40), draws=4)


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("data")
    build_dataset(SPEC, FunctionModel(), directory)
    return directory


def test_every_row_is_what_the_judge_says_it_is(built: Path) -> None:
    sft, pairs, rl = (rows(built / f"{name}.jsonl") for name in ("sft", "pairs", "rl"))
    assert min(len(sft), len(pairs), len(rl)) > 5
    for row in sft:
        refs = refs_of(row["instruction_id_list"], row["kwargs"])
        assert {verdict.outcome for verdict in judge_text(row["completion"], refs, ("strict",))} == {"pass"}
    for row in pairs:
        refs = refs_of(row["instruction_id_list"], row["kwargs"])
        assert {verdict.outcome for verdict in judge_text(row["chosen"], refs, ("strict",))} == {"pass"}
        assert "fail" in {verdict.outcome for verdict in judge_text(row["rejected"], refs, ("strict",))}
        chosen, rejected = row["criteria"]["helpfulness"]
        assert chosen == 1.0 > rejected
        assert max(row["criteria"]["conciseness"]) == 1.0
    variances = [row["score_variance"] for row in rl]
    assert variances == sorted(variances, reverse=True)
    assert {row["draws"] for row in rl} == {4}


def test_the_card_is_one_that_the_hub_reads(built: Path) -> None:
    """Its own package reads the metadata; every table that its viewer is told of is there, and loads."""
    hub = pytest.importorskip("huggingface_hub")
    card = hub.DatasetCard.load(built / "README.md")
    said = card.data.to_dict()
    assert said["pretty_name"] == load_card(built).name
    assert (said["license"], said["license_name"]) == ("other", "see-sources"), "nobody knows a function's licence"
    assert said["size_categories"] == "n<1K"
    assert [one["config_name"] for one in said["configs"]] == ["sft", "pairs", "rl"]
    assert all((built / one["data_files"]).is_file() for one in said["configs"])
    assert card.text.startswith("# ")


def test_the_card_counts_what_is_there(built: Path) -> None:
    card = load_card(built)
    for name, count in card.rows.items():
        assert len((built / name).read_text().splitlines()) == count
    for stage in card.stages:
        assert stage.left + sum(stage.dropped.values()) == stage.entered or stage.stage == "preference pairs", stage
    assert sum(card.constraints_per_prompt.values()) == card.rows["prompts.jsonl"]
    assert set(card.kinds) == {
        ref.id for prompt in read_rows(built / "prompts.jsonl", Prompt) for ref in prompt.constraints
    }
    assert yield_table(card) in (built / "README.md").read_text()
    changed_card = (built / "card.json").read_text().replace('"seed":0', '"seed":1')
    other = built.parent / "changed"
    other.mkdir()
    (other / "card.json").write_text(changed_card)
    with pytest.raises(IntegrityError, match="was changed"):
        load_card(other)


def test_the_same_seed_gives_the_same_bytes(built: Path, tmp_path: Path) -> None:
    again = build_dataset(SPEC, FunctionModel(), tmp_path)
    assert again.sha256 == load_card(built).sha256
    assert again.files == load_card(built).files
    other = build_dataset(msgspec.structs.replace(SPEC, seed=1), FunctionModel(), tmp_path / "other")
    assert other.files != again.files


def test_a_build_asks_nothing_twice(built: Path) -> None:
    model = FunctionModel()
    build_dataset(SPEC, model, built)
    assert model.asked == 0


def test_a_failed_call_is_named_and_the_next_build_goes_on(tmp_path: Path) -> None:
    def sometimes(request: Request) -> adhere.schema.Response:
        if model.asked == 7:
            return answer(request, "", "error", "the line was cut")
        return everyday(request)

    model = FunctionModel(sometimes)
    with pytest.raises(Incomplete, match=r"1 of 15\d answers are missing.*the line was cut"):
        build_dataset(SPEC, model, tmp_path)
    again = FunctionModel()
    build_dataset(SPEC, again, tmp_path)
    assert again.asked == 1


def test_kill_9_and_again(tmp_path: Path) -> None:
    script = (
        "import sys, time\nfrom pathlib import Path\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "from unit.build.function_model import FunctionModel, everyday\n"
        "from adhere.build.dataset.make import build_dataset\nfrom adhere.build.dataset.spec import DataSpec, Queries\n"
        "def slow(request):\n    time.sleep(0.01)\n    return everyday(request)\n"
        "build_dataset(DataSpec(model='function/everyday', queries=Queries(count=40), draws=4), FunctionModel(slow), "
        f"Path({str(tmp_path)!r}))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script])
    until = time.monotonic() + 60
    while time.monotonic() < until and sum(path.stat().st_size for path in tmp_path.glob("draws/responses/*")) < 2000:
        time.sleep(0.01)
    process.kill()
    process.wait()
    model = FunctionModel()
    card = build_dataset(SPEC, model, tmp_path)
    assert 0 < model.asked < 160
    whole = build_dataset(SPEC, FunctionModel(), tmp_path / "whole")
    assert card.files == whole.files


def test_several_turns_and_system_turns(tmp_path: Path) -> None:
    spec = msgspec.structs.replace(
        SPEC,
        prompts=Turns(turns=3, system=("You are kind.",), system_share=0.5),
        constraints=Constraints(fewest=1, most=2),
        output=Output(also=("llamafactory", "verl", "openrlhf", "sharegpt")),
    )

    def obedient(request: Request) -> adhere.schema.Response:
        """It keeps what three kinds ask for, on every turn."""
        return answer(request, "the morning is golden and quiet here while people drink warm tea.")

    card = build_dataset(
        msgspec.structs.replace(
            spec,
            constraints=Constraints(
                fewest=1, most=1, kinds=("punctuation:no_commas", "case:lower", "punctuation:no_exclamation")
            ),
        ),
        FunctionModel(obedient),
        tmp_path,
    )
    prompts = read_rows(tmp_path / "prompts.jsonl", Prompt)
    for prompt in prompts:
        assert [len(turn.constraints) for turn in prompt.turns] == [1, 2, 3]
        for earlier, later in zip(prompt.turns, prompt.turns[1:], strict=False):
            assert later.constraints[: len(earlier.constraints)] == earlier.constraints
    assert 0 < sum(prompt.system is not None for prompt in prompts) < len(prompts)
    sft = rows(tmp_path / "sft.jsonl")
    assert {row["turn"] for row in sft} == {0, 1, 2}
    for row in sft:
        roles = [message["role"] for message in row["prompt"]]
        assert roles[-1] == "user"
        assert [role for role in roles if role != "system"] == ["user", "assistant"] * row["turn"] + ["user"]
        refs = refs_of(row["instruction_id_list"], row["kwargs"])
        assert len(refs) == row["turn"] + 1
        assert {verdict.outcome for verdict in judge_text(row["completion"][0]["content"], refs, ("strict",))} == {
            "pass"
        }
    assert card.rows["sft.jsonl"] == card.rows["llamafactory/sft.jsonl"] == card.rows["sharegpt/sft.jsonl"]
    assert (tmp_path / "verl" / "rl.parquet").exists()


@pytest.mark.parametrize("most", [1, 3, 6])
def test_constraints_never_conflict(most: int) -> None:
    spec = msgspec.structs.replace(SPEC, queries=Queries(count=200), constraints=Constraints(fewest=1, most=most))
    found = find_queries(spec.queries, FunctionModel(), seed=0, directory=Path(), progress=Silent())
    prompts, _ = make_prompts(spec, found.queries, kinds_of("train"))
    assert len({prompt.text for prompt in prompts}) == len(prompts) > 150
    assert {len(prompt.constraints) for prompt in prompts} <= set(range(1, most + 1))
    assert max(len(prompt.constraints) for prompt in prompts) >= min(most, 4)
    for prompt in prompts:
        made = [from_ref(ref) for ref in prompt.constraints]
        assert not any(conflict(one, other) for place, one in enumerate(made) for other in made[:place])
        for constraint in made:
            assert any(constraint.describe(number) in prompt.text for number in range(len(constraint.phrasings) - 1))
    kinds = [ref.id for prompt in prompts for ref in prompt.constraints]
    assert len(set(kinds)) >= 20


def test_a_prompt_has_no_fewer_constraints_than_asked_for() -> None:
    kinds = kinds_of("train", ("case:lower", "case:upper", "keywords:forbid", "punctuation:no_commas"))
    spec = msgspec.structs.replace(SPEC, queries=Queries(count=30), constraints=Constraints(fewest=3, most=3))
    queries = find_queries(spec.queries, FunctionModel(), seed=0, directory=Path(), progress=Silent()).queries
    prompts, _ = make_prompts(spec, queries, kinds)
    assert {len(prompt.constraints) for prompt in prompts} == {3}
    nothing, hopeless = make_prompts(spec, queries, kinds[:2])
    assert nothing == []
    assert hopeless


def test_equal_conversations_give_one_row(tmp_path: Path) -> None:
    def same(request: Request) -> Response:
        return answer(request, "small bakers carry warm bread to a narrow market")

    spec = msgspec.structs.replace(
        SPEC, queries=Queries(count=12), prompts=Turns(turns=2), limits=Limits(per_prompt=4),
        constraints=Constraints(fewest=1, most=1, kinds=("case:lower", "punctuation:no_commas", "punctuation:no_exclamation")),
    )  # fmt: skip
    build_dataset(spec, FunctionModel(same), tmp_path)
    later = [json.dumps(row) for row in rows(tmp_path / "sft.jsonl") if row["turn"] == 1]
    assert len(set(later)) == len(later) > 5


def test_letters_and_capitals_are_not_asked_of_scripts_without() -> None:
    kinds = kinds_of("train", ("case:lower", "punctuation:no_commas"))
    queries = [UserQuery("u-1", "为什么天空是蓝色的？", (), None)]
    few = Constraints(fewest=1, most=1)
    spec = msgspec.structs.replace(SPEC, queries=Queries(count=1), constraints=few)
    for seed in range(6):
        prompts, _ = make_prompts(msgspec.structs.replace(spec, seed=seed), queries, kinds)
        assert [ref.id for ref in prompts[0].constraints] == ["punctuation:no_commas"]
    bound = msgspec.structs.replace(spec, constraints=msgspec.structs.replace(few, language_bound=True))
    assert {
        make_prompts(msgspec.structs.replace(bound, seed=seed), queries, kinds)[0][0].constraints[0].id
        for seed in range(12)
    } == {"case:lower", "punctuation:no_commas"}


NO_BLANKS = {
    "Chinese": "为什么天空是蓝色的？",
    "Chinese with English": "请用 Python 写一个 function",
    "Japanese": "海について教えてください。",
    "Thai": "ทำไมท้องฟ้าถึงเป็นสีฟ้า",
    "Lao": "ເປັນຫຍັງທ້ອງຟ້າຈຶ່ງເປັນສີຟ້າ",
    "Khmer": "ហេតុអ្វីបានជាមេឃពណ៌ខៀវ",
    "Burmese": "ကောင်းကင် ဘာကြောင့်ပြာ",
    "Tibetan": "བོད་ཀྱི་རྒྱལ་ས་གང་ཡིན།",
    "Dzongkha": "འབྲུག་གི་རྒྱལ་ས་ག་ཅི་སྨོ།",
}
BLANKS = {
    "Korean": "하늘은 왜 파란색인가요?",
    "Vietnamese": "Tại sao bầu trời có màu xanh?",
    "Arabic": "لماذا السماء زرقاء؟",
    "English about a Chinese word": "What does 画蛇添足 mean in plain English?",
    "English about a Thai word": "What does สวัสดี mean?",
}


@pytest.mark.parametrize("text", NO_BLANKS.values(), ids=NO_BLANKS)
def test_words_are_not_asked_of_scripts_without_blanks(text: str) -> None:
    kinds = kinds_of("train")
    few = Constraints(fewest=1, most=3)
    spec = msgspec.structs.replace(SPEC, queries=Queries(count=20), constraints=few)
    prompts, _ = make_prompts(spec, [UserQuery("u-1", text, topic_words(text), None)], kinds)
    assert len(prompts) > 5
    for prompt in prompts:
        assert not re.search(r"\bwords?\b", prompt.text), prompt.text
    if text not in list(NO_BLANKS.values())[:3]:  # their sentences end in other marks
        assert not any("sentence" in prompt.text for prompt in prompts)


@pytest.mark.parametrize("text", BLANKS.values(), ids=BLANKS)
def test_words_are_asked_of_scripts_with_blanks(text: str) -> None:
    assert fits_script(registry.get("length:at_least"), text)
    assert fits_script(registry.get("length:sentences"), text)
    assert not fits_script(registry.get("length:sentences"), "आसमान नीला क्यों है? यह एक सवाल है।")


def test_words_of_another_script_are_no_topic_of_a_text_with_capitals() -> None:
    assert topic_words("The idiom 画蛇添足 and السلام are famous phrases") == ("idiom", "famous", "phrases")


QUERIES = (
    "Why is the sky blue?",
    "How do I boil an egg?",
    "why is  the sky BLUE",
    "",
    "Name a famous bridge and say where it stands.",
)


def queries_in(path: Path, spec: Queries) -> list[UserQuery]:
    return find_queries(
        msgspec.structs.replace(spec, source="file", path=str(path)),
        FunctionModel(),
        seed=0,
        directory=path.parent,
        progress=Silent(),
    ).queries


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_queries_from_files(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"q[1].{ending}"  # duckdb takes such a name for a pattern, and finds q1
    if ending == "csv":
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerows([["id", "ask"], *([number, text] for number, text in enumerate(QUERIES))])
    else:
        lines = tmp_path / "lines.jsonl" if ending == "parquet" else path
        lines.write_text("".join(json.dumps({"ask": text}) + "\n" for text in QUERIES))
        if ending == "parquet":
            duckdb = pytest.importorskip("duckdb")
            duckdb.connect().execute(f"COPY (SELECT * FROM read_json('{lines}')) TO '{path}' (FORMAT parquet)")
            duckdb.connect().execute(f"COPY (SELECT 'Another?' AS ask) TO '{tmp_path / 'q1.parquet'}' (FORMAT parquet)")
    found = find_queries(
        Queries(source="file", path=str(path), column="ask"),
        FunctionModel(),
        seed=0,
        directory=tmp_path,
        progress=Silent(),
    )
    assert sorted(query.text for query in found.queries) == sorted(QUERIES[place] for place in (0, 1, 4))
    assert found.left_out == [("asked before", 1, "why is  the sky BLUE"), ("empty", 1, "")]


@pytest.mark.parametrize(
    ("name", "data", "part"),
    [
        (
            "q.jsonl",
            b'{"query": "a b"}\n{"query": 3}\n',
            r"q\.jsonl:2: queries\.column = 'query' must be a column with a text",
        ),
        ("q.jsonl", b'{"ask": "a b"}\n', r"Columns of this row: ask"),
        ("q.jsonl", b'{"query": "\xff"}\n', r"q\.jsonl:1: not UTF-8"),
        ("q.jsonl", b"", "has no queries"),
        ("q.jsonl", b'{"query": "  "}\n', "1 rows are empty"),
        ("q.csv", b"query\n\xff\xfe\n", "UTF-8"),
        ("q.csv", b"ask\nx\n", r"q\.csv: row 2: queries\.column"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, name: str, data: bytes, part: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises((SpecError, UsageError), match=part):
        queries_in(tmp_path / name, Queries())
    with pytest.raises(UsageError, match="is no file"):
        queries_in(tmp_path / "none.jsonl", Queries())


def test_the_model_writes_queries(tmp_path: Path) -> None:
    def writes(request: Request) -> adhere.schema.Response:
        number = int(request.prompt_id.rpartition("-")[2]) if request.prompt_id.startswith("bootstrap") else None
        if number is None:
            return everyday(request)
        topics = [
            "volcanoes",
            "penguins",
            "violins",
            "glaciers",
            "beehives",
            "harbours",
            "lanterns",
            "orchards",
            "compasses",
        ]
        lines = [
            (
                f"{n}. Tell me {['how', 'why', 'where'][n % 3]} people study {topics[(number * 4 + n) % 9]} "
                f"in winter {number}{n}"
            )
            for n in range(1, 5)
        ]
        return answer(
            request,
            "\n".join([*lines, "5. Tell me", "6. Go go go go go go go", lines[0].replace("1.", "7."), "some words"]),
        )

    spec = msgspec.structs.replace(SPEC, queries=Queries(source="bootstrap", count=6), draws=2)
    model = FunctionModel(writes)
    found = find_queries(spec.queries, model, seed=0, directory=tmp_path, progress=Silent())
    assert 2 <= len(found.queries) <= 6
    assert {why for why, _, _ in found.left_out} == {
        "shorter than 4 or longer than 60 words",
        "repeats itself",
        "too like another query",
    }
    asked = model.asked
    assert find_queries(spec.queries, model, seed=0, directory=tmp_path, progress=Silent()).queries == found.queries
    assert model.asked == asked
    with pytest.raises(UsageError, match="wrote no query that can be used"):
        find_queries(spec.queries, FunctionModel(), seed=0, directory=tmp_path / "other", progress=Silent())


def test_prompts_that_repeat_a_test_item_are_dropped(tmp_path: Path) -> None:
    prompts = read_rows_of(tmp_path / "first")
    test = tmp_path / "input_data.jsonl"
    test.write_text(
        json.dumps(
            {"key": 1, "prompt": prompts[4].text, "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
        )
        + "\n"
    )
    spec = msgspec.structs.replace(SPEC, decontaminate=Decontaminate(against=(f"ifeval:{test}",)))
    card = build_dataset(spec, FunctionModel(), tmp_path / "second")
    drops = rows(tmp_path / "second" / "drops.jsonl")
    assert 5 in [drop["line"] for drop in drops]
    assert prompts[4].id not in {prompt.id for prompt in read_rows(tmp_path / "second" / "prompts.jsonl", Prompt)}
    assert card.decontaminated_against == {f"ifeval:{test}": 1}
    only = msgspec.structs.replace(spec, queries=Queries(source="file", path=str(tmp_path / "one.jsonl"), count=3))
    long = "Please explain to a new colleague in plain words how the old printer in the hall works and why."
    (tmp_path / "one.jsonl").write_text(json.dumps({"query": long}) + "\n")
    test.write_text(
        json.dumps({"key": 1, "prompt": long, "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}) + "\n"
    )
    with pytest.raises(ContaminationError, match="All 3 prompts repeat a test item"):
        build_dataset(only, FunctionModel(), tmp_path / "third")


def read_rows_of(directory: Path) -> list[Prompt]:
    build_dataset(msgspec.structs.replace(SPEC, draws=2), FunctionModel(), directory)
    return read_rows(directory / "prompts.jsonl", Prompt)


def test_a_model_that_never_passes(tmp_path: Path) -> None:
    """Nothing is made up: the tables are empty and the card says where everything went."""
    spec = msgspec.structs.replace(
        SPEC, repair=False, queries=Queries(count=5), constraints=Constraints(kinds=("case:upper",), most=1)
    )
    card = build_dataset(
        spec, FunctionModel(lambda request: answer(request, "no capitals in here at all, my friend")), tmp_path
    )
    assert card.rows["sft.jsonl"] == card.rows["pairs.jsonl"] == 0
    assert next(stage for stage in card.stages if stage.stage.startswith("every constraint")).dropped == {
        "break one": 20
    }


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('model = "x"\ndraws = 1', "draws = 1"),
        ('model = "x"\n[constraints]\nmost = 7', "most = 7"),
        ('model = "x"\n[constraints]\nfewest = 3\nmost = 2', "fewest = 3"),
        ('model = "x"\n[queries]\nsource = "file"', r"queries\.path"),
        ('model = "x"\n[queries]\nsorce = "file"', r":3: unknown key 'sorce' in queries. Did you mean 'source'"),
        ('model = "x"\n[sampling]\ntemperature = 0', "temperature"),
        ('model = "x"\n[prompts]\nturns = 0', "turns = 0"),
        ('model = "x"\n[output]\nformat = "csv"', "format"),
        ("draws = 3", "model"),
    ],
)
def test_specs_that_cannot_be(tmp_path: Path, text: str, part: str) -> None:
    (tmp_path / "d.toml").write_text(text)
    with pytest.raises(SpecError, match=part):
        load_spec(tmp_path / "d.toml")


def test_held_out_kinds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="held-out kind"):
        build_dataset(
            msgspec.structs.replace(SPEC, constraints=Constraints(kinds=("exact:text",))), FunctionModel(), tmp_path
        )


def test_the_example_is_valid() -> None:
    spec = load_spec(Path(__file__).parents[3] / "examples" / "data.toml")
    assert spec.model == "local/smollm2-135m"
    assert change_spec(spec, count=3, seed=4, draws=2, model="m", against=("x",)).queries.count == 3


def test_judges_filter_what_is_kept(tmp_path: Path) -> None:
    from adhere.models.fake.scripted import ScriptedModel

    judge = ScriptedModel(
        lambda request: '{"flawless": true}' if "morning" in request.messages[-1].content else '{"flawless": false}'
    )
    spec = msgspec.structs.replace(SPEC, filter=Filter(judge="scripted/function", roles=("critic",)))
    card = build_dataset(spec, FunctionModel(), tmp_path, judge=judge)
    kept = rows(tmp_path / "sft.jsonl")
    assert kept
    assert all("morning" in row["completion"].lower() for row in kept)
    stage = next(stage for stage in card.stages if stage.stage == "flawless for every scorer")
    assert (stage.left, stage.entered) == (card.filtering.kept, card.filtering.answers)
    assert card.filtering.rejected > 0
    assert "Response filtering" in (tmp_path / "README.md").read_text()
    with pytest.raises(UsageError, match="needs the opened model"):
        build_dataset(spec, FunctionModel(), tmp_path)


def test_topic_words() -> None:
    assert topic_words("Why do lighthouses still have keepers, and what do they do?") == (
        "lighthouses",
        "still",
        "keepers",
    )


def test_the_command(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        command, ["build", "--model", "scripted/echo", "--count", "4", "--draws", "2", "--out", str(tmp_path / "d")]
    )
    assert done.exit_code == 0, done.output
    assert "| queries (queries) |" in done.stdout
    again = CliRunner().invoke(
        command,
        ["build", "--model", "scripted/echo", "--count", "4", "--draws", "2", "--out", str(tmp_path / "d"), "--json"],
    )
    assert json.loads(again.stdout)["rows"]["prompts.jsonl"] == 4
    assert CliRunner().invoke(command, ["build"]).exit_code == 2
    help_text = CliRunner().invoke(command, ["build", "--help"]).output
    assert all(name in help_text for name in ("data", "checks", "convert"))
