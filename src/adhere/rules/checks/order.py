"""Checks of what is done and in which order.

Each function yields occasions: places where the rule applied, and whether it was kept there.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from adhere.rules.checks.events import Met, meets, of_sort
from adhere.rules.checks.spec import After, AsksBefore, AtMost, Before, Between, Does, Event, Instead, Never
from adhere.rules.session.acts import Act, asks
from adhere.rules.shell.patterns import matches


class Occasion(NamedTuple):
    """Describes a place where a rule applied.

    Attributes:
        kept: Whether the rule was kept; None: the log does not show it.
        reason: Why, in a sentence.
        acts: The acts that show it.
    """

    kept: bool | None
    reason: str
    acts: tuple[Act, ...] = ()


_keeping, _breach, _open = (functools.partial(Occasion, kept) for kept in (True, False, None))


def _unshown(doubt: Act, *, acts: tuple[Act, ...] = ()) -> Occasion:
    """Return the occasion of an act that may have been the event; the evidence is `acts`, or the act alone."""
    return _open(f"the log does not show whether {_doubt(doubt)}", acts or (doubt,))


Acts = Sequence[Act]
ANY_EDIT = Event(edits=("**",))


def never(check: Never, acts: Acts) -> Iterator[Occasion]:
    """Yield an occasion for each breach; without a breach, at most one for the whole session."""
    is_lifted = False
    triggers = [act for act in acts if _triggers(check.when, check.event, act)]
    is_undone = taken_back(acts) if check.at == "final" and check.event.edits else lambda _act: False
    doubts: list[Act] = []
    is_broken = False
    for act in acts:
        is_lifted = is_lifted or (check.unless is not None and meets(check.unless, act) is True)
        is_met = meets(check.event, act)
        if is_met is False or is_lifted or is_undone(act):
            continue
        if is_met is None:
            doubts.append(act)
        elif check.when is None or triggers:
            is_broken = True
            yield _breach(_did(act), (act,))
    if doubts and not is_broken:
        yield _unshown(doubts[0], acts=tuple(doubts[:3]))
    elif not is_broken and triggers:
        reason = "it was lifted before" if is_lifted else "it did not happen"
        yield _keeping(reason, tuple(triggers[:1]))


def _triggers(when: Event | None, event: Event, act: Act) -> bool:
    return (of_sort(event, act) if when is None else meets(when, act)) is True


def taken_back(acts: Acts) -> Callable[[Act], bool]:
    """Return a function that tells whether an edit is undone in the end.

    An edit is undone if the file was new and is removed later, or if git restores it.
    """
    last: dict[str, Act] = {}
    first: dict[str, Act] = {}
    for act in acts:
        if act.kind == "edit" and act.ran:
            first.setdefault(act.path, act)
            last[act.path] = act

    def is_undone(act: Act) -> bool:
        begin, end = first.get(act.path), last.get(act.path)
        if begin is None or end is None or begin is end:
            return False
        is_restored = end.run is not None and end.run.words[:1] == ("git",) and end.how == "modify"
        return is_restored or (begin.how == "create" and end.how == "delete")

    return is_undone


def does(check: Does, acts: Acts) -> Iterator[Occasion]:
    """Yield one occasion for the session if `when` happens in it (by default: if a file is edited)."""
    when = check.when or ANY_EDIT
    triggers = [act for act in acts if meets(when, act) is True]
    unsure = [act for act in acts if meets(when, act) is None] if not triggers else []
    if not triggers and not unsure:
        return
    hit, doubt = _first(check.event, acts)
    if hit is not None:
        hits = [act for act in acts if meets(check.event, act) is True]
        if triggers and all(_has_failed(act) for act in hits):
            yield _open(f"{_did(hit)}, and failed", (hit,))
        elif triggers:
            yield _keeping(_did(hit), (hit,))
    elif doubt is not None:
        yield _unshown(doubt)
    elif triggers:
        yield _breach("it never happened", (triggers[-1],))
    else:
        yield _unshown(unsure[0])


def _first(event: Event, acts: Acts) -> tuple[Act | None, Act | None]:
    """Return the first act that surely is the event, and the first before it that may be; None for either if absent."""
    doubt = None
    for act in acts:
        is_met = meets(event, act)
        if is_met is True:
            return act, doubt
        doubt = act if is_met is None and doubt is None else doubt
    return None, doubt


def before(check: Before, acts: Acts) -> Iterator[Occasion]:
    """Yield an occasion for each act that is, or may be, the check's `then`."""
    done: Act | None = None
    maybe: Act | None = None
    stale: Act | None = None
    for act in acts:
        is_met = meets(check.then, act)
        if is_met is not False:
            yield _precedes(act, is_met, done=done, maybe=maybe, stale=stale)
        if check.since is not None and meets(check.since, act) is not False and (done or maybe):
            if meets(check.since, act) is None:
                maybe, done = maybe or done, None
            else:
                stale, done, maybe = done or maybe, None, None
        first = meets(check.first, act)
        if first is True:
            done, stale = act, None
        elif first is None:
            maybe = act


