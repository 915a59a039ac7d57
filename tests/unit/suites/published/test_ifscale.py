"""IFScale over a folder in the published format.

Whose words are drawn, the published rule, omitted and distorted words.
"""

import re

import pytest

from adhere.constraints.published.ifscale.table import is_distorted
from adhere.constraints.resolve import resolve
from adhere.errors import SpecError, UsageError
from adhere.models.fake.scripted import ScriptedModel
from adhere.pipeline.evaluate import evaluate_sync
from adhere.schema import ConstraintRef
from adhere.suites import load

RUNNER = 'import openai_that_is_not_there\ninitial_prompt_template = """Write a report.\n{CONSTRAINTS}\n"""\n'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "inputs").mkdir()
    words = [f"{first}{second}ing" for first in "bdfgklmnprstvwz" for second in "aeiouy"][:60]
    (tmp_path / "inputs" / "pruned_rules.csv").write_text("\n".join(words) + "\n", encoding="utf-8")
    (tmp_path / "runner.py").write_text(RUNNER, encoding="utf-8")
    return tmp_path


def test_a_density_has_the_words_of_the_one_before(folder):
    suite = load(f"ifscale:{folder}@10+50")
    assert suite.slices == ("10 words", "50 words")
    assert suite.settings["note"] == "10 prompts, 60 words: other words than the published file's"
    asked = {prompt.id: [ref.params["word"] for ref in prompt.constraints] for prompt in suite.prompts}
    assert {name: len(set(words)) for name, words in asked.items()} == {
        f"{density}-{seed}": density for density in (10, 50) for seed in range(5)
    }
    assert all(asked[f"50-{seed}"][:10] == asked[f"10-{seed}"] for seed in range(5))
    first = suite.prompts[0]
    assert first.text == "Write a report.\n" + "".join(
        f"{number}. Include the exact word: '{word}'.\n" for number, word in enumerate(asked[first.id], start=1)
    )


def test_words_are_drawn_as_published(folder):
    """The order of pandas' sample with random_state=0 over 500 rows, known from the published example of a result."""
    (folder / "inputs" / "pruned_rules.csv").write_text("\n".join(f"w{at}" for at in range(500)), encoding="utf-8")
    suite = load(f"ifscale:{folder}")
    assert len(suite.prompts) == 250
    rows = [int(ref.params["word"][1:]) for ref in suite.prompts[0].constraints]
    assert rows == [90, 254, 283, 445, 461, 15, 316, 489, 159, 153]


def theirs(term, text):
    """A transcription of `_analyse_constraint`."""
    if re.search(rf"\b{re.escape(term)}\b", text):
        return "exact"
    prefix = re.escape(term[: max(3, int(len(term) * 0.8))])
    return "modification" if re.search(rf"\b{prefix}[a-z]*\b", text) else "omission"


@pytest.mark.parametrize("word", ["customer", "ROI", "vest", "ESG", "synergies"])
@pytest.mark.parametrize(
    "text",
    ["The customer pays.", "customers", "CUSTOMER-driven", "customize", "custom", "**customer**", "roi", "Vests",
        "investments",
     "vesting esg", "ves", "synergy", "synergi", "synergie", "the_customer", "heroic", "ESG's ROI"],
)  # fmt: skip
def test_the_rule_is_the_published_one(word, text):
    found = resolve(ConstraintRef("ifscale:word", {"word": word})).check(text)
    wanted = theirs(word.lower(), text.lower())
    assert found.outcome == ("pass" if wanted == "exact" else "fail")
    if wanted != "exact":
        assert found.measured == {"modification": "distorted", "omission": "omitted"}[wanted]
        assert is_distorted(word.lower(), text.lower()) == (wanted == "modification")


def test_omitted_and_distorted_words_are_measured(folder):
    suite = load(f"ifscale:{folder}@10+20")

    def answer(request):
        words = re.findall("word: '(.*)'", request.messages[-1].content)
        return " ".join([*words[:6], *(f"{word}s" for word in words[6:8])])  # six said, two in another form

    summary = evaluate_sync(ScriptedModel(answer), suite, folder / "run").summary()
    found = {(one.name, one.scope): one.value for one in summary.measures}
    assert found["distorted", "10 words"] == 2 / 10
    assert found["omitted", "10 words"] == 2 / 10
    assert found["omitted", "20 words"] == 12 / 20
    assert found["soft satisfaction", "10 words"] == 6 / 10
    assert summary.slices["20 words"].instruction_macro == pytest.approx(6 / 20)


def test_what_cannot_be_used_is_named(folder):
    words = folder / "inputs" / "pruned_rules.csv"
    with pytest.raises(UsageError, match="no density '15'"):
        load(f"ifscale:{folder}@15")
    with pytest.raises(SpecError, match="60 words, but 500"):
        load(f"ifscale:{folder}")
    words.write_text("one\ntwo words\n", encoding="utf-8")
    with pytest.raises(SpecError, match=r"pruned_rules\.csv:2: 'two words' must be one word"):
        load(f"ifscale:{folder}@10")
    words.write_text("\n".join(["One", *map(str, range(20)), "one"]), encoding="utf-8")
    with pytest.raises(SpecError, match="'One' stands twice"):
        load(f"ifscale:{folder}@10")
    words.write_text("\n".join(map(str, range(20))), encoding="utf-8")
    (folder / "runner.py").write_text("other = 1\n", encoding="utf-8")
    with pytest.raises(SpecError, match="no constant initial_prompt_template"):
        load(f"ifscale:{folder}@10")
    words.unlink()
    with pytest.raises(UsageError, match=r"no inputs/pruned_rules\.csv"):
        load(f"ifscale:{folder}@10")
