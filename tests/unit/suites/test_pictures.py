"""Pictures in prompts.

Kept once, sent as endpoints take them, drawn from any suite, and the gap between reading and seeing.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("PIL", reason="needs adhere[pictures]")

from click.testing import CliRunner
from PIL import Image

from adhere import media, suites
from adhere.cli import adhere
from adhere.errors import IntegrityError, RunMismatch, SpecError, UsageError
from adhere.models.base import Request
from adhere.models.chat import conversation
from adhere.models.fake.scripted import ScriptedModel
from adhere.models.http.dialects import GENERIC
from adhere.models.http.native import ANTHROPIC, GEMINI, Native
from adhere.models.http.wire import body_of
from adhere.pipeline.compare.paired import compare_runs
from adhere.pipeline.evaluate import EvalSpec, evaluate
from adhere.schema import Media, Message, Sampling, content_hash, derive_seed, encode
from adhere.store.run import Run
from adhere.suites.generated.family import registry
from adhere.suites.own import suite_of
from adhere.suites.pictures import as_image, png

RULE = {"instruction_id_list": ["case:lower"], "kwargs": [{}]}


def picture(colour: str = "red") -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (4, 4), colour).save(file, "PNG")
    return file.getvalue()


def test_bytes_are_kept_once_by_their_hash_and_found_where_a_run_stored_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = media.keep(picture())
    assert one == media.read("data:image/png;base64," + base64.b64encode(picture()).decode())
    assert one.type == "image/png"
    media.store([one, one], tmp_path / "media")
    assert [file.name for file in (tmp_path / "media").iterdir()] == [f"{one.sha256}.png"]
    monkeypatch.setattr(media, "_bytes", {})
    assert media.bytes_of(one) == picture()
    monkeypatch.setattr(media, "_bytes", {})
    (tmp_path / "media" / f"{one.sha256}.png").write_bytes(picture("blue"))
    with pytest.raises(IntegrityError, match="was changed since it was stored"):
        media.bytes_of(one)


@pytest.mark.parametrize(
    "source", ["nowhere.png", "data:image/png;base64,!", "https://example.org/a.png", "data:text/html;base64,aGk="]
)
def test_what_is_no_picture_is_refused_with_the_place_of_the_row(source: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text(json.dumps({"key": 1, "prompt": "What is it?", **RULE, "media": [source]}) + "\n", encoding="utf-8")
    with pytest.raises(SpecError, match=r"mine\.jsonl:1: key 1: "):
        suites.load(f"my:{file}")


def test_a_prompt_with_a_picture_is_sent_as_endpoints_take_it(tmp_path: Path) -> None:
    (tmp_path / "red.png").write_bytes(picture())
    (tmp_path / "a.wav").write_bytes(b"RIFF\0\0\0\0WAVEfmt ")
    file = tmp_path / "mine.jsonl"
    file.write_text(
        json.dumps({"key": 1, "prompt": "What is it?", **RULE, "media": ["red.png", "a.wav"]}) + "\n", encoding="utf-8"
    )
    prompt = suites.load(f"my:{file}").prompts[0]
    body = json.loads(
        body_of("m", Request("1", 0, 0, prompt.messages(), 0), Sampling(), GENERIC, stream=False, option_fields={})
    )
    text, image, sound = body["messages"][0]["content"]
    assert text == {"type": "text", "text": "What is it?"}
    assert base64.b64decode(image["image_url"]["url"].removeprefix("data:image/png;base64,")) == picture()
    assert sound["input_audio"]["format"] == "wav"
    assert prompt.shown(0).splitlines()[1].startswith("[image/png ")
    with pytest.raises(UsageError, match="given text alone"):
        conversation(prompt.messages())


def test_prompts_without_media_keep_their_hash() -> None:
    """Runs and suites from before media were known are read and compared as they were."""
    prompt = suites.load("core", limit=1).prompts[0]
    assert "media" not in json.loads(encode(prompt))["turns"][0]
    assert "media" not in json.loads(encode(Message("user", "hi")))
    assert content_hash(Message("user", "hi")) == content_hash({"role": "user", "content": "hi"})


def read_by_eye(suite: Any, told: Any) -> dict[str, str]:
    """A reader of pictures: the text of which a picture is the very drawing, found by drawing all of them."""
    return {
        one.turns[0].media[0].sha256: other.turns[0].text
        for one, other in zip(suite.prompts, told.prompts, strict=True)
    }


class Reader:
    """Answers rightly with one probability what it is told, with another what it is shown.

    It finds the prompt by its words or pixels.
    """

    def __init__(self, answers: dict[str, str], seen: dict[str, str], *, told: float, shown: float) -> None:
        self.answers, self.seen, self.told, self.shown = answers, seen, told, shown

    def __call__(self, request: Request) -> str:
        last = request.messages[-1]
        pixels = [Image.open(io.BytesIO(media.bytes_of(one))).convert("RGB") for one in last.media]
        text = self.seen[png(pixels[0]).sha256] if pixels else last.content
        skill = random.Random(derive_seed(3, text)).random()  # the same prompts are hard, shown or told
        return self.answers[text] if skill < (self.shown if pixels else self.told) else "I would rather not."


def test_the_gap_between_told_and_shown_is_the_one_that_was_built_in(tmp_path: Path) -> None:
    drawn = list(registry.get("math").stream(0, 16))
    told = suites.load("math:x16")
    shown = as_image(told)
    answers = {one.prompt.text: one.answers[0] for one in drawn}
    model = ScriptedModel(Reader(answers, read_by_eye(shown, told), told=0.9, shown=0.6), name="scripted/eyes")
    specs = [EvalSpec(suite, suite.sampled(), 1) for suite in (shown, told)]
    runs = [asyncio.run(evaluate(model, spec, tmp_path / str(at))) for at, spec in enumerate(specs)]
    found = compare_runs(*runs)
    rates = [
        sum(random.Random(derive_seed(3, text)).random() < limit for text in answers) / len(answers)
        for limit in (0.6, 0.9)
    ]
    assert found.overall.rate_a == pytest.approx(rates[0])
    assert found.overall.rate_b == pytest.approx(rates[1])
    assert found.overall.lost == round((rates[1] - rates[0]) * len(answers))
    assert found.overall.high < 0
    assert found.notes[0] == "a was shown as pictures what b was told in words: the difference is the modality gap"
    assert compare_runs(*reversed(runs)).overall.difference == pytest.approx(-found.overall.difference)
    assert len(list((tmp_path / "0" / "media").iterdir())) == len(shown.prompts)
    media._bytes.clear()
    assert media.bytes_of(Run.load(tmp_path / "0").prompts()[0].turns[0].media[0]).startswith(b"\x89PNG")
    other = suites.load("math:x15")
    with pytest.raises(RunMismatch, match="asked different prompts"):
        compare_runs(runs[0], asyncio.run(evaluate(model, EvalSpec(other, other.sampled(), 1), tmp_path / "other")))


def test_a_character_that_the_font_lacks_is_named() -> None:
    suite = suites.load("core", limit=1)
    with pytest.raises(
        UsageError,
        match=r"the character 'ö', which the font lacks, so it would not be seen. Name a font that has it: --font FILE",
    ):
        as_image(suite_of([{"prompt": "Sag es schön.", **RULE}]))
    with pytest.raises(UsageError, match="shows a picture already"):
        as_image(as_image(suite))


def test_eval_shows_a_suite_as_pictures(tmp_path: Path) -> None:
    ran = CliRunner().invoke(
        adhere,
        ["eval", "scripted/fixed:hello", "--suite", "core", "--limit", "4", "--as-image", "--out", str(tmp_path)],
    )
    assert ran.exit_code == 0, ran.output
    assert "core+as-image" in ran.output
    assert len(list(tmp_path.glob("*/media/*.png"))) == 4


def test_anthropic_s_and_gemini_s_own_apis_are_sent_pictures_in_their_forms() -> None:
    one, sound = media.keep(picture()), media.keep(b"RIFF\0\0\0\0WAVEfmt ")
    data = base64.b64encode(picture()).decode()

    def body(api: Native, *shown: Media) -> dict[str, Any]:
        request = Request("1", 0, 0, (Message("user", "What is it?", media=shown),), 0)
        return api.body("m", request, Sampling(), {})

    assert body(ANTHROPIC, one)["messages"][0]["content"][1]["source"] == {
        "type": "base64",
        "media_type": "image/png",
        "data": data,
    }
    assert body(GEMINI, one)["contents"][0]["parts"][1] == {"inlineData": {"mimeType": "image/png", "data": data}}
    assert body(GEMINI, sound)["contents"][0]["parts"][1]["inlineData"]["mimeType"] == "audio/wav"
    with pytest.raises(UsageError, match="take pictures, no audio/wav"):
        body(ANTHROPIC, sound)