def _precedes(act: Act, is_met: Met, *, done: Act | None, maybe: Act | None, stale: Act | None) -> Occasion:
    if done is not None:
        return _keeping(f"{_did(done)} before it", (done, act))
    if maybe is not None:
        return _unshown(maybe, acts=(maybe, act))
    if is_met is None:
        return _unshown(act)
    if stale is not None:
        return _breach(f"{_did(stale)} came before, and files changed after it", (stale, act))
    return _breach(f"{_did(act)}, and what had to come before did not", (act,))


def after(check: After, acts: Acts) -> Iterator[Occasion]:
    """Yield at most one occasion for the session if `at` is "final", else at most one for each turn."""
    if check.at == "final":
        yield from _after(check, acts)
        return
    turn: list[Act] = []
    for act in acts:
        if act.kind == "user":
            yield from _after(check, turn)
            turn = []
        turn.append(act)
    yield from _after(check, turn)


def _after(check: After, acts: Acts) -> Iterator[Occasion]:
    places = [place for place, act in enumerate(acts) if meets(check.event, act) is True]
    if not places:
        unsure = next((act for act in acts if meets(check.event, act) is None), None)
        if unsure is not None and _first(check.then, acts)[0] is None:
            yield _unshown(unsure)
        return
    last = acts[places[-1]]
    rest = list(acts[places[-1] + 1 :])
    if check.until is not None:
        ends = next((place for place, act in enumerate(rest) if meets(check.until, act) is True), len(rest))
        rest = rest[:ends]
    hit, doubt = _first(check.then, rest)
    if hit is not None and all(_has_failed(act) for act in rest if meets(check.then, act) is True):
        yield _open(f"{_did(hit)} after it, and failed", (last, hit))
    elif hit is not None:
        yield _keeping(f"{_did(hit)} after it", (last, hit))
    elif doubt is not None:
        yield _unshown(doubt, acts=(last, doubt))
    else:
        yield _breach(f"{_did(last)}, and what had to follow did not", (last,))


def between(check: Between, acts: Acts) -> Iterator[Occasion]:
    """Yield an occasion for each span from a `begin` to the next `end`."""
    begin: Act | None = None
    hit: Act | None = None
    doubt: Act | None = None
    for act in acts:
        if begin is not None and meets(check.end, act) is True:
            yield _span(check, begin, act, hit, doubt)
            begin = None
        if begin is not None:
            is_met = meets(check.event, act)
            hit = hit or (act if is_met is True else None)
            doubt = doubt or (act if is_met is None else None)
        if begin is None and meets(check.begin, act) is True:
            begin, hit, doubt = act, None, None


def _span(check: Between, begin: Act, end: Act, hit: Act | None, doubt: Act | None) -> Occasion:
    if hit is not None:
        return Occasion(check.must, f"{_did(hit)} in between", (begin, hit, end))
    if doubt is not None:
        return _unshown(doubt)
    return Occasion(not check.must, "it did not happen in between", (begin, end))


