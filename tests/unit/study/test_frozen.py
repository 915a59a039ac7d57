"""The spec is frozen at the first work.

Later changes are allowed, recorded, and told apart by whether results were there.
"""

from __future__ import annotations

import msgspec
import pytest

pytest.importorskip("torch", reason="a study computes in what torch can do")
from tests.unit.study.test_compare import SPEC

from adhere.errors import RunMismatch
from adhere.models.local.decoder.precision import Precisions
from adhere.study.design.frozen import FILE, ChangedField, Template, field_words, freeze, load_frozen, spec_hash

CHANGED = msgspec.structs.replace(SPEC, verdict=msgspec.structs.replace(SPEC.verdict, slice="new-family"))


def test_the_first_spec_stays(tmp_path) -> None:
    first = freeze(SPEC, tmp_path, precisions=Precisions(), evaluations=0)
    assert freeze(SPEC, tmp_path, precisions=Precisions(), evaluations=7) == first == load_frozen(tmp_path)
    assert first.sha256 == spec_hash(SPEC)


def test_a_changed_contrast_leaves_a_trace(tmp_path) -> None:
    freeze(SPEC, tmp_path, precisions=Precisions(), evaluations=0)
    freeze(CHANGED, tmp_path, precisions=Precisions(), evaluations=4)
    stored = freeze(CHANGED, tmp_path, precisions=Precisions(), evaluations=5)
    assert stored.spec == SPEC
    (change,) = stored.changes
    assert change.evaluations == 4
    assert [(f.path, f.before, f.after) for f in change.fields] == [("verdict.slice", "all", "new-family")]


def test_taking_it_back_is_another_change(tmp_path) -> None:
    for spec in (SPEC, CHANGED, SPEC):
        stored = freeze(spec, tmp_path, precisions=Precisions(), evaluations=1)
    assert [change.fields[0].after for change in stored.changes] == ["new-family", "all"]


def test_where_it_runs_is_no_change(tmp_path) -> None:
    freeze(SPEC, tmp_path, precisions=Precisions(), evaluations=0)
    free = msgspec.structs.replace(SPEC, threads=7, device="cpu", keep_weights=False, shown_prompts=1)
    assert freeze(free, tmp_path, precisions=Precisions(), evaluations=3).changes == ()


def test_the_precision_is_settled_once(tmp_path) -> None:
    freeze(SPEC, tmp_path, precisions=Precisions("bf16", "bf16", "rows"), evaluations=0)
    assert freeze(SPEC, tmp_path, precisions=Precisions(), evaluations=1).resolved.training == "bf16"


def test_another_study_is_refused(tmp_path) -> None:
    freeze(SPEC, tmp_path, precisions=Precisions(), evaluations=0)
    with pytest.raises(RunMismatch, match="holds the study 'small', not 'other'"):
        freeze(msgspec.structs.replace(SPEC, name="other"), tmp_path, precisions=Precisions(), evaluations=0)


def test_a_study_that_was_begun_before_there_were_templates_and_side_margins_goes_on_unchanged(tmp_path) -> None:
    freeze(SPEC, tmp_path, precisions=Precisions(), evaluations=0)
    older = msgspec.json.decode((tmp_path / FILE).read_bytes())
    del (
        older["template_sha256"],
        older["warnings"],
        older["spec"]["guards"]["side"],
        older["spec"]["guards"]["side_perplexity"],
    )
    (tmp_path / FILE).write_bytes(msgspec.json.encode(older))
    before = (tmp_path / FILE).read_bytes()
    known = freeze(SPEC, tmp_path, precisions=Precisions(), evaluations=7, template=Template("t", []))
    assert known.changes == ()
    assert known.sha256 == older["sha256"]
    assert (tmp_path / FILE).read_bytes() == before


def test_a_change_reads_as_words_and_not_as_python() -> None:
    arm = {"name": "sft", "stages": ["sft"]}
    arms = ChangedField(
        "arms", [arm, {"name": "start", "stages": []}], [{**arm, "seeds": [0]}, {"name": "x2", "stages": []}]
    )
    assert field_words(arms) == "arms: new x2; gone start; changed sft"
    stage = ChangedField("stages.x2", None, {"budget": 2, "kinds": ["a", "b"], "seeds": None})
    assert field_words(stage) == "stages.x2: nothing → budget 2; kinds [a, b]; seeds nothing"
    assert field_words(ChangedField("seeds", [0], [0, 1])) == "seeds: [0] → [0, 1]"
