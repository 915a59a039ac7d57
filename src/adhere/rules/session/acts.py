"""List the acts of a session: commands, edits, reads, commits, replies, whatever the tools are called."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from adhere.rules.session.files import Files, edits_of_patch
from adhere.rules.session.model import Call, Session, Speech
from adhere.rules.session.paths import below
from adhere.rules.shell.effects import How, effects_of, opaque_text
from adhere.rules.shell.forms import Run, message_of, runs_of
from adhere.rules.shell.patterns import matches

Kind = Literal["user", "reply", "command", "edit", "read", "call", "commit", "pull_request", "branch", "opaque"]
Ran = bool | None
_SHELLS = frozenset(
    "bash shell exec_command shell_command local_shell local_shell_call shell_call "
    "run_shell_command execute_command run_terminal_cmd run_in_terminal run_command terminal "
    "powershell exec execute_bash run_bash container.exec act".split()
)
_WRITERS = frozenset("write write_file create_file create save_file write_to_file".split())
_EDITORS = frozenset(
    "edit multiedit replace str_replace str_replace_editor str_replace_based_edit_tool edit_file search_replace "
    "notebookedit insert replace_in_file text_editor apply_diff".split()
)
_PATCHES = frozenset({"apply_patch", "applypatch", "apply_patch_call", "file_change"})
_READERS = frozenset("read read_file view open_file cat read_many_files view_file notebookread".split())
_ASKERS = frozenset(
    "askuserquestion ask_followup_question ask_user request_user_input ask_question exitplanmode exit_plan_mode".split()
)
_PATHS = "file_path path filePath absolute_path filename target_file notebook_path file TargetFile".split()
_CONTENTS = "content contents file_text text new_source CodeContent".split()
_COMMANDS = "command cmd commands script input CommandLine".split()
_FOLDERS = "workdir cwd directory dir_path working_directory".split()
_TARGETS = "to destination new_path target".split()
_OLD = re.compile(r"old_?(?:str|string|text|content|code)?|search", re.IGNORECASE)
_NEW = re.compile(r"new_?(?:str|string|text|content|code|source)?|insert_text|replace", re.IGNORECASE)
_FAILED = re.compile(
    r"\b[1-9]\d* (?:failed|failures?|errors?|failing)\b|\bFAILED\b|^FAIL\b"
    r"|--- FAIL|Tests:.*\bfailed\b|test result: FAILED",
    re.MULTILINE,
)
_BRANCH_SHOWN = re.compile(r"^\[([^\s\]]+) (?:\(root-commit\) )?[0-9a-f]{6,}\]|^On branch (\S+)", re.MULTILINE)
_PASSED = re.compile(
    r"\b[1-9]\d* (?:passed|passing|tests? passed|examples?, 0 failures)\b|^OK\b|^ok\s+\S|^PASS\b|test result: ok"
    r"|All tests passed|BUILD SUCCESS",
    re.MULTILINE,
)


@dataclass
class Act:
    """Describes one thing that was done or said.

    Attributes:
        line: The line of the log.
        kind: The sort of act. A `call` comes before what the call does; `opaque` is a program whose text does not show
            its effects.
        text: What was said; a commit's message, None: not shown; a branch's name; a command as it is written.
        ran: Whether it happened; None: the log does not show it.
        passed: Whether it ended well; None: the log does not show it.
        run: The command, of a command.
        tool, arguments: The tool's name and arguments, of a call.
        path, how, by: The file, what was done to it, and `tool` or `shell`, of an edit or a read.
        added: The text that an edit puts in; None: not shown.
        whole: The whole file after the edit; None: not shown.
        sure: Whether the path is written out.
        tree: Whether everything below the path is meant.
        branch: The branch of a commit or push; empty: not shown.
        final: Whether a reply ends its turn.
        agent: A sub-agent's name; empty: the main agent.
    """

    line: int
    kind: Kind
    text: str | None = None
    ran: bool | None = True
    passed: bool | None = None
    run: Run | None = None
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    path: str = ""
    how: How | None = None
    by: str = ""
    added: str | None = None
    whole: str | None = None
    sure: bool = True
    tree: bool = False
    branch: str = ""
    final: bool = False
    agent: str = ""


def acts_of(session: Session, *, repo: Path | None = None) -> list[Act]:
    """Return everything that was done in a session, in order.

    Args:
        session: The session.
        repo: The repository on this machine, to look up what `make` and `npm` run; None: it is not here.
    """
    return list(_Reader(session, repo).acts())


class _Reader:
    def __init__(self, session: Session, repo: Path | None) -> None:
        self.session, self.repo = session, repo
        self.root = session.cwd or _common_folder(session)
        self.branch = session.branch
        self.has_branch = False
        self.files = Files()
        self.has_results = any(isinstance(event, Call) and event.result is not None for event in session.events)

    def acts(self) -> Iterator[Act]:
        for event in self.session.events:
            if isinstance(event, Speech):
                if event.who == "user" and not event.agent:
                    yield Act(event.line, "user", event.text)
                elif event.who == "assistant":
                    yield Act(event.line, "reply", event.text, final=event.final, agent=event.agent)
            else:
                yield from self._call(event)

    def _call(self, call: Call) -> Iterator[Act]:
        ran = _ran(call, has_results=self.has_results)
        passed = None if call.state == "unknown" else call.state == "done"
        yield Act(
            call.line, "call", call.result, ran, passed, tool=call.tool, arguments=call.arguments, agent=call.agent
        )
        name = call.tool.rpartition("__")[2].rpartition("/")[2].lower()
        if name in _SHELLS:
            yield from self._shell(call, ran)
        elif name not in _ASKERS:
            is_done = ran if call.state != "failed" else False
            for act in self._tool(name, call):
                act.line, act.ran, act.agent, act.passed = call.line, is_done, call.agent, passed
                yield act

    def _tool(self, name: str, call: Call) -> Iterator[Act]:
        fields: Mapping[str, Any] = call.arguments
        path = self._below(_first(fields, _PATHS), call.cwd)
        content = next((fields[key] for key in _CONTENTS if isinstance(fields.get(key), str)), None)
        if name in _PATCHES:
            yield from self._patch(fields, call.cwd)
        elif name in _WRITERS or (name in _EDITORS and fields.get("command") == "create"):
            if path:
                yield self._edit(path, "create", added_text=content, whole=content)
        elif name in _EDITORS and fields.get("command") == "view":
            yield Act(0, "read", path=path, by="tool")
        elif name in _EDITORS:
            if path:
                yield self._replaced(path, fields, call)
        elif name in _READERS:
            paths = fields.get("paths")
            for file in paths if isinstance(paths, list) else [path]:
                if call.before is not None:
                    self.files.put(path, call.before)
                yield Act(0, "read", path=self._below(str(file), call.cwd) if file is not path else path, by="tool")
        elif name in {"delete_file", "remove_file"} and path:
            yield self._edit(path, "delete")
        elif name in {"move_file", "rename_file"}:
            target = self._below(_first(fields, _TARGETS), call.cwd)
            source = path or self._below(_first(fields, ("source", "from", "old_path")), call.cwd)
            yield self._edit(source, "delete")
            yield self._edit(target, "create")

    def _replaced(self, path: str, fields: Mapping[str, Any], call: Call) -> Act:
        edit_field = fields.get("edits")
        edits = [edit for edit in edit_field if isinstance(edit, Mapping)] if isinstance(edit_field, list) else [fields]
        pairs = []
        for edit in edits:
            old = next((edit[name] for name in edit if _OLD.fullmatch(name) and isinstance(edit[name], str)), "")
            new = next((edit[name] for name in edit if _NEW.fullmatch(name) and isinstance(edit[name], str)), "")
            pairs.append((old, new, bool(edit.get("replace_all"))))
        if call.before is not None:
            self.files.put(path, call.before)
        whole = None
        if call.state not in {"failed", "rejected", "interrupted"}:
            whole = self.files.replace(path, pairs)
        is_new = len(pairs) == 1 and not pairs[0][0] and "insert_text" not in fields and "new_source" not in fields
        added_text = "\n".join(_new_lines(old, new) for old, new, _ in pairs)
        return Act(0, "edit", path=path, how="create" if is_new else "modify", by="tool", added=added_text, whole=whole)

    def _edit(self, path: str, how: How, *, added_text: str | None = None, whole: str | None = None) -> Act:
        if how == "create" and self.files.is_known(path):
            how = "modify"
        self.files.put(path, None if how == "delete" else whole, is_gone=how == "delete")
        return Act(0, "edit", path=path, how=how, by="tool", added=added_text, whole=whole)

    def _patch(self, fields: Mapping[str, Any], cwd: str) -> Iterator[Act]:
        for edit in edits_of_patch(fields):
            path = self._below(edit.path, cwd)
            how: How = edit.how
            whole = edit.whole if edit.whole is not None else self.files.patched(path, edit.hunks)
            self.files.put(path, whole, is_gone=how == "delete")
            yield Act(0, "edit", path=path, how=how, by="tool", added=edit.added, whole=whole)

    def _shell(self, call: Call, ran: Ran) -> Iterator[Act]:
        text, cwd = command_of(call.arguments)
        cwd = cwd or call.cwd
        if (patch := _patch_in(text)) is not None:
            for act in self._patch({"input": patch}, cwd):
                act.line, act.agent = call.line, call.agent
                act.ran = ran if call.state != "failed" else False
                yield act
            return
        code = call.exit_code if call.exit_code is not None else 1 if call.state == "failed" else None
        runs = list(runs_of(text, code, repo=self.repo))
        branch_match = _BRANCH_SHOWN.search(call.result or "")
        if branch_match is not None and any(run.words[:1] == ("git",) for run in runs) and not _switches(runs):
            self.branch = branch_match[1] or branch_match[2]
        for run in runs:
            has_run = ran if ran is not True else run.known.ran
            act = Act(call.line, "command", text, has_run, run.known.passed, run, agent=call.agent)
            if act.passed is None and has_run and call.result and sum(matches(run, ("@tests",)) for run in runs) == 1:
                act.passed = _by_output(run, call.result)
            self._follow_branch(act, run)
            yield from self._effects(act, run, cwd)  # what `pytest > log` writes is not written after the tests
            yield act
            yield from self._of_git(act, run)

    def _effects(self, act: Act, run: Run, cwd: str) -> Iterator[Act]:
        where = f"{cwd}/{run.cwd}" if cwd and run.cwd and not run.cwd.startswith(("/", "~")) else run.cwd or cwd
        opaque = opaque_text(run)
        if opaque:
            yield Act(act.line, "opaque", opaque, act.ran, act.passed, run, agent=act.agent)
        for effect in effects_of(run):
            path = self._below(effect.path, where)
            kind: Kind = "read" if effect.how == "read" else "edit"
            how = "modify" if effect.how == "create" and self.files.is_known(path) else effect.how
            if kind == "edit" and act.ran is not False:
                self.files.put(path, effect.text if how == "create" else None, is_gone=how == "delete")
            yield Act(
                act.line, kind, ran=None if act.passed is False and how == "delete" else act.ran, passed=act.passed,
                path=path, how=how, by="shell", added=effect.text, whole=effect.text if how == "create" else None,
                sure=effect.sure, tree=effect.tree, run=run, text=act.text, agent=act.agent,
            )  # fmt: skip

    def _follow_branch(self, act: Act, run: Run) -> None:
        act.branch = self.branch
        words = run.words
        names = [word for word in words[2:] if not word.startswith("-")]
        if _switches([run]) and act.passed is not False and "--" not in words and act.ran and names:
            self.branch = names[0]
        if words[:2] == ("git", "push") and len(names) > 1:
            act.branch = names[1].lstrip("+").rpartition(":")[2]

    def _of_git(self, act: Act, run: Run) -> Iterator[Act]:
        if matches(run, ("git commit",)) and act.passed is not False:
            if act.branch and act.branch not in {"main", "master"} and not self.has_branch:
                self.has_branch = True
                yield Act(act.line, "branch", act.branch, act.ran, act.passed, agent=act.agent)
            for text in _messages(run):
                yield Act(act.line, "commit", text, act.ran, act.passed, branch=act.branch, agent=act.agent)
        if matches(run, ("gh pr create", "gh pr edit")) and act.passed is not False:
            yield Act(act.line, "pull_request", self._pull_request(run), act.ran, act.passed, agent=act.agent)
        name = _new_branch(run.words)
        if name and act.passed is not False:
            self.has_branch = True
            yield Act(act.line, "branch", name, act.ran, act.passed, sure=run.fixed, agent=act.agent)

    def _pull_request(self, run: Run) -> str | None:
        """Return title and body of a pull request; None if neither the command line nor a known file holds them."""
        texts: list[str | None] = []
        for option, value in pairwise(run.simple.words):
            if option.text in {"--title", "-t", "--body", "-b"}:
                texts.append(message_of(value))
            elif option.text in {"--body-file", "-F"}:
                heredoc = next((redirect.body for redirect in run.redirects if redirect.operator == "<<"), None)
                texts.append(
                    heredoc if value.text == "-" else self.files.text(self._below(value.text, self.session.cwd))
                )
        return "\n\n".join(text for text in texts if text is not None) if len(texts) > 1 and None not in texts else None

    def _below(self, path: str, cwd: str) -> str:
        return below(path, cwd=cwd, root=self.root) if path else ""


def _common_folder(session: Session) -> str:
    """Return the deepest folder that holds the folders of all calls; empty if none is given, or one is relative."""
    folders = {
        folder for event in session.events if isinstance(event, Call) and (folder := command_of(event.arguments)[1])
    }
    if not folders or not all(folder.startswith("/") for folder in folders):
        return ""
    return posixpath.commonpath(folders)


def _switches(runs: list[Run]) -> bool:
    return any(run.words[:2] in {("git", "checkout"), ("git", "switch")} for run in runs)


def _ran(call: Call, *, has_results: bool) -> bool | None:
    if call.state in {"done", "failed"}:
        return True
    if call.state == "rejected":
        return False
    if call.state == "interrupted":
        return None if call.result is not None else False
    return True if call.result is not None or not has_results else None


def command_of(fields: Mapping[str, Any]) -> tuple[str, str]:
    """Return the command line of a shell tool's call, and the folder that the call names (empty: none)."""
    value, cwd = next((fields[name] for name in _COMMANDS if name in fields), ""), _first(fields, _FOLDERS)
    if not isinstance(value, list):
        return value if isinstance(value, str) else "", cwd
    words = [str(word) for word in value]
    if len(words) >= 3 and words[0].rpartition("/")[2] in {"bash", "sh", "zsh"} and words[1] in {"-lc", "-c"}:
        return words[2], cwd
    if words[:1] in (["powershell.exe"], ["pwsh"], ["cmd.exe"]):
        return words[-1], cwd
    is_lines = "commands" in fields or all(" " in word for word in words)
    return "\n".join(words) if is_lines else shlex.join(words), cwd


