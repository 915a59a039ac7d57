"""TextWorld's generated quests as worlds. TextWorld's logic decides; observations are put into words from its facts.

Source: microsoft/TextWorld 1.7 (MIT). It is in no extra of this package, because it needs jericho 3.3.1, which is under
GPL-2.0-or-later and is compiled from its source when it is installed. The quests are played by TextWorld's logic alone;
jericho's interpreter is not used.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from adhere.errors import MissingExtra
from adhere.worlds.world import OVER, Action, Judgement, NoUser, Step, registry

MISSING = (
    "world textworld needs the package 'textworld', which is not installed. It is in no extra, because its dependency jericho is under "
    "GPL-2.0-or-later and needs a C compiler. Run: pip install textworld"
)
ROOMS, OBJECTS, QUEST = 3, 6, 4
_STATES = ("open", "closed", "locked")


class TextWorld(NoUser):
    """Plays a quest of four commands in three rooms with six things."""

    name = "textworld"
    system = "You play a text adventure: reach the objective that you are given. You can only do what is listed after what you see."

    def __init__(self) -> None:
        try:
            importlib.import_module("textworld")
        except ModuleNotFoundError as error:
            raise MissingExtra(MISSING) from error
        self.version = f"1+{importlib.metadata.version('textworld')}"

    def reset(self, seed: int) -> str:
        """Begin the quest of a seed."""
        from textworld.generator.game import GameProgression

        self._game, self._inform = _make_game(seed % 2**31)
        self._progress = GameProgression(self._game, track_quests=True)
        return f"{self._game.objective}\n\n{self._look()}"

    def step(self, action: Action) -> Step:
        """Carry out a command."""
        if self._is_over:
            return OVER
        command = action if isinstance(action, str) else action.name
        possible = self._possible()
        game_action = possible.get(" ".join(command.strip().strip(".>").casefold().split()))
        if game_action is None:
            return Step(f"You cannot do that.\n\n{self._look()}")
        self._progress.update(game_action)
        return Step("You have reached your objective." if self._progress.completed else self._look(), self._is_over)

    def verdict(self) -> Judgement:
        """Judge whether the quest is completed."""
        is_won = bool(self._progress.completed)
        return Judgement(
            "pass" if is_won else "fail", "the quest is completed" if is_won else "the quest is not completed"
        )

    def solver(self) -> Sequence[Action]:
        """Return TextWorld's own walkthrough."""
        return list(self._game.walkthrough)

    @property
    def _is_over(self) -> bool:
        return bool(self._progress.completed or self._progress.failed)

    def _possible(self) -> dict[str, Any]:
        """Return the actions that are possible now, by command; of two with one command the first.

        Commands that only look are left out, since everything is seen.
        """
        actions = sorted(self._progress.valid_actions, key=str)
        actions_by_command: dict[str, Any] = {}
        for command, action in zip(self._inform.gen_commands_from_actions(actions), actions, strict=True):
            if command.partition(" ")[0] not in {"examine", "inventory", "look"}:
                actions_by_command.setdefault(command.casefold(), action)
        return actions_by_command

    def _look(self) -> str:
        """Describe the room with what is in it, what is carried, and what can be done."""
        contents: dict[str, list[str]] = defaultdict(list)
        states: dict[str, str] = {}
        place, exits = "", []
        facts = sorted(self._progress.state.facts, key=str)
        for fact in facts:
            names = [argument.name for argument in fact.arguments]
            if fact.name == "at" and fact.arguments[0].type == "P":
                place = names[1]
            elif fact.name in {"at", "in", "on"}:
                contents[names[1]].append(names[0])
            elif fact.name in _STATES:
                states[names[0]] = fact.name
        for fact in facts:
            side, is_way, _ = fact.name.partition("_of")
            if is_way and "/" not in fact.name and len(fact.arguments) == 2 and fact.arguments[1].name == place:
                exits.append(side.split("_")[-1])

        def describe(entity: str) -> str:
            name = self._game.infos[entity].name or entity
            inside = "" if states.get(entity) in {"closed", "locked"} else ", ".join(map(describe, contents[entity]))
            notes = "; ".join(part for part in (states.get(entity, ""), f"there: {inside}" if inside else "") if part)
            return f"{name} ({notes})" if notes else name

        things_carried = ", ".join(map(describe, contents["I"])) or "nothing"
        things_here = ", ".join(map(describe, contents[place])) or "nothing"
        commands = ", ".join(sorted(self._possible()))
        room = self._game.infos[place].name or place
        return f"You are in the {room}. You see: {things_here}. Ways lead: {', '.join(sorted(exits)) or 'nowhere'}. You carry: {things_carried}.\nYou can: {commands}"


@functools.lru_cache(maxsize=4096)
def _make_game(seed: int) -> tuple[Any, Any]:
    """Return the game of a seed, and the object that puts its actions into words; takes a tenth of a second."""
    from textworld import GameOptions
    from textworld.generator import KnowledgeBase, make_game
    from textworld.generator.inform7 import Inform7Game

    options = GameOptions()
    options.kb = KnowledgeBase.default()  # as its map has; else the same files are parsed for every game
    options.seeds, options.nb_rooms, options.nb_objects, options.quest_length = seed, ROOMS, OBJECTS, QUEST
    game = make_game(options=options)
    return game, Inform7Game(game)


registry.add("textworld", TextWorld, owner=__name__)
