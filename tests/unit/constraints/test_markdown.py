import pytest

from adhere.constraints import conflict, make
from adhere.errors import BadParameter

TABLE = "| A | B |\r\n|:--|--:|\r\n| cats | dogs |\r\n| x \\| y | z |"
CASES = [
    ("markdown:table", {"columns": 2, "rows": 2}, TABLE, "pass"),
    ("markdown:table", {"columns": 2, "rows": 2}, f"Here:\n\n{TABLE}\n\nThat is it.", "pass"),
    ("markdown:table", {"columns": 2, "rows": 2}, f"```\n{TABLE}\n```", "fail"),
    ("markdown:table", {"columns": 2, "rows": 2}, f"{TABLE}\n\n{TABLE}", "fail"),
    ("markdown:table", {"columns": 2, "rows": 1}, "A | B\n---|---\ncats | dogs | birds", "fail"),
    ("markdown:table_header", {"header": ["A", "B"]}, "| **A** | B |\n|---|---|\n| cats | |", "pass"),
    ("markdown:table_header", {"header": ["A", "B"]}, "| A | B |\n|---|---|\n| | |", "fail"),
    ("markdown:table_header", {"header": ["A", "B"]}, "| a | b |\n|---|---|\n| x | y |", "fail"),
    ("markdown:code_language", {"language": "python"}, "Run:\n~~~Python title=x\nrun()\n~~~", "pass"),
    ("markdown:code_language", {"language": "python"}, "```python\nrun()", "fail"),
    ("markdown:code_language", {"language": "python"}, "```python\n```", "fail"),
    ("markdown:code_blocks", {"count": 2}, "```\na\n```\n\n````\n```\nb\n```\n````", "pass"),
    ("markdown:code_blocks", {"count": 1}, "```\na\n```\n```\nb\n```", "fail"),
    ("markdown:outline", {"count": 2}, "# Cats\n\n## One ##\ntext\n## **Two**\ntext", "pass"),
    ("markdown:outline", {"count": 1}, "# Cats\n## One\n### Deep", "fail"),
    ("markdown:outline", {"count": 1}, "#Cats\n##One", "fail"),
    ("markdown:heading_texts", {"titles": ["Pro", "Contra"]}, "### Pro:\nx\n### contra\ny", "pass"),
    ("markdown:heading_texts", {"titles": ["Pro", "Contra"]}, "# Contra\n# Pro", "fail"),
    ("markdown:nested_bullets", {"outer": 2, "inner": 1}, "* a1\n\t* b1\n* a2\n    * b2", "pass"),
    ("markdown:nested_bullets", {"outer": 2, "inner": 1}, "* a1\n * b1\n* a2\n * b2", "fail"),
    ("markdown:checkboxes", {"count": 2, "done": 1}, "Todo:\n- [X] wash\n* [ ] dry", "pass"),
    ("markdown:checkboxes", {"count": 2, "done": 0}, "- [] wash\n- [] dry", "fail"),
    ("markdown:definitions", {"terms": ["cat", "dog"]}, "- **Cat:** a pet\n- **dog** : another", "pass"),
    ("markdown:definitions", {"terms": ["cat", "dog"]}, "**dog**: x\n**cat**: y", "fail"),
    ("markdown:definitions", {"terms": ["cat"]}, "**cat** is a pet", "fail"),
    ("markdown:block_quote", {"count": 2}, "> one\n>\n>two", "pass"),
    ("markdown:block_quote", {"count": 1}, "1 > 0", "fail"),
    ("markdown:bold_leads", {"count": 2}, "- **One** x\n- __Two:__ y", "pass"),
    ("markdown:bold_leads", {"count": 1}, "- **One** x\n- two", "fail"),
    ("markdown:links", {"count": 1}, "[cats](https://example.com/a_b?c=1#d)", "pass"),
    ("markdown:links", {"count": 1}, "![cats](https://example.com) and [dogs](example)", "fail"),
    ("markdown:inline_code", {"word": "sea level"}, "Say ` Sea Level ` now", "pass"),
    ("markdown:inline_code", {"word": "cat"}, "```cat```", "fail"),
    ("markdown:plain", {}, "2 * 3 = 6, a_b, 5 > 3 and snake_case_name: done.", "pass"),
    ("markdown:plain", {}, "It is **so**.", "fail"),
    ("markdown:plain", {}, "List:\n1. cats", "fail"),
    ("markdown:plain", {}, "In 2019. Cats", "pass"),
    ("markdown:plain", {}, "![cat](https://example.com/cat.png)", "fail"),
    ("markdown:plain", {}, "See [this](cats.md).", "fail"),
    ("markdown:plain", {}, "It is ~~not~~ so.", "fail"),
    ("markdown:plain", {}, "Cats\n\n- - -\n\nDogs", "fail"),
    ("markdown:plain", {}, "Cats -- and [dogs] (both) ~5 -\n-- so", "pass"),
    ("markdown:links", {"count": 1}, '[cats](https://example.com "Cats")', "pass"),
    ("markdown:table", {"columns": 2, "rows": 1}, "|A|B|\n|-|-|\n| | |", "fail"),
    ("markdown:table", {"columns": 2, "rows": 1}, "|A|B|\n|-|-|\n|a| |", "pass"),
]


@pytest.mark.parametrize(("name", "params", "text", "outcome"), CASES)
def test_cases(name, params, text, outcome):
    assert make(name, **params).check(text).outcome == outcome


def test_findings_say_what_is_there():
    assert make("markdown:table", columns=2, rows=2).check("Cats").reason == "found 0 tables, needed exactly 1"
    finding = make("markdown:outline", count=2).check("# Cats\n### Deep")
    assert finding.reason == "found headings of the levels 1, 3, needed 1 and then 2 headings of level 2"
    assert finding.score == pytest.approx(1 / 3)
    finding = make("markdown:plain").check("So *it* is.")
    assert finding.reason == "found emphasis: '*it*'"
    assert finding.span == (3, 7)


def test_repairs_build_the_markdown():
    text = "Cats sleep a lot. Dogs bark."
    assert make("markdown:table_header", header=["A", "B"]).repair(text) == (
        "| A | B |\n| --- | --- |\n| Cats sleep a lot. | Dogs bark. |"
    )
    assert make("markdown:checkboxes", count=2, done=1).repair(text) == "- [x] Cats sleep a lot.\n- [ ] Dogs bark."
    assert make("markdown:inline_code", word="dogs").repair(text) == "Cats sleep a lot. `Dogs` bark."
    assert make("markdown:plain").repair("# Cats\n- *sleep*") == "Cats sleep."


def test_plain_text_conflicts_with_markdown():
    plain = make("markdown:plain")
    assert conflict(plain, make("markdown:links", count=1))
    assert conflict(make("format:highlights", count=1), plain)
    assert not conflict(plain, make("length:at_most", limit=20))


def test_parameters_that_cannot_be_met_are_refused():
    with pytest.raises(BadParameter, match="done=3 must not be above count=2"):
        make("markdown:checkboxes", count=2, done=3)
    with pytest.raises(BadParameter, match=r"must not hold \|"):
        make("markdown:table_header", header=["a|b", "c"])


def test_every_wording_of_definitions_says_their_order():
    one = make("markdown:definitions", terms=["cat", "dog"])
    said = [one.describe(number) for number in range(len(one.phrasings))]
    assert all(any(words in text for words in ("in this order", "one after the other", "in turn")) for text in said)