def instead(check: Instead, acts: Acts) -> Iterator[Occasion]:
    """Yield an occasion for each act that is `use` or `avoid`, and one more if some acts may be `avoid`."""
    doubts: list[Act] = []
    for act in acts:
        meets_avoid = meets(check.avoid, act)
        meets_use = meets(check.use, act)
        if meets_use is True:
            yield _keeping(_did(act), (act,))
        elif meets_avoid is True:
            yield _breach(_did(act), (act,))
        elif meets_avoid is None:
            doubts.append(act)
    if doubts:
        yield _unshown(doubts[0], acts=tuple(doubts[:2]))


def asks_before(check: AsksBefore, acts: Acts) -> Iterator[Occasion]:
    """Yield an occasion for each act that is `event`: kept if a question to the user was answered before it."""
    question: Act | None = None
    is_answered = False
    for act in acts:
        if asks(act):
            question, is_answered = act, act.kind == "call"
        elif act.kind == "user":
            is_answered = question is not None
            if _is_granted(check.granted, act.text or ""):
                question, is_answered = act, True
        is_met = meets(check.event, act)
        if is_met is True:
            is_kept = question is not None and is_answered
            yield Occasion(
                is_kept,
                _did(act) if not is_kept else "the user was asked first",
                (question, act) if question else (act,),
            )
        elif is_met is None and not is_answered:
            yield _unshown(act)


def _is_granted(words: Sequence[str], text: str) -> bool:
    """Tell whether a user's text asks for one of `words` without forbidding it: `do not push` grants nothing."""
    for word in words:
        stem = re.escape(word)
        request = re.search(rf"(?<!\w){stem}", text, re.IGNORECASE)
        prohibition = re.search(rf"(?:don't|don’t|not|never|without|no) (?:\w+ ){{0,2}}{stem}", text, re.IGNORECASE)
        if request and not prohibition:
            return True
    return False


def at_most(check: AtMost, acts: Acts) -> Iterator[Occasion]:
    """Yield one occasion for the session if the event happens, or may have happened."""
    hits = [act for act in acts if meets(check.event, act) is True]
    doubts = [act for act in acts if meets(check.event, act) is None]
    if check.event.edits:
        hits = list({act.path: act for act in reversed(hits)}.values())[::-1]
    if not hits and not doubts:
        return
    reason = f"{len(hits)} times, allowed {check.limit}"
    if len(hits) > check.limit:
        yield _breach(reason, tuple(hits[: check.limit + 1]))
    elif len(hits) + len(doubts) > check.limit:
        yield _unshown(doubts[0])
    else:
        yield _keeping(reason, tuple(hits[:1]))


def _has_failed(act: Act) -> bool:
    """Tell whether a command failed, leaving out tests and linters, whose exit code is their finding."""
    if act.kind != "command" or act.run is None or act.passed is not False:
        return False
    return not matches(act.run, ("@tests", "@lint", "@typecheck", "@build"))


def _did(act: Act) -> str:
    """Describe an act in words."""
    if act.kind == "command" and act.run is not None:
        return f"`{' '.join(act.run.forms[0])[:80]}` ran" if act.run.forms else "a command ran"
    if act.kind == "edit":
        verbs = {"create": "written", "modify": "changed", "delete": "removed"}
        return f"{act.path} was {verbs.get(act.how or '', 'changed')}{' by a command' if act.by == 'shell' else ''}"
    if act.kind == "read":
        return f"{act.path} was read"
    if act.kind == "call":
        return f"the tool {act.tool} was called"
    return "the reply was given" if act.kind == "reply" else "the user spoke"


def _doubt(act: Act) -> str:
    if act.ran is None:
        return f"{_did(act)}: it has no result there"
    if act.kind == "opaque":
        return "a program changed the file that it names"
    if act.kind == "edit" and (not act.sure or act.tree):
        return f"{act.path} means such a file"
    if act.kind == "command" and act.run is not None:
        return f"`{' '.join(act.run.forms[0])[:60]}` ended well" if act.passed is None else _did(act)
    return _did(act)
