"""The family `exact`.

What each normaliser forgives and what it does not, partial scores, answer keys that nobody says.
"""

from __future__ import annotations

import random
import re
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adhere.constraints import make, registry
from adhere.constraints.kinds.held_out.exact_rules import is_rule, judge_rule
from adhere.constraints.kinds.shared.closeness import (
    in_order,
    leaves,
    of_lists,
    of_tables,
    of_texts,
    of_values,
)
from adhere.constraints.kinds.shared.normalisers import LONGEST_ANSWER, LONGEST_EXPECTED, bare, text
from adhere.errors import BadParameter
from adhere.testing import draw_several
from timing import assert_quick

KINDS = [registry.get(name) for name in registry if name.startswith("exact:")]
TABLE = "a,b\n1,2\n3,4"
MARKDOWN = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"


def exact(kind, expected, normaliser, **others):
    return make(f"exact:{kind}", expected=expected, normaliser=normaliser, **others)


def outcome(constraint, answer):
    return constraint.check(answer).outcome


class TestContract:
    def test_six_kinds(self):
        assert [kind.id for kind in KINDS] == [
            "exact:json",
            "exact:lines",
            "exact:number",
            "exact:rule_set",
            "exact:table",
            "exact:text",
        ]
        assert all(kind.part == "held-out" for kind in KINDS)

    @pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.id)
    def test_every_wording_says_all_parameters_but_the_answer_key(self, kind):
        for one in draw_several(kind):
            sentences = [one.describe(number) for number in range(len(kind.phrasings))]
            assert len(set(sentences)) == len(sentences) >= 4
            for sentence in sentences:
                assert one.expected not in sentence
                assert one.normaliser in sentence
                assert all(rule in sentence for rule in getattr(one, "rules", ()))

    @pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.id)
    def test_the_longest_answer_that_is_read_takes_no_time(self, kind):
        for one in draw_several(kind, count=1):
            for piece in (one.expected + "\n", "a", "1,", "|a|\n|-|\n", '{"a":[', "[0,", "a b\n", "1,1\n", '"a",'):
                answer = (piece * LONGEST_ANSWER)[:LONGEST_ANSWER]
                assert assert_quick(partial(outcome, one, answer), f"{one!r} on {piece!r}") == "fail"

    def test_the_longest_answer_key_takes_no_time(self):
        rng = random.Random(0)
        expected = "".join(rng.choices("abc", k=LONGEST_EXPECTED))
        one = exact("text", expected, "text")
        answer = "".join(rng.choices("abc", k=LONGEST_ANSWER))
        assert 0 < assert_quick(lambda: one.check(answer), "the longest answer key").score < 0.5

    def test_a_longer_answer_is_not_read(self):
        one = exact("text", "a", "text")
        finding = one.check("a" * (LONGEST_ANSWER + 1))
        assert (finding.outcome, finding.score) == ("fail", 0)
        assert finding.reason == "the answer has more than 20000 characters, so it was not read"
        assert outcome(one, "a" + " " * LONGEST_ANSWER) == "pass"


class TestBare:
    @pytest.mark.parametrize(
        ("answer", "left"),
        [
            (" a\r\nb\rc \n", "a\nb\nc"),
            ("```\na\n```", "a"),
            ("```json\n{}\n```\n", "{}"),
            ("~~~~\na\n\nb\n~~~~", "a\n\nb"),
            ("```\na\n```\ntext", "```\na\n```\ntext"),
            ("text\n```\na\n```", "text\n```\na\n```"),
            ("```\na\n```\n```\nb\n```", "```\na\n```\n```\nb\n```"),
            ("```\na", "```\na"),
            ("```a```", "```a```"),
            ("```\n```", ""),
            ("````\n```\na\n```\n````", "```\na\n```"),
        ],
    )
    def test_fences_and_line_ends(self, answer, left):
        assert bare(answer) == left

    @pytest.mark.parametrize(
        ("answer", "left"),
        [
            ('"a"', "a"), ("'a'", "a"), ("`a`", "a"), ("“a”", "a"), ("a.", "a"), ('"a."', "a"), ('"a".', "a"),
            ('"a.".', "a."), ("a..", "a.."), ("a...", "a..."), ('""a""', '""a""'), ('"a" "b"', '"a" "b"'), ('"', '"'),
            ("'it's'", "'it's'"), ("**a**", "**a**"), ('```\n"a".\n```', "a"),
        ],
    )  # fmt: skip
    def test_quotes_and_stops(self, answer, left):
        assert text(answer) == left


