"""FollowBench: its rows, its rules as its code decides them, and what is left out."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from adhere.constraints.resolve import resolve
from adhere.errors import BadParameter, SpecError, UsageError
from adhere.schema import ConstraintRef
from adhere.suites import load

DATA = Path(os.environ.get("ADHERE_DATA", Path(__file__).parents[4] / "shared" / "data")) / "followbench"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"needs the published files in {DATA} (ADHERE_DATA)")


def holds(kind, text, **params):
    return resolve(ConstraintRef(f"followbench:{kind}", params), profile="followbench").check(text).outcome == "pass"


def summary(source, level, text):
    return holds("summary", text, source=source, level=str(level))


@needs_data
class TestPublishedFiles:
    def test_counts(self):
        suite = load(f"followbench:{DATA}")
        assert len(suite.prompts) == 350
        assert suite.settings["note"] == "350 of 820 rows are decided by program; 470 need a judge and are left out"
        assert Counter(prompt.tags["slice"] for prompt in suite.prompts) == {f"level {at}": 70 for at in range(1, 6)}
        assert Counter(prompt.constraints[0].id for prompt in suite.prompts) == {
            "followbench:template": 200,
            "followbench:answer": 115,
            "followbench:summary": 35,
        }
        assert len({prompt.id for prompt in suite.prompts}) == 350

    def test_the_published_answers_of_the_examples_have_their_form(self):
        rows = json.loads((DATA / "example_constraints.json").read_text(encoding="utf-8"))
        assert len(rows) == 200
        wrong = [row["example_id"] for row in rows if not holds("template", row["answer"], target=row["target"])]
        assert len(wrong) <= 5 * 4, wrong  # some answers hold line breaks, which the published pattern does not cross
        loose = [row for row in rows if holds("template", "Certainly! Here it is.", target=row["target"])]
        assert {row["target"] for row in loose} == {"{instruction}\n{answer}"}  # whose form is any one line

    def test_targets_are_right_and_other_texts_are_not(self):
        suite = load(f"followbench:{DATA}")
        for prompt in suite.prompts:
            ref = prompt.constraints[0]
            if ref.id != "followbench:answer":
                continue
            target = ref.params["target"]
            right = json.loads(json.dumps(target)) if ref.params["source"] != "CONLL2003" else eval(target)[0]
            assert resolve(ref).check(right).outcome == "pass", prompt.id
            assert resolve(ref).check("I do not know it").outcome == "fail", prompt.id

    def test_one_file_alone(self):
        assert len(load(f"followbench:{DATA / 'situation_constraints.json'}").prompts) == 40


class TestRules:
    def test_each_level_adds_one_rule(self):
        text = "Potter is here. An actor speaks. The films have ended"
        assert [summary("cnn_dailymail", level, text) for level in range(1, 6)] == [True] * 5
        assert [summary("cnn_dailymail", level, text.replace("have ended", "end")) for level in range(1, 6)] == [
            True
        ] * 4 + [False]
        assert [summary("cnn_dailymail", level, text.replace("actor", "lavish actor")) for level in range(1, 6)] == [
            True
        ] * 3 + [False] * 2

    def test_a_blank_behind_the_last_stop_is_a_sentence_as_published(self):
        assert summary("xsum", 1, "One sentence.")
        assert not summary("xsum", 1, "One sentence. ")

    def test_words_stand_between_single_blanks(self):
        assert summary("gigaword", 1, "a b c d e f g h")
        assert not summary("gigaword", 1, "a b c d e f g  h")

    def test_format_22_counts_three_blocks(self):
        long = "1. " + "word " * 21 + "end"
        three = "\n\n".join([long] * 3)
        assert summary("format 22", 1, three)
        assert summary("format 22", 2, three)
        assert not summary("format 22", 1, f"{three}\n\n{long}")

    def test_numbers_of_format_22_are_sentences_of_one_word_as_published(self):
        block = "1. " + "word " * 21 + "end"
        assert not summary("format 22", 3, "\n\n".join([block] * 3))
        assert summary("format 22", 3, "\n\n".join([block.removeprefix("1. ")] * 3))
        assert not summary("format 22", 4, "\n\n".join([block] * 3))

    def test_the_last_option_counts(self):
        assert holds("answer", "Not (A) but (B)", source="BBH_logical", target="(B)")
        assert not holds("answer", "(B), no, (A)", source="BBH_logical", target="(B)")
        assert holds("answer", "$3 and $12", source="gsm_8k", target="$12")

    def test_every_line_must_be_one_of_the_target(self):
        assert holds("answer", "b\na", source="WIKIEVENTS", target="a\nb\nc")
        assert not holds("answer", "b\nx", source="WIKIEVENTS", target="a\nb\nc")

    def test_the_braces_of_a_template_are_single_in_the_answer(self):
        assert holds("template", "{'AI': 'yes'}", target="{instruction}\n{{'AI': '{answer}'}}")
        assert not holds("template", "yes", target="{instruction}\n{{'AI': '{answer}'}}")


class TestBadInput:
    def test_parameters(self):
        for params in ({"source": "nobody", "level": "1"}, {"source": "xsum", "level": "6"}, {"source": "xsum"}):
            with pytest.raises(BadParameter):
                resolve(ConstraintRef("followbench:summary", params))
        unreadable = resolve(ConstraintRef("followbench:answer", {"source": "CONLL2003", "target": "exit()"}))
        assert unreadable.check("x").outcome == "undecided"

    def test_files(self, tmp_path):
        with pytest.raises(UsageError, match="needs its files"):
            load("followbench")
        with pytest.raises(UsageError, match=r"no \*_constraints\.json"):
            load(f"followbench:{tmp_path}")
        file = tmp_path / "content_constraints.json"
        row = {"example_id": 1, "category": "content", "source": "E2E", "level": 9, "instruction": "x", "target": "y"}
        for bad, message in (
            ("{", "not JSON"),
            ("{}", "must be a list"),
            ("[1]", "row 1: must be an object"),
            (json.dumps([row]), "level=9 must be 0 to 5"),
            (json.dumps([{**row, "level": 1, "source": "CONLL2003"}]), "row 1: target="),
            ("[]", "no row that a program"),
        ):
            file.write_text(bad, encoding="utf-8")
            with pytest.raises(SpecError, match=message):
                load(f"followbench:{file}")
