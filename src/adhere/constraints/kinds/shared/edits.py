"""Edit answers a little and keep their content, for the kinds' repairs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from adhere.text.words import count_words, has_words, sentences, word_spans

ENDINGS = ".!?…"
_CLOSERS = "\"'”’)]}*_>"
MARKER = re.compile(r"[ \t]*(?:[-*•+]|\d{1,3}[.)])[ \t]+")
_LABEL = re.compile(r"[A-Z][A-Za-z]{2,14}:[ \t]")
# Words that cannot end a sentence which was cut short.
_DANGLING = frozenset(
    (
        "a an the of and or but to in on at by for with from as is are was were be been being it its this "
        "that these those which who whom whose when while where because if than then so such into onto over "
        "under about between through during can could will would may might must should do does did has have "
        "had not no very more most many some any their his her our your my we they he she i you also like "
        "including"
    ).split()
)
# A conjunction with a subject behind it: what follows can stand alone.
_MAIN_CLAUSE = re.compile(
    r"(?:,|;)\s(?:and|but|so)\s(?=(?:it|they|he|she|this|these|the|you|we|I|there|its|their|your)\s)|;\s", re.IGNORECASE
)
_CLAUSE = re.compile(r"[,;:]|\s[–—-]\s|\s\(|\b(?:and|but|which|because|while|so|where|when|that)\b", re.IGNORECASE)


def without_ending(text: str) -> str:
    """Return the text without the stop (and closing quotes) at its end."""
    return text.rstrip().rstrip(_CLOSERS).rstrip(ENDINGS + ",;:–—- ").rstrip()


def with_ending(text: str, mark: str) -> str:
    """Return the text with `mark` for its final stop; closing quotes and brackets stay behind the mark."""
    body = text.rstrip()
    start = without_ending(body)
    return start + mark + "".join(character for character in body[len(start) :] if character in _CLOSERS)


def strip_quote(text: str) -> str:
    """Return the text without an opening quotation mark that is never closed."""
    body = text.lstrip()
    alone = body[:1] in {'"', "“"} and not any(mark in body[1:] for mark in '"”')
    return body[1:] if alone else text


def end_sentence(text: str) -> str:
    """Return the text with a stop at its end."""
    body = text.rstrip()
    if body.rstrip(_CLOSERS).endswith(tuple(ENDINGS)):
        return body
    return body.rstrip(",;:–—- ") + "."


def is_listed(line: str) -> bool:
    """Tell whether a line begins with a bullet, a number or a label, so that prose does not continue it."""
    return MARKER.match(line) is not None or _LABEL.match(line) is not None


def add_sentence(text: str, sentence: str) -> str:
    """Return the text with one more sentence at its end; below a list the sentence is a paragraph of its own."""
    body = text.rstrip()
    last_line = body.rpartition("\n")[2]
    gap = "\n\n" if is_listed(last_line) and (last_line != body or MARKER.match(body)) else " "
    return f"{body if gap != ' ' else end_sentence(body)}{gap}{sentence}"


def add_clause(text: str, clause: str) -> str:
    """Return the text with `clause` (with its own comma or blank) before the final stop."""
    body = text.rstrip()
    start = without_ending(body)
    ending = body[len(start) :].lstrip(" ,;:–—-") or "."
    return f"{start}{clause}{ending}"


def decapitalise(text: str) -> str:
    """Return the text with its first letter in lower case, unless the first word is "I", a name or an acronym."""
    first = text.split(maxsplit=1)[0] if text.split() else ""
    bare = first.strip("\"'“‘(,.!?")
    if bare in {"I", "I'm", "I've", "I'd", "I'll"} or not bare[:1].isupper() or bare[1:] != bare[1:].lower():
        return text
    small = bare.lower()
    if small not in _DANGLING and not small.endswith(("ing", "ly")) and f" {small}" not in text:
        return text  # it may be a name
    return text.replace(bare[0], bare[0].lower(), 1)


def capitalise(text: str) -> str:
    """Return the text with its first letter as a capital."""
    for index, character in enumerate(text):
        if character.isalpha():
            return text[:index] + character.upper() + text[index + 1 :]
    return text


def key_word(text: str) -> str:
    """Return the longest word that is no function word (the first of equals), or the longest word of all."""
    words = [text[start:end] for start, end in word_spans(text)]
    topics = [word for word in words if word.lower() not in _DANGLING and word.isalpha()] or words
    return max(topics, key=len)


def cut_to_words(text: str, most: int) -> str | None:
    """Cut the text to at most `most` words; None if it is too short to cut.

    It ends after a whole sentence, else after a clause, else after a word that can end one.
    """
    if count_words(text) <= most:
        return text
    whole = _whole_sentences(text, lambda piece: count_words(piece) <= most)
    if whole:
        return strip_quote(whole)
    spans = word_spans(text)[: most + 1]
    if len(spans) < 4:
        return None
    return _cut_short(text[: spans[-1][0]] if len(spans) > most else text)


def cut_words_only(text: str, most: int) -> str | None:
    """Cut as `cut_to_words` does, but as late as possible: within the sentence that crosses the limit."""
    spans = word_spans(text)
    if len(spans) <= most:
        return text
    tokens = text[: spans[most][0]].split()
    while tokens and tokens[-1].strip(",;:").lower() in _DANGLING:
        tokens.pop()
    return strip_quote(end_sentence(without_ending(" ".join(tokens)))) if len(tokens) >= 3 else None


def cut_to_characters(text: str, most: int) -> str | None:
    """Cut as `cut_to_words` does, but by number of characters."""
    if len(text) <= most:
        return text
    whole = _whole_sentences(text, lambda piece: len(piece) <= most)
    return strip_quote(whole) if whole else _cut_short(text[: most - 1].rpartition(" ")[0])


def _whole_sentences(text: str, fits: Callable[[str], bool]) -> str | None:
    start = ""
    for sentence in sentences(text):
        longer = f"{start} {sentence}" if start else sentence
        if not fits(longer):
            break
        start = longer
    return start if count_words(start) >= 3 else None


def _cut_short(piece: str) -> str | None:
    """End a piece of a sentence at a clause in its second half, else after a word that can end one."""
    piece = " ".join(piece.split())
    clauses = [match.start() for match in _CLAUSE.finditer(piece) if match.start() >= len(piece) // 2]
    for end in [*reversed(clauses), len(piece)]:
        tokens = piece[:end].split()
        while tokens and tokens[-1].strip(",;:").lower() in _DANGLING:
            tokens.pop()
        if len(tokens) >= 3:
            return strip_quote(end_sentence(without_ending(" ".join(tokens))))
    return None


def plain(text: str) -> str:
    """Return the prose of an answer.

    JSON values, list items and labelled lines become running sentences; wrapping quotes and fences are removed.
    """
    body = text.strip()
    body = _json_values(body) or body
    if len(body) > 2 and body[0] in '"“' and body[-1] in '"”' and not any(mark in body[1:-1] for mark in '"“”'):
        body = body[1:-1]
    pieces = []
    for line in body.split("\n"):
        bare = _LABEL.sub("", MARKER.sub("", line, count=1), count=1).strip()
        if has_words(bare) and not bare.startswith("```"):
            pieces.append(end_sentence(bare) if is_listed(line) else bare)
    return " ".join(pieces)


def _json_values(text: str) -> str | None:
    if not text.startswith("{"):
        return None
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    pieces = [end_sentence(item) for item in value.values() if isinstance(item, str) and has_words(item)]
    return " ".join([*pieces, text[end:].strip()]).strip() or None


def split_into(text: str, count: int) -> list[str] | None:
    """Split the prose into exactly `count` pieces of at least two words each; None if it is too short."""
    pieces = sentences(plain(text))
    while len(pieces) > count:
        # joining the shortest neighbours keeps the pieces even
        at = min(range(len(pieces) - 1), key=lambda i: len(pieces[i]) + len(pieces[i + 1]))
        pieces[at : at + 2] = [f"{pieces[at]} {pieces[at + 1]}"]
    while 0 < len(pieces) < count:
        at = max(range(len(pieces)), key=lambda i: count_words(pieces[i]))
        halves = _halves(pieces[at])
        if halves is None:
            return None
        pieces[at : at + 1] = halves
    return pieces or None


def split_clauses(pieces: Sequence[str], count: int) -> list[str]:
    """Return the sentences with main clauses of them as sentences of their own, so that there are at most `count`."""
    split: list[str] = []
    for number, piece in enumerate(pieces):
        room = count - len(split) - (len(pieces) - number - 1)
        clauses = _MAIN_CLAUSE.split(piece, maxsplit=max(0, room - 1)) if room > 1 else [piece]
        split += [end_sentence(capitalise(clause.strip())) for clause in clauses]
    return split


def _halves(sentence: str) -> list[str] | None:
    """Split a sentence at the clause nearest to its middle, else at a word there; None if a half is too short."""
    middle = len(sentence) // 2
    cuts = [match.start() for match in _CLAUSE.finditer(sentence)] + [start for start, _ in word_spans(sentence)]
    clauses = len(cuts) - len(word_spans(sentence))
    ranked = sorted(range(len(cuts)), key=lambda i: abs(cuts[i] - middle) + (0 if i < clauses else len(sentence) // 4))
    for index in ranked:
        left = without_ending(sentence[: cuts[index]])
        right = sentence[cuts[index] :].lstrip(" ,;:–—-(")
        right = re.sub(r"\A(?:and|but|so|which|that)\s+", "", right, flags=re.IGNORECASE)
        if count_words(left) >= 2 and count_words(right) >= 2:
            return [left + ".", capitalise(right)]
    return None


def join_lines(pieces: Sequence[str], marker: str) -> str:
    """Return one piece a line, each behind `marker` (`{n}` is its number)."""
    return "\n".join(marker.format(n=number) + piece for number, piece in enumerate(pieces, start=1))


def like(original: str, replacement: str) -> str:
    """Return `replacement` in the case of `original`: upper, capitalised, or as given."""
    if len(original) > 1 and original.isupper():
        return replacement.upper()
    return capitalise(replacement) if original[:1].isupper() else replacement


def add_opening(text: str, opening: str, *, clause: bool) -> str:
    """Put an opening phrase before the text.

    Between them stands a colon and a line break before a list, a blank after a mark, a comma if the phrase is part of
    the sentence (`clause`: "In short, …"), else a colon.
    """
    body = text.strip()
    if is_listed(body):
        return f"{opening}:\n{body}"
    if opening.endswith((".", "!", "?", ":", ",")):
        return f"{opening} {body}"
    return f"{opening}, {decapitalise(body)}" if clause else f"{opening}: {body}"


def replace_matches(text: str, pattern: re.Pattern[str], instead: str) -> str:
    """Replace each match of `pattern` by `instead`, in the case of the match."""
    return pattern.sub(lambda hit: like(hit.group(), instead), text)