class TestText:
    @pytest.mark.parametrize("answer", ["ab-cd", " ab-cd\n", '"ab-cd"', "ab-cd.", "```\nab-cd\n```", "`ab-cd`"])
    def test_forgiven(self, answer):
        assert exact("text", "ab-cd", "text").check(answer)[:2] == (
            "pass",
            "the answer is the expected one (normaliser text)",
        )

    @pytest.mark.parametrize(
        "answer", ["AB-cd", "ab-cd!", "**ab-cd**", "ab -cd", "ab-c", "It is ab-cd", "ab-cd\nab-cd"]
    )
    def test_not_forgiven(self, answer):
        assert outcome(exact("text", "ab-cd", "text"), answer) == "fail"

    @pytest.mark.parametrize("answer", ['"ab-cd"', "ab-cd.", "`ab-cd`"])
    def test_verbatim_forgives_no_marks(self, answer):
        assert outcome(exact("text", "ab-cd", "verbatim"), answer) == "fail"
        assert outcome(exact("text", "ab-cd", "verbatim"), "```\nab-cd\n```\n") == "pass"

    def test_partial(self):
        finding = exact("text", "ab-cd", "text").check("ab-xd")
        assert finding.score == pytest.approx(0.8)
        assert finding.reason == "found 'ab-xd', needed 'ab-cd' (normaliser text); partial: 0.80"
        assert (finding.measured, finding.needed) == ("ab-xd", "ab-cd")
        assert exact("text", "ab", "text").check("xyz").score == 0
        assert "partial" not in exact("text", "ab", "text").check("xyz").reason


class TestNumber:
    @pytest.mark.parametrize(
        "answer", ["1204.50", "1,204.50", "+1204.50", '"1204.50"', "1204.50.", "```\n1204.50\n```"]
    )
    def test_forgiven(self, answer):
        assert outcome(exact("number", "1204.50", "number"), answer) == "pass"

    def test_a_typographic_minus(self):
        assert outcome(exact("number", "-3", "number"), "\N{MINUS SIGN}3") == "pass"

    @pytest.mark.parametrize(
        ("answer", "score"),
        [
            ("1204.5", 0.9), ("01204.50", 0.9), ("1204.500", 0.9), ("$1204.50", 0.5), ("The sum is 1,204.50", 0.5),
            ("1204.50 kg", 0.5), ("1204,50", 0), ("1204.50 or 7", 0), ("12,04.50", 0), ("1 204.50", 0), ("no idea", 0),
            ("2000.00", 0), ("-1204.50", 0), ("1192.45", 0.45), ("9" * 15000, 0), ("١٢٠٤", 0),
        ],
    )  # fmt: skip
    def test_partial(self, answer, score):
        finding = exact("number", "1204.50", "number").check(answer)
        assert finding.outcome == "fail"
        assert finding.score == pytest.approx(score, abs=0.001)

    def test_zero(self):
        assert exact("number", "0", "number").check("0.0").score == 0.9
        assert exact("number", "0", "number").check("5").score == 0

    @pytest.mark.parametrize("expected", ["1,204", "012", "+3", "1e3", "three", "1.", ".5", "1 2"])
    def test_keys_that_are_no_numbers(self, expected):
        with pytest.raises(BadParameter, match=r"exact:number: expected=.* must be a number such as"):
            exact("number", expected, "number")


