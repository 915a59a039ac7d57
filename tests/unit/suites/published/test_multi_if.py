"""Multi-IF: its file, its counters by language against a transcription of the published ones, its mean of four."""

import json
import re

import pytest
from tests.unit.suites.published.files import lines, multi_if, multi_if_row

from adhere.constraints.published.multiif.table import count_characters, count_hindi_sentences, count_pieces
from adhere.constraints.resolve import resolve, version_of
from adhere.errors import BadParameter, SpecError, UnknownName, UsageError
from adhere.models.fake.scripted import ScriptedModel
from adhere.pipeline.evaluate import evaluate_sync
from adhere.schema import ConstraintRef
from adhere.suites import load

COMMA = ("punctuation:no_comma", {})
WORDS = ("length_constraints:number_words", {"num_words": 4, "relation": "at least"})
THREE = (
    multi_if_row("1:a:en", "English", ("Say hello", [COMMA]), ("Longer", [COMMA, WORDS])),
    multi_if_row("2:b:fr", "French", ("Dis bonjour", [COMMA]), ("Plus", [COMMA, WORDS]), ("Encore", [WORDS])),
    multi_if_row("3:c:en", "English", ("Say bye", [WORDS])),
)

# A transcription of count_words_chinese_japanese (without its emoji), split_chinese_japanese and
# count_hindi_num_sentences.
TAKEN_OUT = r"[\\.\!\?\．\/_,\{\}<>:;$%^&*(+\"\'+——！，。？、`~@#￥……（）：；《）《》“”()\[\]»〔〕\-「」]+"
FOREIGN = r"[\u4E00-\u9FFF\u3400-\u4DBF]|[\u3040-\u309f\u30a0-\u30ff]|[\uAC00-\uD7AF]"


def theirs_words(text):
    text = re.sub(TAKEN_OUT, "", text)
    return len(re.sub(FOREIGN, " ", text).split()) + len(re.findall(FOREIGN, text))


def theirs_sentences(text):
    return sum(
        len(re.findall(r"[^!?。\.\!\?\！\？\．\n]+[!?。\.\!\?\！\？\．\n]?", line.strip()))
        for line in text.splitlines()
    )


TEXTS = (
    "今天天气很好。我们去公园吧！你来吗？", "你好", "", "你好, world! 3.5 度", "「引用」——破折号……省略", "一行\n两行\r\n三行。 ", "多。。空。 。句",
    "こんにちは、ジェイソンさん、Jason? Nice to meet you", "안녕하세요 여러분", "a b c", "混合mixed文字text", "１２３ ４５６", "A．B．C",
)  # fmt: skip


class TestCounters:
    @pytest.mark.parametrize("text", TEXTS)
    def test_characters_and_sentences_are_counted_as_published(self, text):
        assert count_characters(text) == (theirs_words(text), theirs_words(text))
        assert count_pieces(text) == theirs_sentences(text)

    def test_emoji(self):
        assert count_characters("你好☺❤")[:] == (4, 4)
        assert count_characters("你好❤\ufe0f")[:] == (3, 3)
        low, high = count_characters("你好👨\u200d👩\u200d👧")
        assert low <= 3 <= high

    def test_hindi(self):
        text = "यह एक वाक्य है। यह दूसरा है! क्या यह तीसरा है? अंत"
        assert count_hindi_sentences(text) == len([s for s in re.split(r"(?<=[।!?])\s*", text) if s.strip()]) == 4

    def judged(self, kind, text, **params):
        return resolve(ConstraintRef(kind, params), profile="multi-if").check(text).outcome

    def test_the_language_of_the_answer_decides_how_it_is_counted(self):
        chinese = "今天天气很好。我们一起去公园散步吧。晚上我们回家吃饭。"
        assert self.judged("length_constraints:number_words", chinese, num_words=20, relation="at least") == "pass"
        assert (
            resolve(ConstraintRef("length_constraints:number_words", {"num_words": 20, "relation": "at least"}))
            .check(chinese)
            .outcome
            == "fail"
        )
        assert (
            self.judged("length_constraints:number_sentences", chinese, num_sentences=3, relation="at least") == "pass"
        )
        english = "This is one sentence. Here is another one."
        assert (
            self.judged("length_constraints:number_sentences", english, num_sentences=3, relation="less than") == "pass"
        )

    def test_thai_is_undecided(self):
        thai = "สวัสดีครับ วันนี้อากาศดีมาก เราไปเดินเล่นกันเถอะ"
        assert self.judged("length_constraints:number_words", thai, num_words=5, relation="at least") == "undecided"
        assert self.judged("punctuation:no_comma", thai) == "pass"

    def test_emoji_that_could_turn_the_verdict_leave_it_undecided(self):
        text = "今天天气很好我们去公园吧" + "👨\u200d👩\u200d👧"
        low, high = count_characters(text)
        assert self.judged("length_constraints:number_words", text, num_words=high + 1, relation="at least") == "fail"
        assert (
            self.judged("length_constraints:number_words", text, num_words=low + 1, relation="at least") == "undecided"
        )

    def test_quotation_marks_of_three_kinds(self):
        for text, wanted in (
            ('"a"', "pass"),
            ("“a”", "pass"),
            ("「a」", "pass"),
            ('“a"', "fail"),
            ("a", "fail"),
            ('"', "fail"),
        ):
            assert self.judged("startend:quotation", text) == wanted, text
        assert resolve(ConstraintRef("startend:quotation")).check("“a”").outcome == "fail"

    def test_versions_say_whose_semantics(self):
        assert version_of("startend:quotation", profile="multi-if") == "multi-if.1"
        assert version_of("punctuation:no_comma", profile="multi-if") == version_of("punctuation:no_comma")


