"""StructEval without pictures and JSONSchemaBench: their files, their rules, their defects."""

import json
import sys

import pytest
from tests.unit.suites.published.files import lines, listed

from adhere.constraints.published.structeval.table import steps_of
from adhere.constraints.resolve import resolve
from adhere.errors import BadParameter, SpecError
from adhere.models.fake.scripted import ScriptedModel
from adhere.pipeline.evaluate import evaluate_sync
from adhere.schema import ConstraintRef
from adhere.suites import load


def structeval(number=1, form="JSON", paths=("a.b", "list.*.c"), **more):
    return {
        "task_id": f"{number:06d}",
        "query": f"Please output {form} code.",
        "task_name": f"Text to {form}",
        "output_type": form,
        "raw_output_metric": list(paths),
        "rendering": False,
        "VQA": [],
        **more,
    }


def found(form, path, text):
    return (
        resolve(ConstraintRef("structeval:path", {"format": form, "path": path}), profile="structeval")
        .check(text)
        .outcome
    )


@pytest.mark.parametrize(
    ("form", "path", "text"),
    [
        ("json", "a.list[1].*.b", '<code>{"a": {"list": [1, [{"c": 1}, {"b": null}]]}}</code>'),
        ("json", "`a.b`.c", '```json\n{"a.b": {"c": 1}}\n```'),
        ("toml", "server.ports[0]", "Here:\n```\n[server]\nports = [1]\n```"),
        ("xml", "root.@id", '<code><root id="7"><item>x</item></root></code>'),
        ("xml", "root.item[1].name", "<code><root><item/><item><name>x</name></item></root></code>"),
        ("csv", "csv::total", "<code>item,total\na,3</code>"),
    ],
)
def test_a_path_is_found_as_the_published_code_finds_it(form, path, text):
    assert found(form, path, text) == "pass"
    assert (
        found(
            form,
            path.replace("b", "q").replace("item", "q").replace("total", "q").replace("ports", "q").replace("id", "q"),
            text,
        )
        == "fail"
    )


def test_known_defects_are_kept():
    escaped = '<code>{"a": "one\\\\nline"}</code>'.replace("\\\\", "\\")  # \n inside a JSON text becomes a line break
    assert found("json", "a", escaped) == "fail"
    assert found("json", "é", '<code>{"é": 1}</code>') == "fail"
    assert found("json", "a", '{"a": 1}') == "fail"  # no tag and no fence
    assert found("json", "a", "<code>{}</code>") == "fail"
    assert steps_of("a[0].*.b") == ["a", "[0]", "*", "b"]
    with pytest.raises(BadParameter, match="never closed"):
        resolve(ConstraintRef("structeval:path", {"format": "json", "path": "a[0"}), profile="structeval")


def test_structeval_s_score_is_the_published_one(tmp_path):
    rows = [structeval(1), structeval(2, "TOML", ("x", "y")), structeval(3, "HTML")]
    suite = load(f"structeval:{listed(tmp_path / 'rows.json', rows)}")
    assert (len(suite.prompts), "1 rendered" in suite.settings["note"]) == (2, True)
    texts = {"000001": '<code>{"a": {"b": 1}, "list": []}</code>', "000002": "```toml\nx = 1\n"}
    model = ScriptedModel(lambda call: texts[call.prompt_id])
    summary = evaluate_sync(model, suite, tmp_path / "run").summary()
    scores = {one.scope: one.value for one in summary.measures if one.name == "StructEval score"}
    assert scores == pytest.approx({"": 0.3, "Text to JSON": 0.6, "Text to TOML": 0.0})
    with pytest.raises(SpecError, match="raw_output_metric"):
        load(f"structeval:{listed(tmp_path / 'bad.json', [structeval(paths=())])}")


SCHEMA = {
    "type": "object",
    "required": ["ip"],
    "properties": {"ip": {"type": "string", "format": "date"}, "n": {"$ref": "#/$defs/n"}},
    "$defs": {"n": {"type": "integer", "minimum": 3}},
}


def test_jsonschemabench_judges_by_all_of_json_schema(tmp_path):
    rows = [{"unique_id": "Github_easy_1", "json_schema": json.dumps(SCHEMA)}]
    suite = load(f"jsonschemabench:{lines(tmp_path / 'rows.jsonl', rows)}")
    (ref,), profile = suite.prompts[0].constraints, suite.prompts[0].tags["profile"]
    judged = resolve(ref, profile=profile)
    for text, outcome in {
        '```json\n{"ip": "2026-11-22", "n": 3}\n```': "pass",
        '{"ip": "2026-11-22", "n": 2}': "fail",
        '{"ip": "2026-13-22"}': "fail",
        'Sure: {"ip": "2026-11-22"}': "fail",
        "[" * 100_000: "fail",
    }.items():
        assert judged.check(text).outcome == outcome, text[:40]
    (tmp_path / "data" / "Kubernetes").mkdir(parents=True)
    (tmp_path / "data" / "Kubernetes" / "pod.json").write_text(json.dumps(SCHEMA))
    folder = load(f"jsonschemabench:{tmp_path / 'data'}")
    assert [(prompt.id, prompt.tags["slice"]) for prompt in folder.prompts] == [("Kubernetes/pod", "Kubernetes")]
    # A known defect: an address that is right does not pass.
    address = resolve(
        ConstraintRef("jsonschemabench:valid", {"schema": '{"type": "string", "format": "ipv4"}'}), profile=profile
    )
    assert address.check('"127.0.0.1"').outcome == "fail"
    wrong = resolve(ConstraintRef("jsonschemabench:valid", {"schema": '{"type": "nothing"}'}), profile=profile)
    assert wrong.check("{}").outcome == "fail"
    with pytest.raises(SpecError, match="is no JSON"):
        load(f"jsonschemabench:{lines(tmp_path / 'bad.jsonl', [{'unique_id': 'x', 'json_schema': '{'}])}")


def test_without_what_checks_formats_nothing_is_decided(monkeypatch):
    """`jsonschema` itself is always here: it would let a wrong date pass."""
    from adhere.constraints.published.jsonschemabench.table import _formats

    schema = json.dumps({"type": "string", "format": "date-time"})
    judged = resolve(ConstraintRef("jsonschemabench:valid", {"schema": schema}), profile="jsonschemabench")
    assert judged.check('"tomorrow"').outcome == "fail"
    monkeypatch.setitem(sys.modules, "rfc3339_validator", None)
    _formats.cache_clear()
    judged = resolve(ConstraintRef("jsonschemabench:valid", {"schema": schema}), profile="jsonschemabench")
    found = judged.check('"tomorrow"')
    assert found.outcome == "undecided"
    assert "adhere[schemas]" in found.reason
    monkeypatch.undo()
    _formats.cache_clear()