class TestLines:
    @pytest.mark.parametrize("answer", ["a b\nc", "\n a b \n\nc\n", "a b\r\nc", "```\na b\nc\n```"])
    def test_lines_forgiven(self, answer):
        assert outcome(exact("lines", "a b\nc", "lines"), answer) == "pass"

    @pytest.mark.parametrize("answer", ["c\na b", "a b", "a b, c", "- a b\n- c", "a  b\nc", "a b\nc\nc", "a b\nc."])
    def test_lines_not_forgiven(self, answer):
        assert outcome(exact("lines", "a b\nc", "lines"), answer) == "fail"

    @pytest.mark.parametrize("answer", ["1, 2, 3", "1,2,3", "1 , 2,\n3", '"1, 2, 3"', "1, 2, 3."])
    def test_items_forgiven(self, answer):
        assert outcome(exact("lines", "1, 2, 3", "items"), answer) == "pass"

    @pytest.mark.parametrize(
        "answer", ["1, 3, 2", "1 2 3", "1\n2\n3", "[1, 2, 3]", "1, 2, 3, ...", "1, 2, 3,", "1; 2; 3"]
    )
    def test_items_not_forgiven(self, answer):
        assert outcome(exact("lines", "1, 2, 3", "items"), answer) == "fail"

    def test_partial_is_the_share_in_order(self):
        one = exact("lines", "a\nb\nc\nd", "lines")
        assert one.check("a\nc\nb\nd").score == 0.75
        assert one.check("a\nb\nc").score == 0.75
        assert one.check("Here:\na\nb\nc\nd").score == 0.8
        finding = one.check("a\nb\nx\nd")
        assert finding.reason == "line 3 is 'x', needed 'c' (normaliser lines); partial: 0.75"
        assert (finding.measured, finding.needed) == (3, 4)
        assert one.check("a\nb").reason == "found 2 lines, needed 4 (normaliser lines); partial: 0.50"


class TestJson:
    EXPECTED = '{"a": 1, "b": ["x", null, true]}'

    @pytest.mark.parametrize(
        "answer", ['{"b":["x",null,true],"a":1}', '```json\n{"a": 1.0, "b": ["x", null, true]}\n```', EXPECTED + "\n"]
    )
    def test_forgiven(self, answer):
        assert outcome(exact("json", self.EXPECTED, "json"), answer) == "pass"

    @pytest.mark.parametrize(
        ("answer", "score"),
        [
            ('{"a": "1", "b": ["x", null, true]}', 0.75),
            ('{"a": true, "b": ["x", null, true]}', 0.75),
            ('{"a": 1, "b": ["x", null, 1]}', 0.75),
            ('{"a": 1, "b": [null, "x", true]}', 0.5),
            ('{"a": 1, "b": ["x", null, true], "c": 0}', 0.8),
            ('{"a": 1, "b": []}', 0.25),
            ('Here: {"a": 1, "b": ["x", null, true]}', 0.5),
            ('{"a": 1, "b": ["x", null, true]} Done.', 0.5),
            ('{"a": 1, "a": 1}', 0),
            ("{'a': 1}", 0),
            ('{"a": 1', 0),
            ("[" * 5000 + "1", 0),
            ('{"a":' * 30 + "1" + "}" * 30, 0),
            ("[]x", 0),
        ],
    )
    def test_partial(self, answer, score):
        finding = exact("json", self.EXPECTED, "json").check(answer)
        assert (finding.outcome, finding.score) == ("fail", pytest.approx(score))

    def test_empty_containers_differ(self):
        assert outcome(exact("json", '{"a": []}', "json"), '{"a": {}}') == "fail"
        assert outcome(exact("json", '{"a": []}', "json"), '{"a": null}') == "fail"

    def test_a_key_that_is_no_json(self):
        with pytest.raises(BadParameter, match="must be JSON; it is not valid JSON"):
            exact("json", "{a}", "json")


