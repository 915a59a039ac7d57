"""Parse a command line of a POSIX shell or bash into a tree: lists of pipelines of simple commands.

Quotes, heredocs, substitutions, subshells, `if`, loops, `case` and functions are parsed. Nothing is expanded: a word
that holds a variable is marked. A text that no shell would accept is parsed as far as possible, and `Script.problem`
says where it broke.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from typing import NamedTuple

LONGEST = 200_000
"""Most characters of a command line; a longer one is not parsed."""
DEEPEST = 30
_OPERATORS = ("&&", "||", ";;&", ";;", ";&", "|&", "|", "&", ";", "(", ")", "\n")
_REDIRECTS = ("<<<", "<<-", "<<", "<&", "<>", "<", "&>>", "&>", ">>", ">&", ">|", ">")
_OPENING = frozenset("if while until for select case {".split())
_CLOSING = {"if": "fi", "while": "done", "until": "done", "for": "done", "select": "done", "case": "esac", "{": "}"}
_PARTS = frozenset("then elif else do fi done esac } in".split())
_BLANK = " \t\r"
_HEREDOC = re.compile(r"<<-?[ \t]*(['\"\\\\]?)([A-Za-z_][A-Za-z0-9_]*)\1?(?!<)")


class Word(NamedTuple):
    """Holds one word without its quotes.

    Attributes:
        text: With variables and substitutions as they are written.
        fixed: Whether nothing in it is expanded, except a glob outside quotes.
        bare: Whether no part of it was quoted; only such a word can be a keyword.
        inner: The scripts of its command substitutions.
    """

    text: str
    fixed: bool = True
    bare: bool = True
    inner: tuple[str, ...] = ()


class Redirect(NamedTuple):
    """Holds a redirection: its operator, its target, and the body of a heredoc."""

    operator: str
    target: str
    body: str = ""


@dataclass
class Simple:
    """Holds a simple command: its assignments, words and redirections."""

    words: list[Word] = field(default_factory=list)
    assigned: dict[str, str] = field(default_factory=dict)
    redirects: list[Redirect] = field(default_factory=list)


@dataclass
class Compound:
    """Holds a subshell, a group, a condition, a loop or a function, with the scripts inside it in order.

    `kind` is the word that opens it; `(` is a subshell, `function` a definition.
    """

    kind: str
    scripts: list[Script] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)


Command = Simple | Compound


@dataclass
class AndOr:
    """Holds pipelines joined by `&&` and `||`; `operators` has one item fewer than `pipelines`."""

    pipelines: list[list[Command]] = field(default_factory=list)
    operators: list[str] = field(default_factory=list)


@dataclass
class Script:
    """Holds lists in order, and why the rest of the text could not be parsed (empty: all of it was)."""

    lists: list[AndOr] = field(default_factory=list)
    problem: str = ""


class _Token(NamedTuple):
    kind: str  # "word", "operator", "redirect"
    word: Word
    redirect: Redirect | None = None


@functools.lru_cache(maxsize=4096)
def parse(text: str) -> Script:
    """Parse a command line into a tree; the result is cached, so callers must not change it."""
    if len(text) > LONGEST:
        return Script(problem=f"a command of {len(text)} characters is not read")
    tokens, problem = _Lexer(text).tokens()
    script = _Parser(tokens).script(frozenset(), 0)
    script.problem = script.problem or problem
    return script


class _Lexer:
    """Cuts a text into words, operators and redirections."""

    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n").replace("\\\n", "")
        self._place = 0
        self._waiting: list[tuple[int, str, bool]] = []  # heredocs: place in the list, end mark, strips tabs
        self._tokens: list[_Token] = []

    def tokens(self) -> tuple[list[_Token], str]:
        """Return all tokens, and the error at the end (empty: none)."""
        try:
            while self._place < len(self._text):
                self._next()
            problem = "a heredoc has no end" if self._waiting else ""
        except ValueError as error:
            problem = str(error)
        return self._tokens, problem

    def _next(self) -> None:
        text, place = self._text, self._place
        char = text[place]
        if char in _BLANK:
            self._place += 1
        elif char == "#" and (place == 0 or text[place - 1] in " \t\n;&|("):
            end = text.find("\n", place)
            self._place = len(text) if end < 0 else end
        elif not self._redirects():
            operator = next((operator for operator in _OPERATORS if text.startswith(operator, place)), None)
            if operator is None:
                self._tokens.append(_Token("word", self._word()))
                return
            self._place += len(operator)
            self._tokens.append(_Token("operator", Word(operator)))
            if operator == "\n":
                self._read_heredocs()

    def _redirects(self) -> bool:
        place = self._place
        while place < len(self._text) and self._text[place].isdigit():
            place += 1
        if self._text.startswith(("<(", ">("), place):
            return False
        operator = next((operator for operator in _REDIRECTS if self._text.startswith(operator, place)), None)
        if operator is None or (place > self._place and operator.startswith("&")):
            return False
        self._place = place + len(operator)
        while self._place < len(self._text) and self._text[self._place] in _BLANK:
            self._place += 1
        target = self._word() if self._place < len(self._text) and self._text[self._place] != "\n" else Word("")
        if operator in {"<<", "<<-"}:
            self._waiting.append((len(self._tokens), target.text, operator == "<<-"))
        body = target.text if operator == "<<<" else ""
        self._tokens.append(_Token("redirect", target, Redirect(operator, target.text, body)))
        return True

    def _read_heredocs(self) -> None:
        for index, mark, strips in self._waiting:
            lines: list[str] = []
            while self._place < len(self._text):
                end = self._text.find("\n", self._place)
                line = self._text[self._place : end if end >= 0 else len(self._text)]
                self._place = len(self._text) if end < 0 else end + 1
                if (line.lstrip("\t") if strips else line).rstrip("\r") == mark:
                    break
                lines.append(line)
            token = self._tokens[index]
            redirect = Redirect("<<", mark, "\n".join(lines))
            self._tokens[index] = token._replace(redirect=redirect)
        self._waiting.clear()

    def _word(self) -> Word:
        text = self._text
        parts: list[str] = []
        inner: list[str] = []
        is_fixed, is_bare, start = True, True, self._place
        while self._place < len(text):
            char = text[self._place]
            is_process = char in "<>" and self._place == start and text.startswith("(", self._place + 1)
            if (char in _BLANK or char in "\n|&;<>()") and not is_process:
                break
            if char == "\\":
                parts.append(text[self._place + 1 : self._place + 2])
                self._place += 2
                is_bare = False
            elif char == "'":
                parts.append(self._until("'", self._place + 1))
                is_bare = False
            elif char == '"':
                part, scripts = self._quoted()
                parts.append(part)
                inner += scripts
                is_fixed, is_bare = is_fixed and "$" not in part and not scripts, False
            elif char in "$`<>":
                part, scripts = self._expansion()
                parts.append(part)
                inner += scripts
                after = text[self._place : self._place + 1]
                if part == "$" and after == "'":  # $'…'
                    parts[-1], is_bare = "", False
                is_fixed = is_fixed and part == "$" and not (after.isalnum() or after in set("_@*#?$!-"))
            else:
                parts.append(char)
                self._place += 1
        return Word("".join(parts), is_fixed, is_bare, tuple(inner))

    def _until(self, mark: str, start: int) -> str:
        end = self._text.find(mark, start)
        if end < 0:
            self._place = len(self._text)
            raise ValueError(f"a {mark} has no end")
        self._place = end + 1
        return self._text[start:end]

    def _quoted(self) -> tuple[str, list[str]]:
        text = self._text
        parts: list[str] = []
        inner: list[str] = []
        self._place += 1
        while True:
            if self._place >= len(text):
                raise ValueError('a " has no end')
            char = text[self._place]
            if char == '"':
                self._place += 1
                return "".join(parts), inner
            if char == "\\" and text[self._place + 1 : self._place + 2] in {'"', "\\", "$", "`"}:
                parts.append(text[self._place + 1])
                self._place += 2
            elif char in "$`":
                part, scripts = self._expansion()
                parts.append(part)
                inner += scripts
            else:
                parts.append(char)
                self._place += 1

    def _expansion(self) -> tuple[str, list[str]]:
        """Read a variable or a substitution at the current place; return its text and its scripts."""
        text, start = self._text, self._place
        if text[start] == "`":
            script = self._until("`", start + 1)
            return f"`{script}`", [script]
        opening = next((sign for sign in ("$((", "$(", "${", "<(", ">(") if text.startswith(sign, start)), None)
        if opening is None:
            self._place += 1
            return text[start], []
        end = _closing(text, start + len(opening), "}" if opening == "${" else ")")
        self._place = end
        expansion = text[start:end]
        return expansion, [] if opening in {"${", "$(("} else [text[start + 2 : end - 1]]


def _closing(text: str, place: int, mark: str) -> int:
    """Return the position behind the mark that closes an expansion, skipping quotes and nested brackets."""
    depth, opening = 1, {")": "(", "}": "{"}[mark]
    if text.startswith("$((", max(0, place - 3)):
        depth = 2
    waiting = ""
    while place < len(text):
        char = text[place]
        heredoc = _HEREDOC.match(text, place) if mark == ")" else None
        if heredoc is not None:
            waiting, place = heredoc[2], heredoc.end() - 1
        elif char == "\n" and waiting:
            place = _behind_heredoc(text, place, waiting) - 1
            waiting = ""
        elif char == "\\":
            place += 1
        elif char in {"'", '"'}:
            end = text.find(char, place + 1)
            while char == '"' and end > 0 and text[end - 1] == "\\":
                end = text.find(char, end + 1)
            place = end if end >= 0 else len(text)
        elif char == opening:
            depth += 1
        elif char == mark:
            depth -= 1
            if not depth:
                return place + 1
        place += 1
    raise ValueError(f"a {opening} has no end")


def _behind_heredoc(text: str, place: int, mark: str) -> int:
    """Return the position of the line break that ends a heredoc."""
    end = re.compile(rf"\n\t*{re.escape(mark)}\r?(?=\n|\)|$)").search(text, place)
    return end.end() if end is not None else len(text)


class _Parser:
    """Makes a tree of tokens."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens, self._place = tokens, 0

    def _peek(self) -> _Token | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def _is(self, *texts: str) -> bool:
        token = self._peek()
        return token is not None and token.kind == "operator" and token.word.text in texts

    def _skip(self, *texts: str) -> None:
        while self._is(*texts):
            self._place += 1

    def _keyword(self) -> str:
        token = self._peek()
        return token.word.text if token is not None and token.kind == "word" and token.word.bare else ""

    def script(self, ends: frozenset[str], depth: int) -> Script:
        """Parse lists up to one of the words or operators `ends`."""
        script = Script()
        if depth > DEEPEST:
            script.problem = f"commands lie deeper than {DEEPEST} within each other"
            self._place = len(self._tokens)
            return script
        while (token := self._peek()) is not None:
            if token.word.text in ends and (token.kind == "operator" or token.word.bare):
                return script
            if self._is(";", "&", "\n", ";;", ";&", ";;&", ")") or self._keyword() in _PARTS:
                self._place += 1
                continue
            before = self._place
            script.lists.append(self._and_or(ends, depth))
            if self._place == before:
                self._place += 1
        return script

    def _and_or(self, ends: frozenset[str], depth: int) -> AndOr:
        chain = AndOr([self._pipeline(ends, depth)])
        while self._is("&&", "||"):
            chain.operators.append(self._tokens[self._place].word.text)
            self._place += 1
            self._skip("\n")
            chain.pipelines.append(self._pipeline(ends, depth))
        return chain

    def _pipeline(self, ends: frozenset[str], depth: int) -> list[Command]:
        while self._keyword() in {"!", "time"}:
            self._place += 1
        commands = [self._command(ends, depth)]
        while self._is("|", "|&"):
            self._place += 1
            self._skip("\n")
            commands.append(self._command(ends, depth))
        return commands

    def _command(self, ends: frozenset[str], depth: int) -> Command:
        if self._is("("):
            self._place += 1
            inner = self.script(frozenset(")"), depth + 1)
            self._place += 1
            return self._with_redirects(Compound("(", [inner]))
        word = self._keyword()
        if word in _OPENING:
            return self._compound(word, depth)
        if word == "function":
            self._place += 1
        return self._simple(ends, depth)

    def _compound(self, word: str, depth: int) -> Compound:
        self._place += 1
        close = _CLOSING[word]
        compound = Compound(word)
        if word in {"for", "select", "case"}:
            self._skip_head()
        marks = frozenset({close, "then", "elif", "else", "do"} if word != "case" else {close, ";;", ";&", ";;&"})
        while (token := self._peek()) is not None:
            if token.word.text == close and token.word.bare:
                self._place += 1
                return self._with_redirects(compound)
            if word == "case":
                self._skip_label(close)
            before = self._place
            compound.scripts.append(self.script(marks, depth + 1))
            if self._peek() is not None and self._peek().word.text != close:  # type: ignore[union-attr]
                self._place += 1
            elif self._place == before and self._peek() is None:
                break
        return compound

    def _skip_head(self) -> None:
        """Skip the head of a loop or of `case` (`for x in a b c`), up to the body."""
        while (token := self._peek()) is not None and not self._is(";", "\n") and self._keyword() != "do":
            self._place += 1
            if token.kind == "word" and token.word.text == "in" and self._tokens[self._place - 3].word.text == "case":
                return

    def _skip_label(self, close: str) -> None:
        self._skip("\n", ";")
        place = self._place
        while place < len(self._tokens) and self._tokens[place].word.text not in {close, ";;"}:
            place += 1
            if self._tokens[place - 1].word.text == ")" and self._tokens[place - 1].kind == "operator":
                self._place = place
                return

    def _with_redirects(self, command: Compound) -> Compound:
        while (token := self._peek()) is not None and token.redirect is not None:
            command.redirects.append(token.redirect)
            self._place += 1
        return command

    def _simple(self, ends: frozenset[str], depth: int) -> Command:
        simple = Simple()
        while (token := self._peek()) is not None and token.kind != "operator":
            if token.word.text in ends and token.word.bare and not simple.words and token.kind == "word":
                break
            self._place += 1
            if token.redirect is not None:
                simple.redirects.append(token.redirect)
            elif not simple.words and _assigns(token.word):
                name, _, value = token.word.text.partition("=")
                simple.assigned[name] = value
                simple.words += [Word("", inner=token.word.inner)] if token.word.inner else []
            else:
                simple.words.append(token.word)
        if self._is("(") and len(simple.words) == 1 and self._follows(")"):
            self._place += 2
            self._skip("\n")
            return Compound("function", [Script([AndOr([[self._command(ends, depth + 1)]])])])
        return simple

    def _follows(self, text: str) -> bool:
        place = self._place + 1
        return place < len(self._tokens) and self._tokens[place].word.text == text


def _assigns(word: Word) -> bool:
    name, mark, _ = word.text.partition("=")
    name = name.removesuffix("+")
    return bool(mark) and name.isidentifier() and name.isascii()
