"""Fetching suites' files: from a hub on 127.0.0.1, or word of where to get them."""

import contextlib
import hashlib
import http.server
import json
import threading

import pytest
from click.testing import CliRunner

from adhere.cli import adhere
from adhere.errors import AdhereError, SpecError, UsageError
from adhere.suites import load, names, source_of
from adhere.suites.fetch import address, fetch_suite, where_to_get
from adhere.suites.published.catalog import CATALOG, HubFile

ROW = {
    "key": 7,
    "prompt": "Write a line without commas.",
    "instruction_id_list": ["punctuation:no_comma"],
    "kwargs": [{}],
}
GOOD = json.dumps(ROW).encode() + b"\n"
PATH = "/datasets/google/IFEval/resolve/966cd89545d6b6acfd7638bc708b98261ca58e84/ifeval_input_data.jsonl"


class Hub(http.server.ThreadingHTTPServer):
    """Answers with what `pages` has for a path: (status, headers, body)."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages, self.asked = {}, []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        status, headers, body = self.server.pages.get(self.path, (404, {}, b"none"))
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def running():
    with Hub() as hub:
        thread = threading.Thread(target=hub.serve_forever, daemon=True)
        thread.start()
        yield hub
        hub.shutdown()
        thread.join()


@pytest.fixture
def hub(monkeypatch):
    with running() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.delenv("HF_TOKEN", raising=False)
        yield server


def test_a_file_is_fetched_read_and_kept(hub, tmp_path):
    hub.pages[PATH] = (200, {}, GOOD)
    found = fetch_suite("ifeval", tmp_path)
    assert found.is_new
    assert found.stored.licence == "Apache-2.0"
    assert found.stored.sha256 == hashlib.sha256(GOOD).hexdigest()
    assert "differs from the published file" in found.stored.note
    assert [prompt.text for prompt in load(f"ifeval:{found.path}").prompts] == [ROW["prompt"]]
    again = fetch_suite("ifeval", tmp_path)
    assert (again.is_new, again.stored) == (False, found.stored)
    assert len(hub.asked) == 1


def test_the_token_does_not_follow_to_another_host(hub, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    with running() as store:
        store.pages["/blob"] = (200, {}, GOOD)
        hub.pages[PATH] = (302, {"Location": f"{store.url}/blob"}, b"")
        fetch_suite("ifeval", tmp_path)
        assert hub.asked == [(PATH, "Bearer hf_secret")]
        assert store.asked == [("/blob", None)]


def test_a_file_on_github_is_of_one_commit_and_gets_no_token(hub, tmp_path, monkeypatch):
    monkeypatch.setenv("ADHERE_GITHUB", hub.url)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    path = "/allenai/IFBench/cb932e352a505306ad0115272211df14bb8f628f/data/IFBench_test.jsonl"
    row = {**ROW, "instruction_id_list": ["count:word_count_range"], "kwargs": [{"min_words": 2, "max_words": 9}]}
    hub.pages[path] = (200, {}, json.dumps(row).encode())
    assert fetch_suite("ifbench", tmp_path).is_new
    assert hub.asked == [(path, None)]


def test_a_suite_without_a_path_is_the_fetched_file(hub, tmp_path, monkeypatch):
    """Named without the path, so a Run of it is the same on another machine."""
    monkeypatch.setenv("ADHERE_CACHE", str(tmp_path))
    with pytest.raises(UsageError, match="adhere fetch suite:ifeval"):
        load("ifeval")
    hub.pages[PATH] = (200, {}, GOOD)
    done = CliRunner().invoke(adhere, ["fetch", "suite:ifeval"])
    assert "--suite ifeval\n" in done.stderr
    suite = load("ifeval", limit=1)
    assert (suite.name, suite.prompts[0].text) == ("ifeval", ROW["prompt"])


@pytest.mark.parametrize(
    ("page", "error", "message"),
    [
        ((404, {}, b""), AdhereError, "answered 404"),
        ((401, {}, b""), AdhereError, "accept their terms there and set HF_TOKEN"),
        ((200, {}, b"<html>an error page</html>\n"), SpecError, "not JSON"),
        ((200, {}, b'{"key": 1}\n'), SpecError, "prompt"),
        ((200, {"Content-Length": "999"}, GOOD), AdhereError, f"{len(GOOD)} of 999 bytes|cannot be reached"),
    ],
)
def test_what_is_no_file_of_the_suite_leaves_nothing_behind(hub, tmp_path, page, error, message):
    hub.pages[PATH] = page
    with pytest.raises(error, match=message):
        fetch_suite("ifeval", tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_suite_of_several_files_is_a_folder(hub, tmp_path):
    row = {
        "source": "invented", "id": "s-0", "question": "2+2?", "answer": "4", "constraint_desc": ["No commas."],
        "constraint_name": ["punctuation:no_comma"], "constraint_args": [None],
    }  # fmt: skip
    (origin,) = [known.origin for known in CATALOG if known.name == "mathif"]
    for file in origin.hub:
        hub.pages[f"/datasets/TingchenFu/MathIF/resolve/main/{file.path}"] = (200, {}, json.dumps(row).encode())
    found = fetch_suite("mathif", tmp_path)
    assert (found.is_new, found.path) == (True, tmp_path / "mathif")
    assert len(load(f"mathif:{found.path}").prompts) == len(origin.hub) == 15
    assert not fetch_suite("mathif", tmp_path).is_new
    assert sorted(path.suffix for path in found.path.iterdir()) == [".json", *[".jsonl"] * 15], "no scratch is left"


def test_nobody_answers(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(AdhereError, match="cannot be reached"):
        fetch_suite("ifeval", tmp_path)
    monkeypatch.setenv("HF_ENDPOINT", "file:///etc")
    with pytest.raises(UsageError, match="must begin with https"):
        fetch_suite("ifeval", tmp_path)


def test_addresses_are_the_hubs_own(monkeypatch):
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    file = HubFile("a/b", "data/x y.jsonl", "refs/pr/1")
    assert address(file) == "https://huggingface.co/datasets/a/b/resolve/refs%2Fpr%2F1/data/x%20y.jsonl"


def test_what_lies_on_no_hub_is_told(tmp_path):
    with pytest.raises(
        UsageError,
        match=r"(?s)cannot get this one.*github\.com/DistylAI.*licence     MIT.*--suite ifscale:src",
    ) as told:
        fetch_suite("ifscale", tmp_path)
    assert where_to_get("ifscale") in str(told.value)
    with pytest.raises(UsageError, match="generated from a seed"):
        fetch_suite("diagnostic", tmp_path)
    with pytest.raises(UsageError, match="Did you mean 'ifeval'"):
        fetch_suite("ifevl", tmp_path)


def test_the_command(hub, tmp_path):
    hub.pages[PATH] = (200, {}, GOOD)
    done = CliRunner().invoke(adhere, ["fetch", "suite:ifeval", "--cache", str(tmp_path)])
    assert done.exit_code == 0, done.output
    path = tmp_path / "suites" / "ifeval" / "ifeval_input_data.jsonl"
    assert done.stdout == f"{path}\n"
    assert f"adhere eval MODEL --suite ifeval:{path}" in done.stderr
    assert "Licence: Apache-2.0" in done.stderr
    told = CliRunner().invoke(adhere, ["fetch", "suite:ifscale"])
    assert isinstance(told.exception, UsageError)
    assert told.exception.exit_code == 2


def test_every_suite_with_a_file_says_where_it_is(listing):
    for name in names():
        source = source_of(name)
        if name == "my":
            assert listing[name].where == "your file"
        elif source.needs_path:
            assert source.origin is not None, name
            assert listing[name].where.startswith(("hub: ", "GitHub: "))
            assert listing[name].licence
        elif source.generated:
            assert listing[name].where == "generated"
    assert {known.name for known in CATALOG} <= set(listing)