class TestTable:
    @pytest.mark.parametrize(
        "answer", [TABLE, '"a","b"\n"1","2"\n3,4', "a, b\r\n1, 2\r\n3, 4\r\n", f"```csv\n{TABLE}\n```"]
    )
    def test_csv_forgiven(self, answer):
        assert outcome(exact("table", TABLE, "csv"), answer) == "pass"

    @pytest.mark.parametrize(
        ("answer", "score"),
        [
            ("a,b\n3,4\n1,2", 2 / 3), ("a,b\n1,2", 2 / 3), ("1,2\n3,4", 2 / 3), ("a,b\n1,2\n3,5", 5 / 6),
            ("a;b\n1;2\n3;4", 0), ("Result:\na,b\n1,2\n3,4", 0.75), ('a,b\n1,"2', 0), ("A,B\n1,2\n3,4", 2 / 3),
            ("a,b\n1,2\n3,4\n3,4", 0.75),
        ],
    )  # fmt: skip
    def test_csv_partial(self, answer, score):
        finding = exact("table", TABLE, "csv").check(answer)
        assert (finding.outcome, finding.score) == ("fail", pytest.approx(score))

    @pytest.mark.parametrize(
        "answer", [MARKDOWN, "a|b\n-|-\n1|2\n3|4", "|a|b|\n|:-:|--:|\n|1|2|\n\n|3|4|", f"```markdown\n{MARKDOWN}\n```"]
    )
    def test_markdown_forgiven(self, answer):
        assert outcome(exact("table", MARKDOWN, "markdown-table"), answer) == "pass"

    @pytest.mark.parametrize(
        ("answer", "score"),
        [
            ("| a | b |\n| 1 | 2 |\n| 3 | 4 |", 0.5),
            (f"Table:\n\n{MARKDOWN}", 0.5),
            (MARKDOWN + "\n| 5 | 6 |", 0.75),
            (MARKDOWN.replace("4", "**4**"), 5 / 6),
            (TABLE, 0),
            ("no table", 0),
            ("|a|b|\n|-|\n|1|2|\n|3|4|", 0.5),
        ],
    )
    def test_markdown_partial(self, answer, score):
        finding = exact("table", MARKDOWN, "markdown-table").check(answer)
        assert (finding.outcome, finding.score) == ("fail", pytest.approx(score, abs=0.01))

    def test_keys_that_are_no_tables(self):
        for expected, normaliser in (("a,b\n1", "csv"), ("a,b", "markdown-table"), ('"a', "csv")):
            with pytest.raises(BadParameter, match="must be a table"):
                exact("table", expected, normaliser)


RULES = (
    "exactly 2 words", "each word has 3 to 5 letters", "no word contains e or t", "no word stands twice",
    "the words are in alphabetical order", "word 2 starts with d", "each word has only lowercase letters a to z",
)  # fmt: skip


class TestRuleSet:
    @pytest.mark.parametrize("answer", ["big dog", "aaa ddd", "```\nbig dogs\n```", "big dogs\n"])
    def test_kept(self, answer):
        one = exact("rule_set", "big dog", "words", rules=RULES)
        assert one.check(answer).reason == "all 7 rules hold (normaliser words)"

    @pytest.mark.parametrize(
        ("answer", "broken"),
        [
            ("big", ["exactly 2 words", "word 2 starts with d"]),
            ("big dog door", ["exactly 2 words"]),
            ("dig did dad", ["exactly 2 words", "the words are in alphabetical order"]),
            ("big do", ["each word has 3 to 5 letters"]),
            ("bet dog", ["no word contains e or t"]),
            ("BET dog", ["no word contains e or t", "each word has only lowercase letters a to z"]),
            ("dog dog", ["no word stands twice"]),
            ("fog dog", ["the words are in alphabetical order"]),
            ("big cow", ["word 2 starts with d"]),
            ("big dog.", ["each word has only lowercase letters a to z"]),
            (
                "big\ndog",
                [
                    "exactly 2 words",
                    "each word has 3 to 5 letters",
                    "word 2 starts with d",
                    "each word has only lowercase letters a to z",
                ],
            ),
        ],
    )
    def test_broken(self, answer, broken):
        finding = exact("rule_set", "big dog", "words", rules=RULES).check(answer)
        assert finding.outcome == "fail"
        assert [rule for rule in RULES if f"{rule} (found" in finding.reason] == broken
        assert finding.score == pytest.approx((7 - len(broken)) / 7)
        assert (finding.measured, finding.needed) == (7 - len(broken), 7)

    def test_lines(self):
        rules = ("exactly 2 lines", "no line contains z", "line 1 starts with k", "line 2 has 3 words",
                 "each line has only lowercase letters a to z and single spaces")  # fmt: skip
        one = exact("rule_set", "kind\na b c", "lines", rules=rules)
        assert outcome(one, "kids run\n\n  x y w  ") == "pass"
        for wrong in (
            "kids",
            "kids\na b",
            "kids\na  b c",
            "ids\na b c",
            "kids\na b z",
            "Kids\na b c",
            "kids\na b c\nd",
        ):
            assert outcome(one, wrong) == "fail"

    def test_rules_that_mean_nothing(self):
        assert is_rule("line 12 has 1 word")
        assert not is_rule("line 1 has three words")
        with pytest.raises(ValueError, match="none of the forms"):
            judge_rule("be nice", [])
        with pytest.raises(BadParameter, match="each must be a rule such as"):
            exact("rule_set", "a", "words", rules=("be nice",))
        with pytest.raises(BadParameter, match="must have a rule about the number of words"):
            exact("rule_set", "a", "words", rules=("no word stands twice",))

    def test_rules_that_the_example_breaks(self):
        with pytest.raises(BadParameter, match=r"expected='a' must pass: .*broken: exactly 2 words \(found 1\)"):
            exact("rule_set", "a", "words", rules=("exactly 2 words",))

    def test_nothing_keeps_no_rule(self):
        for rule in RULES:
            assert not judge_rule(rule, []).holds


