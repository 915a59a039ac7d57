"""Make a study's prompts: training prompts of one seed, and a held-out suite whose slices each ask one thing.

| slice | queries, topics, what is asked for | wordings | kinds |
|---|---|---|---|
| `new-topic` | never trained on | of training | of training |
| `new-wording` | never trained on | never trained on | of training |
| `new-family` | never trained on | never trained on | of families that are never trained on |
| `new-kind` | never trained on | never trained on | of others that are named; their family may be trained on |

Each slice is dealt twice, by the number of constraints: `new-topic/single`, `new-topic/multiple` and so on.
`audit` checks the table for a set of prompts.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from adhere.constraints import Constraint, registry
from adhere.constraints.published.iftrain.twins import as_own
from adhere.errors import AdhereError, UsageError
from adhere.schema import Part, Prompt, Record
from adhere.suites.base import Suite
from adhere.suites.generated.core.compose import Manner, say_in_turn
from adhere.suites.generated.core.deal import Dealer, kinds_of
from adhere.suites.generated.core.queries import Query, StudyPart, queries
from adhere.suites.generated.core.templates import templated_queries
from adhere.suites.generated.core.wordings import FREE, contents, draw_for, wordings_of

VERSION = "1"
SINGLE, MULTIPLE = (1,) * 10, (2, 2, 2, 2, 2, 2, 2, 3, 3, 3)
PARTS: tuple[Part, ...] = ("train", "held-out")
SLICES = tuple(
    f"{name}/{number}" for name in ("new-topic", "new-wording", "new-family") for number in ("single", "multiple")
)


class Sizes(Record, frozen=True):
    """Holds the numbers of prompts of one slice with one constraint, and with two or three."""

    single: int = 0
    multiple: int = 0


class StudyManner(Manner):
    """Draws constraints for one part and says them in equal shares of its wordings (see `wordings`).

    Args:
        part: The part whose phrases, keys and words are used.
        new: Whether the wordings are those that are never trained on.
        most: How many training wordings a kind has, the first ones; None: all. Part `dev` uses the others.
    """

    def __init__(self, part: StudyPart, *, new: bool, most: int | None = None) -> None:
        self.part, self.new, self.most = part, new, most
        self._uses: Counter[str] = Counter()

    @property
    def phrasings(self) -> str:
        return "held-out" if self.new else "training"

    def _choices(self, kind: type[Constraint]) -> tuple[str, ...]:
        wordings = wordings_of(kind)
        if self.part == "dev":
            return () if self.most is None else wordings.training[self.most :]
        return wordings.held_out if self.new else wordings.training[: self.most]

    def draw(self, kind: type[Constraint], rng: random.Random, query: Query) -> Constraint | None:
        if not self._choices(kind):
            return None
        return draw_for(self.part, kind, rng, words=query.words)

    def say(self, constraint: Constraint, rng: random.Random) -> str:
        return say_in_turn(constraint, self._choices(type(constraint)), self._uses, rng)


def study_suite(
    seed: int = 0,
    *,
    new_topic: Sizes = Sizes(),  # noqa: B008 - frozen
    new_wording: Sizes = Sizes(),  # noqa: B008
    new_family: Sizes = Sizes(),  # noqa: B008
    new_kind: Sizes = Sizes(),  # noqa: B008
    new_kinds: Sequence[str] = (),
    kinds: Sequence[str] = (),
    wordings: int | None = None,
) -> Suite:
    """Make the held-out prompts of a study; the same arguments give the same prompts, byte for byte.

    Args:
        seed: The seed from which all draws derive.
        new_topic: Prompts in the wordings of training.
        new_wording: Prompts in wordings that training never uses.
        new_family: Prompts with kinds of held-out families.
        new_kind: Prompts with kinds of `new_kinds`, of any part.
        new_kinds: Ids of kinds; none may be in `kinds`.
        kinds: Ids of the train kinds; empty: those of `core`.
        wordings: Number of wordings of a kind in training.

    Raises:
        UsageError: A size is negative, all are zero, or `new_kinds` is needed and empty or shares an id with `kinds`.
        UnknownName: There is no such kind.
        AdhereError: No prompt can be made for a query.
    """
    sizes = {"new-topic": new_topic, "new-wording": new_wording, "new-family": new_family}
    if new_kind.single or new_kind.multiple:
        sizes["new-kind"] = new_kind  # a suite without it keeps its settings, and so its hash
        if not new_kinds or {*new_kinds} & {*kinds}:
            raise UsageError(f"study suite: new_kinds {list(new_kinds)} must be kinds that are none of `kinds`")
    counts = {
        f"{name}/{number}": getattr(size, number) for name, size in sizes.items() for number in ("single", "multiple")
    }
    if min(counts.values()) < 0 or not any(counts.values()):
        raise UsageError(f"study suite: sizes {counts} must be at least 0 and one of them at least 1")
    manner = {
        "new-topic": StudyManner("held-out", new=False, most=wordings),
        "new-wording": StudyManner("held-out", new=True),
        "new-family": StudyManner("held-out", new=True),
        "new-kind": StudyManner("held-out", new=True),
    }
    dealer = Dealer(queries("held-out"), seed=seed, manner=manner["new-topic"], source="study")
    prompts: list[Prompt] = []
    for slice_name, count in counts.items():
        name, _, number = slice_name.partition("/")
        dealer.manner = manner[name]
        if name == "new-kind":
            chosen = tuple(kind for part in PARTS for kind in _of_part(part, new_kinds))
        else:
            chosen = kinds_of("held-out") if name == "new-family" else kinds_of("train", kinds)
        prompts += dealer.deal(slice_name, count, chosen, counts=SINGLE if number == "single" else MULTIPLE)
    settings: dict[str, int | str] = {"seed": seed, **counts}
    if new_kind.single or new_kind.multiple:
        settings["new kinds"] = ", ".join(sorted(new_kinds))
    return Suite(
        name="study",
        version=VERSION,
        prompts=tuple(prompts),
        slices=tuple(name for name, count in counts.items() if count),
        cut_answers="fail",
        settings=settings | ({"kinds": ", ".join(sorted(kinds))} if kinds else {}),
    )


def _of_part(part: Part, kinds: Sequence[str]) -> tuple[type[Constraint], ...]:
    """Return those of `kinds` that belong to one part.

    None of them gives an empty result, which `kinds_of` alone would take for all kinds.
    """
    own = [name for name in kinds if registry.get(name).part == part]
    return kinds_of(part, own) if own else ()


def study_prompts(
    seed: int,
    count: int,
    *,
    kinds: Sequence[str] = (),
    wordings: int | None = None,
    singles: int = 8,
    name: str = "train",
    among: Sequence[Query] | None = None,
) -> tuple[Prompt, ...]:
    """Make `count` training prompts; the same arguments give the same prompts, byte for byte.

    Args:
        seed: The seed from which all draws derive.
        count: Number of prompts.
        kinds: Ids of the train kinds to use; empty: those of `core`.
        wordings: Number of wordings of a kind; None: all that training may use.
        singles: Of every ten prompts, how many have one constraint; the others have two.
        name: The start of the prompts' ids; draws derive from it too.
        among: The queries to build on; None: all that were written for training.

    Raises:
        UsageError: `count` is below 1, `singles` is not 0 to 10, or a kind is held out.
        UnknownName: There is no such kind.
        AdhereError: No prompt can be made for a query.
    """
    if count < 1 or not 0 <= singles <= 10:
        raise UsageError(f"study_prompts: count={count} must be at least 1 and singles={singles} from 0 to 10")
    manner = StudyManner("train", new=False, most=wordings)
    pack = queries("train") if among is None else among
    dealer = Dealer(pack, seed=seed, manner=manner, source=f"study-{name}")
    return tuple(dealer.deal(name, count, kinds_of("train", kinds), counts=(1,) * singles + (2,) * (10 - singles)))


def dev_suite(
    seed: int = 0, *, sizes: Sizes, kinds: Sequence[str] = (), wordings: int | None = None, also: Sequence[Prompt] = ()
) -> Suite:
    """Make prompts to choose settings on.

    Their topics, phrases, keys, words and wordings occur neither in training nor in the held-out suite.

    Args:
        seed: The seed from which all draws derive.
        sizes: Number of prompts, by number of constraints.
        kinds: Ids of the train kinds; empty: those of `core`.
        wordings: Number of wordings of a kind in training; these prompts use the further ones.
        also: Training and held-out prompts, to compare the new ones with.

    Raises:
        UsageError: No prompt is asked for, or training uses all wordings.
        AdhereError: The new prompts share something with `also`.
    """
    if wordings is None or not (sizes.single or sizes.multiple):
        raise UsageError(
            "a dev slice needs at least one prompt, and wordings that training leaves to it: set "
            "[data] wordings, e.g. to 2"
        )
    dealer = Dealer(
        templated_queries("dev"), seed=seed, manner=StudyManner("dev", new=False, most=wordings), source="study-dev"
    )
    chosen = kinds_of("train", kinds)
    prompts: list[Prompt] = []
    for name, count in (("dev/single", sizes.single), ("dev/multiple", sizes.multiple)):
        prompts += dealer.deal(name, count, chosen, counts=SINGLE if name.endswith("single") else MULTIPLE)
    audit(also, prompts).require_clean()
    slices = tuple(name for name in ("dev/single", "dev/multiple") if any(p.tags["slice"] == name for p in prompts))
    return Suite(name="study-dev", version=VERSION, prompts=tuple(prompts), slices=slices, cut_answers="fail")


class Audit(Record, frozen=True):
    """Holds what training and held-out prompts share; all fields are empty if the split holds."""

    queries: tuple[str, ...]
    topics: tuple[str, ...]
    contents: tuple[str, ...]
    wordings: tuple[str, ...]
    families: tuple[str, ...]

    def require_clean(self) -> None:
        """Refuse a broken split.

        Raises:
            AdhereError: The two sides share something; the message names it.
        """
        shared = {name: values for name in self.__struct_fields__ if (values := getattr(self, name))}
        if shared:
            text = "; ".join(f"{name}: {', '.join(values[:5])}" for name, values in shared.items())
            raise AdhereError(f"Two parts that must be apart share what they must not. {text}")


def audit(training: Sequence[Prompt], held_out: Sequence[Prompt]) -> Audit:
    """Return what training prompts share with held-out ones.

    Compared are queries, topics, requested content (phrases, keys, words), and wordings and families of constraints.
    Wordings may be shared with the slices of new topics, families with all but those of new families.
    """

    def shared(of: str) -> tuple[str, ...]:
        return tuple(sorted({p.tags[of] for p in training} & {p.tags[of] for p in held_out}))

    contents = [{text.casefold() for p in side for text in _contents(p)} for side in (training, held_out)]
    new = [p for p in held_out if not p.tags["slice"].startswith("new-topic")]
    training_wordings = {wording for p in training for wording in _wordings(p)}
    unseen = [p for p in held_out if p.tags["slice"].startswith("new-family")]
    families = [{ref.id.partition(":")[0] for p in side for ref in p.constraints} for side in (training, unseen)]
    return Audit(
        queries=shared("query"),
        topics=shared("topic"),
        contents=tuple(sorted(contents[0] & contents[1])),
        wordings=tuple(sorted(training_wordings & {wording for p in new for wording in _wordings(p)})),
        families=tuple(sorted(families[0] & families[1])),
    )


def _contents(prompt: Prompt) -> list[str]:
    return [text for ref in prompt.constraints for text in contents(as_own(ref))]


def _wordings(prompt: Prompt) -> list[str]:
    """Return the wording (format string) in which a prompt's text says each of its constraints."""
    wordings = []
    for ref in prompt.constraints:
        constraint = as_own(ref)
        kind_wordings = wordings_of(type(constraint))
        matches = [
            wording
            for wording in (*kind_wordings.training, *kind_wordings.held_out, *FREE.get(ref.id, ()))
            if wording.format(**constraint.wording()) in prompt.text
        ]
        if not matches:
            raise AdhereError(f"{prompt.id}: {ref.id} is said in none of its wordings; the audit cannot vouch for it")
        wordings.append(max(matches, key=len))
    return wordings
