"""What a study refuses before it trains (disk, memory), and records on disk that are damaged or unfinished."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from tests.unit.study.test_plan import CODE

from adhere.errors import IntegrityError, ResourceError
from adhere.study.design import estimate as estimate_room
from adhere.study.design.estimate import Estimate, require_resources
from adhere.study.design.plan import Cell
from adhere.study.run.cells import CHECKPOINT, clear_unfinished, has_weights, load_cell

NEEDS = Estimate((), (), memory_bytes=4e9, disk_bytes=2e9, parameters=1, source="a guess", minutes=1.0)
CELL = Cell(("sft",), 0, "a" * 64, None, (), ("sft",))


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def test_enough_is_enough(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(estimate_room.shutil, "disk_usage", lambda _: Usage(9, 0, 3_000_000_000))
    monkeypatch.setattr(estimate_room, "available_bytes", lambda device: 5_000_000_000)
    require_resources(NEEDS, tmp_path)


def test_too_little_disk_says_how_much_and_what_to_do(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(estimate_room.shutil, "disk_usage", lambda _: Usage(9, 0, 1_000_000_000))
    with pytest.raises(ResourceError, match=r"1\.0 GB of disk are free, the study needs 2\.0 GB.*keep_weights"):
        require_resources(NEEDS, tmp_path)


def test_too_little_memory_says_how_much_and_what_to_do(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(estimate_room, "available_bytes", lambda device: 3_000_000_000)
    with pytest.raises(
        ResourceError, match=r"3\.0 GB of memory are available on cpu, the study needs 4\.0 GB.*tree_tokens"
    ):
        require_resources(NEEDS, tmp_path)


def test_where_memory_is_unknown_nothing_is_claimed(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(estimate_room, "available_bytes", lambda device: None)
    require_resources(NEEDS, tmp_path)


def test_an_unfinished_cell_is_no_cell_and_is_cleared(tmp_path) -> None:
    folder = clear_unfinished(tmp_path, CELL)
    (folder / "model").mkdir()
    (folder / "model" / "model.safetensors").write_bytes(b"half")
    assert load_cell(tmp_path, CELL) is None
    assert has_weights(tmp_path, CELL)
    (folder / "cell.json.part").write_bytes(b"{")
    (folder / CHECKPOINT).mkdir()
    assert [file.name for file in clear_unfinished(tmp_path, CELL).iterdir()] == [CHECKPOINT], "there it goes on"
    assert not has_weights(tmp_path, CELL)


def test_a_damaged_record_names_the_folder(tmp_path) -> None:
    folder = clear_unfinished(tmp_path, CELL)
    (folder / "cell.json").write_bytes(b'{"key": ')
    with pytest.raises(IntegrityError, match=r"cell\.json.*Remove the folder"):
        load_cell(tmp_path, CELL)


def test_the_plan_s_minutes_follow_what_was_measured(tmp_path) -> None:
    """Twice as fast takes half as long.

    The first estimate is of this machine, not of the one that defaults come from.
    """
    pytest.importorskip("torch", reason="a study computes in what torch can do")
    from tests.unit.study.test_plan import SPEC as STUDY

    from adhere.models.local.decoder.precision import Precisions
    from adhere.study.design.plan import Inputs, make_plan
    from adhere.study.design.probe import Probe
    from adhere.study.design.tasks import tasks_of

    start = tmp_path / "start"
    start.mkdir()
    (start / "config.json").write_text(
        '{"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, '
        '"vocab_size": 100, "num_key_value_heads": 2, "tie_word_embeddings": true, "model_type": "llama"}'
    )
    plan = make_plan(STUDY, {seed: Inputs("a", "b") for seed in STUDY.seeds}, Precisions(), CODE)
    tasks = tasks_of(STUDY, plan, start_sha256="w", suites={"": "s"})
    done = dict.fromkeys((task.name for task in tasks), False)

    def minutes(factor: float) -> float:
        found = Probe(
            2, 1, 400.0 * factor, 900.0 * factor, 600.0 * factor, 800.0 * factor, 300.0 * factor, 60.0, 40.0, 40.0, 10.0
        )
        size = estimate_room.SuiteSize(STUDY.evaluation.prompts, STUDY.evaluation.max_new_tokens)
        return estimate_room.estimate(STUDY, plan, tasks, done, start=start, probe=found, suites={"": size}).minutes

    assert minutes(2.0) == pytest.approx(minutes(1.0) / 2)