class TestKeys:
    @pytest.mark.parametrize("expected", [" a", "a.", '"a"', "```\na\n```", "a\r\nb"])
    def test_a_key_is_as_its_normaliser_leaves_it(self, expected):
        with pytest.raises(BadParameter, match=r"exact:text: expected=.* must be as the normaliser leaves it"):
            exact("text", expected, "text")

    @pytest.mark.parametrize("expected", ["1,2", "1, 2\n3 ", "1, 2."])
    def test_a_key_of_items_is_written_one_way(self, expected):
        with pytest.raises(BadParameter, match="must be as the normaliser leaves it"):
            exact("lines", expected, "items")

    def test_unknown_normalisers(self):
        with pytest.raises(BadParameter, match="normaliser='json' must be one of 'text', 'verbatim'"):
            exact("text", "a", "json")


def table_distance(found, needed):
    """Levenshtein's distance from its definition."""
    row = list(range(len(needed) + 1))
    for number, one in enumerate(found, start=1):
        above, row = row, [number]
        for at, other in enumerate(needed, start=1):
            row.append(min(above[at] + 1, row[-1] + 1, above[at - 1] + (one != other)))
    return row[-1]


def table_order(found, needed):
    """The longest common subsequence from its definition."""
    row = [0] * (len(needed) + 1)
    for one in found:
        above, row = row, [0]
        for at, other in enumerate(needed, start=1):
            row.append(above[at - 1] + 1 if one == other else max(above[at], row[-1]))
    return row[-1]


class TestCloseness:
    @given(st.text("abc", max_size=70), st.text("abc", max_size=70))
    @settings(max_examples=300, deadline=None)
    def test_distances_are_those_of_the_definition(self, found, needed):
        longer = max(len(found), len(needed), 1)
        assert of_texts(found, needed) == 1 - table_distance(found, needed) / longer
        assert in_order(found, needed) == table_order(found, needed)

    def test_by_hand(self):
        assert in_order("kitten", "sitting") == 4
        assert of_texts("kitten", "sitting") == pytest.approx(4 / 7)
        assert of_lists(["a", "x"], ["a", "b", "c"]) == pytest.approx(1 / 3)
        assert of_tables([("a", "b"), ("1", "9")], [("a", "b"), ("1", "2")]) == 0.75
        assert of_tables([("1", "2")], [("a", "b"), ("1", "2")]) == 0.5
        assert (of_texts("", ""), of_lists([], []), of_tables([], [])) == (1.0, 1.0, 1.0)

    def test_leaves(self):
        found = leaves({"a": [1, {"b": None}], "c": {}})
        assert found == {("a", 0, "number", 1): 1, ("a", 1, "b", "NoneType", None): 1, ("c", "dict", None): 1}
        assert of_values(leaves([1, 2]), leaves([1, 3, 4])) == pytest.approx(1 / 3)
        assert leaves(1) == leaves(1.0) != leaves(True)


def test_the_docstrings_hold():
    # Each shows a passing and a failing answer; the class attributes are the same ones.
    for kind in KINDS:
        examples = re.findall(r"\b(?:passes|fails)\b", kind.__doc__)[:2]
        assert examples == ["passes", "fails"], kind.id