def _patch_in(text: str) -> str | None:
    begin = text.find("*** Begin Patch")
    if begin < 0 or not re.match(r"\s*(?:cd \S+ && )?(?:apply_?patch|'?apply_?patch)", text):
        return None
    end = text.find("*** End Patch", begin)
    return text[begin : end + 13 if end >= 0 else None]


def _first(fields: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((fields[name] for name in names if isinstance(fields.get(name), str) and fields[name]), "")


def _new_lines(old: str, new: str) -> str:
    """Return the lines of `new` that are not in `old`."""
    have = set(old.splitlines())
    return "\n".join(line for line in new.splitlines() if line not in have)


def _by_output(run: Run, result: str) -> bool | None:
    """Tell whether tests passed, by what they print; None if `run` runs no tests, or the output does not show it."""
    if not matches(run, ("@tests",)):
        return None
    return False if _FAILED.search(result) else True if _PASSED.search(result) else None


def _messages(run: Run) -> Iterator[str | None]:
    """Yield the message of `git commit`; None if the command line does not hold it; nothing if an old one is kept."""
    words = [word for word in run.simple.words if word.text]
    parts: list[str | None] = []
    for place, word in enumerate(words):
        short = re.fullmatch(r"-[a-zA-Z]*m", word.text)
        if (short or word.text == "--message") and place + 1 < len(words):
            parts.append(message_of(words[place + 1]))
        elif word.text.startswith("--message="):
            text = message_of(word)
            parts.append(text.partition("=")[2] if text is not None else None)
        elif re.match(r"-[ase]?m(?=.)", word.text) and len(word.text) > 3 and not short:
            parts.append(message_of(word._replace(text=re.sub(r"^-[ase]?m", "", word.text))))
        elif word.text in {"-F", "--file"} and place + 1 < len(words):
            body = next((redirect.body for redirect in run.redirects if redirect.operator == "<<"), None)
            parts.append(body if words[place + 1].text == "-" else None)
    options = {word.text for word in words}
    if not parts:
        if "--no-edit" not in options and "--fixup" not in options and "-C" not in options:
            yield None
    else:
        yield None if None in parts else "\n\n".join(part for part in parts if part is not None)


def _new_branch(words: tuple[str, ...]) -> str:
    if words[:1] != ("git",):
        return ""
    for verb, options in (("checkout", ("-b", "-B")), ("switch", ("-c", "-C", "--create")), ("worktree", ("-b", "-B"))):
        if verb in words[1:4]:
            return next((after for word, after in pairwise(words) if word in options), "")
    if words[1:2] != ("branch",) or len(words) < 3:
        return ""
    if not words[2].startswith("-"):
        return words[2]
    return next((after for word, after in pairwise(words) if word in {"-m", "-M"}), "") if len(words) == 4 else ""


def asks(act: Act) -> bool:
    """Tell whether an act asks the user something: a reply that ends its turn with a question, or a tool that asks."""
    if act.kind == "call":
        return act.tool.lower() in _ASKERS
    if act.kind != "reply" or act.agent or not act.final or not act.text:
        return False
    tail = act.text.strip().splitlines()[-3:]
    return any("?" in line for line in tail)
