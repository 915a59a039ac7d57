import json
from xml.etree import ElementTree as ET

import pytest

from adhere.constraints import conflict, make
from adhere.constraints.kinds.shared.json_shape import depth, instance, mismatch, parse, schema_problem
from adhere.errors import BadParameter

SCHEMA = '{"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}, "required": ["a"]}'
CASES = [
    ("data:json_array", {"count": 2}, ' ["Cats", "Katzen"]\r\n', "pass"),
    ("data:json_array", {"count": 2}, '["Cats", ""]', "fail"),
    ("data:json_array", {"count": 2}, '```json\n["Cats", "Dogs"]\n```', "fail"),
    ("data:json_array", {"count": 2}, '["Cats", 2]', "fail"),
    ("data:json_records", {"count": 1, "keys": ["a", "b"]}, '[{"b": "y", "a": "x"}]', "pass"),
    ("data:json_records", {"count": 1, "keys": ["a", "b"]}, '[{"a": "x", "b": "y", "c": "z"}]', "fail"),
    ("data:json_records", {"count": 1, "keys": ["a"]}, '[{"a": "x", "a": "y"}]', "fail"),
    ("data:json_types", {"text": "t", "number": "n", "flag": "f"}, '{"t": "x", "n": -1.5e3, "f": false}', "pass"),
    ("data:json_types", {"text": "t", "number": "n", "flag": "f"}, '{"t": "x", "n": true, "f": false}', "fail"),
    ("data:json_types", {"text": "t", "number": "n", "flag": "f"}, '{"t": "x", "n": NaN, "f": false}', "fail"),
    ("data:json_enum", {"key": "k", "values": ["a", "b"], "text": "t"}, '{"t": "x", "k": "b"}', "pass"),
    ("data:json_enum", {"key": "k", "values": ["a", "b"], "text": "t"}, '{"t": "x", "k": "B"}', "fail"),
    ("data:json_nested", {"outer": "o", "inner": ["i"]}, '{"o": {"i": "x"}}', "pass"),
    ("data:json_nested", {"outer": "o", "inner": ["i"]}, '{"o": [{"i": "x"}]}', "fail"),
    ("data:json_depth", {"levels": 3}, '{"a": [{"b": "x"}, 1]}', "pass"),
    ("data:json_depth", {"levels": 1}, '[[], "a"]', "fail"),
    ("data:json_depth", {"levels": 2}, "[" * 100_000 + "1", "fail"),
    ("data:json_sorted_keys", {"count": 2}, '{"Apple": 1, "banana": 2}', "pass"),
    ("data:json_sorted_keys", {"count": 3}, '{"a": 1, "b": 2}', "fail"),
    ("data:json_schema", {"schema": SCHEMA}, '{"a": 3, "b": "more is allowed"}', "pass"),
    ("data:json_schema", {"schema": SCHEMA}, '{"a": 0}', "fail"),
    ("data:json_schema", {"schema": SCHEMA}, '{"a": 3.0}', "fail"),
    ("data:json_lines", {"count": 2, "keys": ["a"]}, '{"a": "x"}\r\n\r\n{"a": "y"}\r\n', "pass"),
    ("data:json_lines", {"count": 2, "keys": ["a"]}, '{"a": "x"}\n{"b": "y"}', "fail"),
    ("data:csv", {"header": ["a", "b"], "rows": 2}, 'a,b\r\n"x, y",z\r\n1,2\r\n', "pass"),
    ("data:csv", {"header": ["a", "b"], "rows": 1}, "a,b\nx,y,z", "fail"),
    ("data:csv", {"header": ["a", "b"], "rows": 1}, 'a,b\n"x', "fail"),
    ("data:csv", {"header": ["a", "b"], "rows": 1}, "b,a\nx,y", "fail"),
    ("data:csv", {"header": ["a", "b"], "rows": 1}, "a,b\nx,y\nx,y", "fail"),
    ("data:csv", {"header": ["a", "b"], "rows": 1}, "a,b\n,", "fail"),
    ("data:xml", {"root": "r", "item": "i", "count": 1}, "<r><i>Tom & Jerry</i></r>", "fail"),
    ("data:xml", {"root": "r", "item": "i", "count": 1}, "<r><i>1 < 2</i></r>", "fail"),
    ("data:xml", {"root": "r", "item": "i", "count": 1}, "<r><i>Tom &amp; &#74;erry</i></r>", "pass"),
    ("data:key_values", {"keys": ["who", "why"]}, "who: cats\nwhy: they: can", "pass"),
    ("data:key_values", {"keys": ["who", "why"]}, "who:cats\nwhy: so", "fail"),
    ("data:key_values", {"keys": ["who"]}, "Here:\nwho: cats", "fail"),
    ("data:xml", {"root": "r", "item": "i", "count": 2}, "<r>\n <i>cats</i>\n <i>dogs</i>\n</r>\n", "pass"),
    ("data:xml", {"root": "r", "item": "i", "count": 1}, "<r><i>cats</r></i>", "fail"),
    ("data:xml", {"root": "r", "item": "i", "count": 1}, "<r>so <i>cats</i></r>", "fail"),
    ("data:xml", {"root": "r", "item": "i", "count": 1}, "<r><i>cats</i></r> bye", "fail"),
    ("data:xml", {"root": "r", "item": "i", "count": 1}, "<r><i></i></r>x", "fail"),
    ("data:xml", {"root": "r", "item": "i", "count": 1}, "<r><i>a < b</i></r>", "fail"),
]


