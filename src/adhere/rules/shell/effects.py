"""Tell which files a shell command writes, removes or reads, as its words say; no file is looked at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from adhere.rules.shell.forms import Run
from adhere.rules.shell.scripts import Written, written_by

How = Literal["create", "modify", "delete", "read"]


class Effect(NamedTuple):
    """Describes the effect of a command on one path.

    Attributes:
        path: As it is written, relative to the folder in which the command runs.
        how: What becomes of the file; with `create` it may have existed before.
        text: What is written; None: the command line does not hold it.
        tree: Whether everything below the path is meant, too.
        sure: Whether the path holds neither a variable nor a glob.
    """

    path: str
    how: How
    text: str | None = None
    tree: bool = False
    sure: bool = True


_DEVICES = re.compile(r"^(/dev/|&?\d+$|-$)")
_OPAQUE = frozenset("python node ruby perl php deno bun osascript awk gawk patch ed ex vim vi nano emacs".split())
_READERS = frozenset("cat less more head tail bat wc nl tac md5sum sha256sum xxd strings".split())


def effects_of(run: Run) -> Iterator[Effect]:
    """Yield the effects of a command on files, as far as its words say."""
    for redirect in run.redirects:
        if redirect.operator in {">", ">>", ">|", "&>", "&>>", ">&"} and not _DEVICES.match(redirect.target):
            body = _text_of(run) if redirect.operator in {">", ">|", ">>"} else None
            how: How = "modify" if ">>" in redirect.operator else "create"
            yield _effect(redirect.target, how, text=body)
        elif redirect.operator == "<" and not _DEVICES.match(redirect.target):
            yield _effect(redirect.target, "read")
    words = run.words
    if words:
        yield from (_effect(edit.path, "modify", text=edit.added) for edit in _script(run) or ())
        effects = _of_program(words[0], words[1:])
        yield from (effect for effect in effects if effect.path not in {"{}", ";", "+", ""})


def _script(run: Run) -> list[Written] | None:
    """Return what a Python program in the command line writes; None if there is none, or its text does not show it."""
    if run.words[0] != "python":
        return None
    code = next((after for word, after in pairwise(run.words) if word == "-c"), None)
    body = next((redirect.body for redirect in run.redirects if redirect.operator in {"<<", "<<<"}), None)
    source = code if code is not None else body if run.words[1:] in {(), ("-",)} else None
    return written_by(source) if source is not None else None


def opaque_text(run: Run) -> str | None:
    """Return the text of a program that the command runs and that may write anything; None if it runs none."""
    name = run.words[0] if run.words else ""
    if name == "python" and _script(run) is not None:
        return None
    if name not in _OPAQUE or (name in {"awk", "gawk"} and "-i" not in run.words):
        return None
    bodies = [redirect.body for redirect in run.redirects if redirect.body]
    return "\n".join([*run.words[1:], *bodies])


def _effect(path: str, how: How, *, text: str | None = None, tree: bool = False) -> Effect:
    return Effect(path, how, text, tree, not re.search(r"[$`*?\[{]", path))


def _text_of(run: Run) -> str | None:
    """Return the text that `cat <<EOF > f`, `echo text > f` or `printf text > f` writes; None if it is not shown."""
    name, words = run.words[:1], run.words[1:]
    body = next((redirect.body for redirect in run.redirects if redirect.operator in {"<<", "<<<"}), None)
    if name == ("cat",) and not [word for word in words if word != "-"]:
        return body
    if name == ("echo",) and run.fixed:
        return " ".join(word for word in words if word not in {"-n", "-e"}) + "\n"
    return words[0] if name == ("printf",) and run.fixed and len(words) == 1 and "%" not in words[0] else None


def _plain(words: Sequence[str], value_options: Sequence[str] = ()) -> list[str]:
    """Return the words that are neither options nor values of `value_options`."""
    plain_words: list[str] = []
    place, only_words = 0, False
    while place < len(words):
        word = words[place]
        if only_words or not word.startswith("-") or word == "-":
            plain_words.append(word)
        elif word == "--":
            only_words = True
        elif word in value_options:
            place += 1
        place += 1
    return plain_words


def _of_program(  # noqa: C901 - one branch a program
    name: str, words: Sequence[str]
) -> Iterator[Effect]:
    plain = _plain(words)
    if name == "tee":
        for path in plain:
            yield _effect(path, "modify" if "-a" in words else "create")
    elif name in {"sed", "gsed", "perl"}:
        yield from _in_place(name, words)
    elif name in {"rm", "unlink", "shred", "rmdir", "trash"}:
        deep = any(re.fullmatch(r"-[a-zA-Z]*[rR][a-zA-Z]*|--recursive", word) for word in words)
        yield from (_effect(path, "delete", tree=deep) for path in plain)
    elif name in {"mv", "cp", "install", "rsync", "ln"}:
        yield from _copies(name, words)
    elif name in {"touch", "truncate", "mkdir", "chmod", "chown"}:
        paths = plain[1:] if name in {"chmod", "chown"} else _plain(words, ("-s", "-d", "-t", "-r", "-m"))
        if name != "mkdir":
            yield from (_effect(path, "create" if name == "touch" else "modify") for path in paths)
    elif name == "dd":
        yield from (_effect(word[3:], "create") for word in words if word.startswith("of="))
    elif name in _READERS:
        yield from (_effect(path, "read") for path in _plain(words, ("-n", "-c", "-w")))
    elif name in {"grep", "rg", "egrep", "fgrep"}:
        yield from (_effect(path, "read") for path in plain[1:])
    elif name == "git":
        yield from _of_git(words)
    elif name in {"curl", "wget"}:
        option = "-o" if name == "curl" else "-O"
        yield from (_effect(path, "create") for mark, path in pairwise(words) if mark == option)


def _in_place(name: str, words: Sequence[str]) -> Iterator[Effect]:
    flags = [word for word in words if word.startswith("-")]
    in_place = any(re.match(r"-[a-zA-Z]*i|--in-place", word) for word in flags)
    value_options = ("-e", "-f", "--expression", "-pe", "-ne", "-pie", "-i.bak")
    plain = _plain(words, value_options)
    has_script = any(word in {"-e", "-f", "--expression"} or (name == "perl" and "e" in word) for word in flags)
    paths = plain if has_script else plain[1:]
    if name == "perl" and has_script and plain and not any(word.endswith("e") for word in flags):
        paths = plain[1:]
    if paths and paths[0] == "" and in_place:
        paths = paths[1:]
    if in_place and "" in words and not has_script and len(plain) > 2:  # BSD's sed -i '' s/a/b/ f
        paths = [path for path in plain if path][1:]
    scripts = [after for word, after in pairwise(words) if word in value_options] or plain[:1]
    added_text = _substitutions(scripts) if in_place else None
    yield from (_effect(path, "modify" if in_place else "read", text=added_text) for path in paths)


def _substitutions(scripts: Sequence[str]) -> str | None:
    """Return the texts that sed scripts put in, as by `s/old/new/`; None if one of them is another sort of script."""
    texts = []
    for script in scripts:
        match = re.fullmatch(r"(?:[\d,$]+)?s(.)((?:\\.|(?!\1).)*)\1((?:\\.|(?!\1).)*)\1[gIi\d]*;?", script, re.DOTALL)
        if (put := re.fullmatch(r"(?:[\d,$]+|/(?:\\.|[^/])*/)?[aic](?:\\\s*|\s+)(.*)", script, re.DOTALL)) is not None:
            texts.append(put[1])
            continue
        if match is None:
            return None
        texts.append(re.sub(r"\\(\W)", r"\1", match[3].replace("\\n", "\n")))
    return "\n".join(texts)


def _copies(name: str, words: Sequence[str]) -> Iterator[Effect]:
    plain = _plain(words, ("-m", "-o", "-g", "-S", "--exclude", "-e"))
    target = next((after for word, after in pairwise(words) if word in {"-t", "--target-directory"}), None)
    sources, target = (plain, target) if target else (plain[:-1], plain[-1] if len(plain) > 1 else None)
    if target is None:
        return
    for path in sources:
        yield _effect(path, "delete" if name == "mv" else "read", tree=name == "mv")
    base = [path.rstrip("/").rpartition("/")[2] for path in sources]
    if len(sources) > 1 or target.endswith("/") or target in {".", ".."}:
        yield from (_effect(f"{target.rstrip('/')}/{file}", "create") for file in base)
    else:
        yield _effect(target, "create")


def _of_git(words: Sequence[str]) -> Iterator[Effect]:
    plain = _plain(words, ("-C", "-c", "-s", "--source", "-b", "-B", "-m"))
    verb, rest = (plain[0], plain[1:]) if plain else ("", [])
    if verb == "checkout" and "--" in words:
        rest = list(words[words.index("--") + 1 :])
        yield from (_effect(path, "modify", tree=True) for path in rest)
    elif verb == "restore" and "--staged" not in words:
        yield from (_effect(path, "modify", tree=True) for path in rest)
    elif verb == "rm" and "--cached" not in words:
        yield from (_effect(path, "delete", tree="-r" in words) for path in rest)
    elif verb == "mv" and len(rest) > 1:
        yield from (_effect(path, "delete", tree=True) for path in rest[:-1])
        yield _effect(rest[-1], "create")