class TestFile:
    @pytest.mark.parametrize(("write", "name"), [(multi_if, "m.csv"), (lines, "m.jsonl")], ids=["csv", "jsonl"])
    def test_conversations(self, tmp_path, write, name):
        suite = load(f"multi-if:{write(tmp_path / name, list(THREE))}")
        assert [len(prompt.turns) for prompt in suite.prompts] == [2, 3, 1]
        assert suite.slices == ("English", "French")
        assert suite.prompts[1].turns[2].constraints == (ConstraintRef(*WORDS),)
        assert (
            suite.settings["note"]
            == "3 conversations, 6 turns: differs from the published file, which has 4,501 conversations"
        )

    def test_some_languages(self, tmp_path):
        path = multi_if(tmp_path / "m.csv", list(THREE))
        assert [prompt.id for prompt in load(f"multi-if:{path}@French").prompts] == ["2:b:fr"]
        with pytest.raises(UsageError, match=r"no conversation in Thai.*has: English, French"):
            load(f"multi-if:{path}@French+Thai")
        with pytest.raises(UsageError, match=r"no language 'Frensh'. Did you mean 'French'"):
            load(f"multi-if:{path}@Frensh")

    def test_the_mean_of_four_by_turn_and_language(self, tmp_path):
        suite = load(f"multi-if:{multi_if(tmp_path / 'm.csv', list(THREE))}")
        # Turn 1: hello passes; bonjour fails strictly and passes without its first line; bye has two of four words.
        said = {"Say hello": "hello there", "Dis bonjour": "oui, oui\nbonjour", "Say bye": "good bye"}
        answer = lambda request: said.get(request.messages[-1].content, "one two three four")  # noqa: E731
        run = evaluate_sync(ScriptedModel(answer), suite, tmp_path / "run")
        found = {one.scope: one for one in run.summary().measures if one.name == "mean of four"}
        assert found["turn 1"].value == pytest.approx((1 / 3 + 1 / 3 + 2 / 3 + 2 / 3) / 4)
        assert found["turn 1, French"].value == pytest.approx(0.5)
        assert found["turn 2"].value == found["turn 3"].value == 1
        assert found["turn 1"].n == 3
        assert found["turn 1"].low <= found["turn 1"].value <= found["turn 1"].high

    def test_turns_that_never_came_are_not_measured(self, tmp_path):
        suite = load(f"multi-if:{multi_if(tmp_path / 'm.csv', [THREE[1]])}")

        def answer(request):
            if request.turn == 1:
                raise RuntimeError("down")
            return "un mot"

        run = evaluate_sync(ScriptedModel(answer), suite, tmp_path / "run")
        summary = run.summary()
        assert summary.overall.accounting.error == 2
        assert {one.scope: one.value for one in summary.measures if one.name == "mean of four"} == {
            "turn 1": 1.0,
            "turn 2": None,
            "turn 3": None,
        }

    def test_other_versions_are_refused(self, tmp_path):
        good = multi_if_row("1", "English", ("Say hello", [COMMA]))
        cases = (
            ({"language": "Klingon"}, SpecError, "row 1: language='Klingon' must be one of"),
            ({"turn_1_prompt": "None"}, SpecError, "key '1': turn 1 is missing"),
            ({"turn_3_prompt": json.dumps({"role": "user", "content": "x"})}, SpecError,
                "turn 2 is missing, but there is turn 3"),
            ({"turn_1_prompt": "hello"}, SpecError, "turn 1: turn_1_prompt is not JSON"),
            ({"turn_1_prompt": json.dumps({"role": "system", "content": "x"})}, SpecError, "a message with role user"),
            ({"turn_1_kwargs": "[]"}, SpecError, "1 instruction ids, but 0 kwargs"),
            ({"turn_1_instruction_id_list": json.dumps(["nobody:knows"])}, UnknownName,
                "key '1', turn 1: .*nobody:knows"),
            ({"turn_1_instruction_id_list": json.dumps([WORDS[0]])}, BadParameter,
                "missing parameters num_words, relation"),
            ({"turn_1_kwargs": json.dumps([json.dumps({"more": 1})])}, BadParameter, "unknown parameter 'more'"),
        )  # fmt: skip
        for change, error, message in cases:
            with pytest.raises(error, match=message):
                load(f"multi-if:{multi_if(tmp_path / 'm.csv', [{**good, **change}])}")
        lacking = {name: value for name, value in good.items() if name != "language"}
        with pytest.raises(SpecError, match=r"language is missing.*another version of the file"):
            load(f"multi-if:{multi_if(tmp_path / 'm.csv', [lacking])}")
        with pytest.raises(SpecError, match="two rows are '1'"):
            load(f"multi-if:{multi_if(tmp_path / 'm.csv', [good, good])}")
        with pytest.raises(UsageError, match=r"needs its file.*adhere fetch suite:multi-if"):
            load("multi-if")
        with pytest.raises(UsageError, match="no such file"):
            load(f"multi-if:{tmp_path / 'none.csv'}")
