"""One story in each format is one session: the same acts, whoever logged it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.rules.stories import FORMATS, ROOT, claude, edit, read, run, say, session, user, write

from adhere.errors import SpecError, UsageError
from adhere.rules.session.acts import Act, acts_of
from adhere.rules.session.discover import own_sessions
from adhere.rules.session.read import read_sessions

STORY = [
    user("Fix the sum"),
    say("I look at it first."),
    read("src/sum.py", "def add(a, b):\n    return a - b\n"),
    edit("src/sum.py", "a - b", "a + b"),
    run("pytest -q", "1 failed", status=1),
    write("notes/todo.txt", "one\ntwo\n"),
    run("pytest -q 2>&1 | tail -3", "4 passed in 0.1s"),
    run("git push --force", state="rejected"),
    run("rm -f notes/todo.txt && git commit -m 'fix: the sum'", "ok"),
    say("Done."),
]


def _shape(act: Act) -> tuple[object, ...]:
    words = act.run.words if act.run is not None and act.kind == "command" else ()
    return act.kind, words, act.path, act.how, act.ran is False, act.final


@pytest.mark.parametrize("name", FORMATS)
def test_a_story_has_the_same_acts_in_each_format(name: str, tmp_path: Path) -> None:
    acts = [act for act in acts_of(session(tmp_path, STORY, name)) if act.kind not in {"call", "read"}]
    commands = [
        act for act in acts if act.kind == "command" and act.run and act.run.words[0] != "cat"
    ]  # Codex reads by it
    assert [act.run.words for act in commands if act.run] == [
        ("pytest", "-q"), ("pytest", "-q"), ("tail", "-3"), ("git", "push", "--force"), ("rm", "-f", "notes/todo.txt"),
        ("git", "commit", "-m", "fix: the sum"),
    ]  # fmt: skip
    assert [act.passed for act in commands][:2] == [False, True]
    assert [act.ran for act in commands] == [True, True, True, False, True, True]
    # Gemini's, inspect's and OpenTelemetry's logs do not say where the session began.
    assert [(act.path.removeprefix("//work/shop/"), act.how) for act in acts if act.kind == "edit"] == [
        ("src/sum.py", "modify"), ("notes/todo.txt", "create"), ("notes/todo.txt", "delete"),
    ]  # fmt: skip
    assert [act.text for act in acts if act.kind == "commit"] == ["fix: the sum"]
    assert [(act.text, act.final) for act in acts if act.kind == "reply"] == [
        ("I look at it first.", False),
        ("Done.", True),
    ]
    assert [act.text for act in acts if act.kind == "user"] == ["Fix the sum"]


def test_files_are_known_by_the_edits_in_order(tmp_path: Path) -> None:
    steps = [user("x"), write("a.py", "one\n"), edit("a.py", "one", "two"), edit("b.py", "x", "y")]
    edits = [act for act in acts_of(session(tmp_path, steps)) if act.kind == "edit"]
    assert [act.whole for act in edits] == ["one\n", "two\n", None]
    assert [act.added for act in edits] == ["one\n", "two", "y"]


def test_windows_paths_lie_below_the_repository(tmp_path: Path) -> None:
    root = "C:\\code\\shop"
    row = {
        "type": "tool_use",
        "id": "1",
        "name": "Write",
        "input": {"file_path": "C:\\code\\shop\\src\\a.py", "content": "x"},
    }
    out = {"type": "tool_use", "id": "2", "name": "Write", "input": {"file_path": "..\\other\\b.py", "content": "x"}}
    rows = [
        {
            "type": "assistant",
            "uuid": key,
            "sessionId": "s",
            "cwd": root,
            "message": {"id": key, "role": "assistant", "content": [one]},
        }
        for key, one in (("a", row), ("b", out))
    ]
    path = tmp_path / "w.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    assert [act.path for act in acts_of(next(read_sessions(path))) if act.kind == "edit"] == [
        "src/a.py",
        "c:/code/other/b.py",
    ]


def test_sub_agents_act_and_do_not_reply(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in claude([user("x"), run("git push"), say("sub is done")]).splitlines()]
    for row in rows[2:]:
        row["isSidechain"] = True
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    acts = acts_of(next(read_sessions(path)))
    assert [act.agent for act in acts if act.kind in {"command", "reply"}] == ["side", "side"]
    assert not any(act.final for act in acts)


def test_notices_are_nobodys_words(tmp_path: Path) -> None:
    base = {"sessionId": "s", "cwd": ROOT}
    rows = [
        {
            **base,
            "type": "user",
            "uuid": "1",
            "isCompactSummary": True,
            "message": {"role": "user", "content": "please git push"},
        },
        {**base, "type": "user", "uuid": "2", "isMeta": True, "message": {"role": "user", "content": "Caveat"}},
        {
            **base,
            "type": "assistant",
            "uuid": "3",
            "message": {
                "id": "m",
                "role": "assistant",
                "model": "<synthetic>",
                "content": [{"type": "text", "text": "No response requested."}],
            },
        },
        {
            **base,
            "type": "user",
            "uuid": "4",
            "message": {"role": "user", "content": "<system-reminder>all rules kept</system-reminder>real words"},
        },
    ]
    path = tmp_path / "n.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    acts = acts_of(next(read_sessions(path)))
    assert [(act.kind, act.text) for act in acts] == [("user", "real words")]


def test_hostile_lines_are_gaps_and_a_cut_end_is_said(tmp_path: Path) -> None:
    good = claude(STORY).encode()
    path = tmp_path / "h.jsonl"
    path.write_bytes(
        good
        + b"\xff\xfe not json\n"
        + b'{"type":"user","uuid":"q","sessionId":"s","message":{"role":"user","content":"caf\xe9 \x1b[31mred"}}\n'
        + b'{"type":"assist'
    )
    one = next(read_sessions(path))
    assert len(one.gaps) == 1
    assert one.cut
    assert "caf\ufffd" in [act.text for act in acts_of(one) if act.kind == "user"][-1].split()[0]


def test_what_holds_no_session_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1}\n')
    with pytest.raises(SpecError, match="no session is in it"):
        list(read_sessions(path))
    with pytest.raises(UsageError, match="no such file"):
        list(read_sessions(tmp_path / "absent.jsonl"))


def test_only_sessions_of_this_repository_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, repo = tmp_path / "home", tmp_path / "my.repo"
    repo.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.delenv("CODEX_HOME", raising=False)
    munged = "".join(char if char.isalnum() else "-" for char in str(repo.resolve()))
    for folder in (munged, "-other"):
        (home / ".claude/projects" / folder).mkdir(parents=True)
        (home / ".claude/projects" / folder / "a.jsonl").write_text(claude(STORY))
    days = home / ".codex/sessions/2026/10/01"
    days.mkdir(parents=True)
    for name, cwd in (("rollout-1.jsonl", repo), ("rollout-2.jsonl", tmp_path)):
        (days / name).write_text(FORMATS["codex.jsonl"](STORY, str(cwd.resolve())))
    found = own_sessions(repo)
    assert [path.name for path in found] == ["a.jsonl", "rollout-1.jsonl"]
    assert munged in str(found[0])


def test_a_streamed_message_is_one_and_grows(tmp_path: Path) -> None:
    base = {"type": "assistant", "sessionId": "s", "cwd": ROOT}
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}
    texts = [["I wi"], ["I will look."], ["I will look.", call], ["I will look.", call, "And then?"], ["I will look."]]
    rows = [
        {
            **base,
            "uuid": str(number),
            "message": {
                "id": "m",
                "role": "assistant",
                "content": [{"type": "text", "text": one} if isinstance(one, str) else one for one in parts],
            },
        }
        for number, parts in enumerate(texts)
    ]
    path = tmp_path / "g.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    acts = acts_of(next(read_sessions(path)))
    assert [act.text for act in acts if act.kind == "reply"] == ["I will look.", "And then?"]
    assert sum(act.kind == "command" for act in acts) == 1


def test_codex_says_it_once_as_event_and_item_and_again_if_it_says_it_again(tmp_path: Path) -> None:
    def event(kind: str, text: str) -> dict[str, object]:
        return {"timestamp": "t", "type": "event_msg", "payload": {"type": kind, "message": text}}

    def item(text: str) -> dict[str, object]:
        return {
            "timestamp": "t",
            "type": "response_item",
            "payload": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]},
        }

    rows = [
        event("user_message", "Go"),
        event("agent_message", "Done."),
        item("Done."),
        event("user_message", "Go on"),
        event("agent_message", "More."),
        event("user_message", "x"),
        event("agent_message", "More."),
        item("More."),
    ]
    path = tmp_path / "e.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    acts = acts_of(next(read_sessions(path)))
    assert [act.text for act in acts] == ["Go", "Done.", "Go on", "More.", "x", "More."]


def test_what_a_file_says_of_refusals_refuses_nothing(tmp_path: Path) -> None:
    text = "# Notes on permissions and how they are asked for in the tool\nThe tool use was rejected by user."
    for name in ("claude.jsonl", "chat.jsonl", "codex.jsonl"):
        acts = acts_of(session(tmp_path, [user("x"), run("cat notes.md", text)], name))
        assert [act.ran for act in acts if act.kind == "command"] == [True]