@pytest.mark.parametrize(("name", "params", "text", "outcome"), CASES)
def test_cases(name, params, text, outcome):
    assert make(name, **params).check(text).outcome == outcome


def test_a_repair_to_xml_is_xml():
    made = make("data:xml", root="r", item="i", count=2).repair("Tom & Jerry run. They say 1 < 2 and rest.")
    assert [item.text for item in ET.fromstring(made)] == ["Tom & Jerry run.", "They say 1 < 2 and rest."]


def test_findings_say_where_the_json_is_wrong():
    records = make("data:json_records", count=2, keys=["a"])
    assert records.check('[{"a": "x"}, {"a": 1}]').reason == "'a' of item 2 of the value is integer, needed string"
    assert records.check('[{"a": "x"}]').reason == "the value has 1 items, needed at least 2"
    assert records.check('{"a": 1, "a": 2}').reason == "the answer is not readable as JSON: a key is repeated"
    assert make("data:json_array", count=1).check('["x",]').reason.startswith("the answer is not valid JSON: ")
    assert make("data:json_array", count=1).check("[" * 100_000 + "1").reason.endswith("nested too deeply")
    assert "digits" in make("data:json_array", count=1).check("9" * 5000).reason


def test_the_subset_of_json_schema():
    assert schema_problem({"type": "object", "properties": {"a": {"enum": [1, None]}}}) is None
    assert "'pattern' is not supported" in schema_problem({"type": "string", "pattern": "a+"})
    assert "'type' must be one of" in schema_problem({"items": {"type": "date"}})
    assert schema_problem({"minItems": -1}) == "'minItems' must be a whole number from 0"
    deep: dict = {}
    for _ in range(9):
        deep = {"items": deep}
    assert schema_problem(deep) == "schemas nest at most 8 levels"
    assert mismatch(True, {"type": "integer"}) == "the value is boolean, needed integer"
    assert mismatch(1, {"enum": [True]}) == "the value is 1, needed one of [true]"
    assert mismatch(["a", "b"], {"maxItems": 1}) == "the value has 2 items, allowed at most 1"
    assert (
        mismatch({"b": 1}, {"properties": {"a": {}}, "additionalProperties": False})
        == "the value has the further key 'b'"
    )
    assert mismatch("abc", {"type": "string", "maxLength": 2}) == "the value has 3 characters, allowed at most 2"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "minItems": 3, "items": {"type": "string", "minLength": 9}},
        {"type": "integer", "maximum": 2},
        {"type": "object", "required": ["x"], "properties": {"y": {"type": "boolean"}, "z": {"type": "null"}}},
    ],
)
def test_an_instance_matches_its_schema(schema):
    assert mismatch(instance(schema), schema) is None


def test_depth():
    assert [depth(value) for value in (1, [], [1], {"a": [1]}, [1, {"a": {"b": []}}])] == [0, 1, 1, 2, 4]
    assert parse("[" * 500 + "]" * 500)[1] is None


def test_schemas_that_nothing_can_match_are_refused():
    with pytest.raises(BadParameter, match="not valid JSON"):
        make("data:json_schema", schema="{")
    with pytest.raises(BadParameter, match="'format' is not supported"):
        make("data:json_schema", schema='{"format": "date"}')
    with pytest.raises(BadParameter, match="needed at least 2"):
        make("data:json_schema", schema='{"type": "array", "minItems": 2, "maxItems": 1}')
    with pytest.raises(BadParameter, match="tag names"):
        make("data:xml", root="a b", item="c", count=1)


def test_repairs_put_the_prose_into_data():
    text = "Cats sleep a lot. Dogs bark."
    assert json.loads(make("data:json_array", count=2).repair(text)) == ["Cats sleep a lot.", "Dogs bark."]
    assert make("data:csv", header=["a", "b"], rows=1).repair(text) == "a,b\nCats sleep a lot.,Dogs bark."
    assert make("data:key_values", keys=["a", "b"]).repair(text) == "a: Cats sleep a lot.\nb: Dogs bark."
    assert make("data:xml", root="r", item="i", count=2).repair(text) == (
        "<r>\n<i>Cats sleep a lot.</i>\n<i>Dogs bark.</i>\n</r>"
    )


def test_data_conflicts_with_what_would_stand_around_it():
    array = make("data:json_array", count=2)
    for other in (
        make("startend:quotes"),
        make("punctuation:no_commas"),
        make("structure:bullets", count=2),
        make("case:upper"),
        make("format:title"),
    ):
        assert conflict(array, other)
    assert not conflict(array, make("keywords:include", words=["cats"]))
