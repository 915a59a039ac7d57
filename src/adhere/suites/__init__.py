"""Find and load suites by name: `load("core")`, `names()`, `describe()`.

base.py       what a Suite is
generated/    our own, made from a seed
published/    those of the field, read from files in their own format
fetch.py      downloads a published file from its authors, or says where a person gets it
"""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from adhere.errors import MissingExtra, UnknownName, UsageError, nearest
from adhere.plugins import Registry
from adhere.schema import Record, cache_root
from adhere.suites.base import Suite
from adhere.suites.generated.names import OWN, read_argument
from adhere.suites.published.catalog import CATALOG, Origin
from adhere.suites.published.loader import loader

if TYPE_CHECKING:
    from adhere.suites.generated.family import Family

__all__ = [
    "Description", "Origin", "Source", "Suite", "describe", "fetched_path", "load", "names", "registry", "source_of",
]  # fmt: skip


class Source(NamedTuple):
    """Says where a suite comes from, and what is known of it without its file.

    Attributes:
        load: Makes the suite from the text behind the colon of its name (None: no colon) and the seed (None: not
            given).
        what: One sentence for `adhere list suites`.
        usage: The names by which it is loaded.
        needs_path: Whether the name must give a file that holds the prompts.
        paper: Where the suite is from, e.g. `arXiv 2311.07911`; empty: no paper, ours alone.
        answers: The question about a model that the suite answers, in a few words.
        generated: Whether a seed gives its prompts.
        size: How many prompts the published file holds; None: known only once the suite is loaded.
        max_new_tokens: The token limit of a suite that needs a file; None: the loaded suite says it.
        origin: Where the file is published, and under which licence; None: generated, or not known.
        needs_judge: Whether some constraints are undecided until `adhere judge` has asked a model.
    """

    load: Callable[[str | None, int | None], Suite]
    what: str
    usage: str
    needs_path: bool = False
    paper: str = ""
    answers: str = ""
    generated: bool = False
    size: int | None = None
    max_new_tokens: int | None = None
    origin: Origin | None = None
    needs_judge: bool = False


class Description(Record, frozen=True):
    """Describes one suite, as a row of `adhere list suites`.

    `size` counts the prompts of the default settings or of the published file; None if there is no single file.
    `sha256` and `slices` are filled for generated suites only, as others need their file. `tokens` is the usual token
    limit of an answer. `where` says where the prompts come from: a seed, a hub or a repository. `judge` says that some
    constraints are undecided until `adhere judge` has asked a model.
    """

    name: str
    size: int | None
    generated: bool
    paper: str
    answers: str
    tokens: int | None
    usage: str
    what: str
    slices: tuple[str, ...]
    sha256: str
    where: str = ""
    licence: str = ""
    judge: bool = False

    @property
    def made(self) -> str:
        """`generated`, `published` (and whether it needs `adhere judge`) or `yours`."""
        if self.generated or self.name == "my":
            return "generated" if self.generated else "yours"
        return "published; needs adhere judge" if self.judge else "published"


registry: Registry[Source] = Registry("suite", group="adhere.suites", listing="adhere list suites")


def names() -> list[str]:
    """Return the names that `load` takes, without what may follow a colon."""
    return sorted({*registry, *_families()})


def source_of(name: str) -> Source:
    """Return the Source of a suite, registered or made of a family; `name` has no colon.

    Raises:
        UnknownName: There is no such suite.
        AdhereError: The plug-in that offers the suite is broken.
    """
    if name not in OWN and name in registry:
        return registry.get(name)
    families = _families()
    if name not in families:
        raise UnknownName(f"Unknown suite {name!r}.{_suggest(name) or nearest(name, names())} (adhere list suites)")
    family = families.get(name)
    levels = "; ".join(f"{level.name}: {level.meaning}" for level in family.levels)
    return Source(
        family.load,
        f"Levels: {levels}.",
        f"{name}, {name}:x25 (groups), {name}:x25+seed7, {name}:{'+'.join(family.level_names[:1])}",
        paper=family.paper,
        answers=family.answers,
        generated=True,
    )


def _suggest(name: str) -> str:
    """Return a hint that names the suites that take a file, if `name` is a path; else an empty text."""
    if not (name.endswith((".jsonl", ".json", ".csv", ".gz", ".zst", ".parquet")) or Path(name).exists()):
        return ""
    files = [suite_name for suite_name in names() if source_of(suite_name).needs_path]
    return (
        f" A file goes behind the name of its suite, such as ifeval:{name}; suites that take one: {', '.join(files)}."
    )


def _families() -> Registry[Family]:
    from adhere.suites.generated.family import registry as families  # each family is imported when its name is used

    return families


def load(name: str, *, limit: int | None = None, seed: int | None = None) -> Suite:
    """Load a suite by its name.

    Args:
        name: `core`, `core:in-family`, `core:360+240`, `ifeval:PATH`, …: see `adhere list suites`. A published suite
            without a path (`ifeval`) is read from the file that `adhere fetch suite:ifeval` got.
        limit: The most prompts to take, an even share of each slice; None takes all.
        seed: For generated suites; None is the suite's own default. Published suites draw nothing and ignore it, so
            that one seed can be given to several suites.

    Raises:
        UnknownName: There is no such suite, or a file has an unknown constraint.
        UsageError: The suite cannot use the limit or the text behind the colon, or a file cannot be used; the message
            names file, line and key.
    """
    prefix, colon, argument = name.partition(":")
    source = source_of(prefix)
    if not colon and (path := fetched_path(prefix, source.origin)) is not None:
        return msgspec.structs.replace(source.load(str(path), seed), name=prefix).cut(limit)
    try:
        return source.load(argument if colon else None, seed).cut(limit)
    except UsageError as error:
        if source.needs_path and "no such file" in str(error) and "adhere fetch" not in str(error):
            raise UsageError(f"{error}. The suite's own comes by: adhere fetch suite:{prefix}") from None
        raise


def fetched_path(name: str, origin: Origin | None) -> Path | None:
    """Return the file, or the folder of several, that `adhere fetch suite:NAME` got; None if it is not complete."""
    if origin is None or not origin.hub:
        return None
    folder = cache_root() / "suites" / name
    files = [folder / Path(file.path).name for file in origin.hub]
    if not all(file.is_file() for file in [*files, folder / "origin.json"]):
        return None
    return files[0] if len(files) == 1 else folder


def describe(*, hashes: bool = True) -> list[Description]:
    """Describe every suite with its default settings, generated ones first.

    Suites that need a file are described without it. A hash needs all prompts of a suite; without `hashes`, families of
    generated prompts make only one group of prompts, to tell their size.
    """
    rows = (_describe(name, source_of(name), hashes=hashes) for name in names())
    return sorted(rows, key=lambda row: (not row.generated, row.name))


def _describe(name: str, source: Source, *, hashes: bool) -> Description:
    size, tokens, sha256 = source.size, source.max_new_tokens, ""
    slices: tuple[str, ...] = ()
    if not hashes and name in (families := _families()):
        family = families.get(name)
        with contextlib.suppress(MissingExtra):
            size, tokens, slices = family.size, family.max_new_tokens, tuple(family.level_names[: family.usual_levels])
    elif not source.needs_path:
        # Without Pillow the suite `visual` cannot be made, but it can be listed.
        with contextlib.suppress(MissingExtra):
            suite = load(name)
            size, tokens, slices, sha256 = len(suite.prompts), suite.sampling.max_new_tokens, suite.slices, suite.sha256
    origin = source.origin
    where = "generated" if source.generated else "your file" if origin is None else origin.short
    return Description(
        name, size, source.generated, source.paper, source.answers, tokens=tokens, usage=source.usage, what=source.what,
        slices=slices, sha256=sha256, where=where, licence="" if origin is None else origin.licence,
        judge=source.needs_judge,
    )  # fmt: skip


def _later(module: str, function: str) -> Callable[[str | None, int | None], Suite]:
    """Return a loader that imports its module only when it is called.

    Importing a suite's module loads all kinds of constraint.
    """

    def load_it(argument: str | None, seed: int | None) -> Suite:
        suite: Suite = getattr(importlib.import_module(f"adhere.suites.{module}"), function)(argument, seed)
        return suite

    return load_it


_SIZES = re.compile(r"(\d{1,6})\+(\d{1,6})")


def _core(argument: str | None, seed: int | None) -> Suite:
    from adhere.suites.generated.core.suite import SLICES, core  # the registry of constraints loads with it

    sizes = _SIZES.fullmatch(argument or "")
    if sizes:
        return core(seed or 0, int(sizes[1]), int(sizes[2]))
    counts = "prompts, three in five of them in-family"
    options = read_argument("core", argument, seed=seed, counts=counts, choices=SLICES)
    number = options.number
    whole = core(options.seed, *(() if number is None else (-(-number * 3 // 5), number * 2 // 5)))
    if not options.chosen:
        return whole
    slices = options.chosen
    prompts = tuple(prompt for prompt in whole.prompts if prompt.tags["slice"] in slices)
    return msgspec.structs.replace(whole, name=f"core:{'+'.join(slices)}", prompts=prompts, slices=slices)


_OWN = {
    "core": Source(
        _core,
        "Everyday questions with drawn constraints; topics and wordings are held out, and one slice has families "
        "that are never trained on.",
        "core, core:x40 (prompts), core:x40+seed7, core:in-family, core:new-family, core:IN+NEW",
        answers="Does it follow drawn constraints on everyday requests, of kinds that training saw and of others?",
        generated=True,
    ),
    "profile": Source(
        _later("generated.profile", "load_profile"),
        "A balanced slice of every generated family, reported by family.",
        "profile, profile:x10 (prompts of each family), profile:x10+seed7",
        answers="Where does it follow instructions, and where not?",
        generated=True,
    ),
    "breadth": Source(
        _later("generated.breadth", "load_breadth"),
        "Each kind of constraint alone, a slice a kind, made from the registry.",
        "breadth, breadth:x5 (prompts of each kind), breadth:markdown+style:prose+seed7 (families and kinds)",
        answers="Kind by kind: which rules does it keep, and which not?",
        generated=True,
    ),
    "diagnostic": Source(
        _later("generated.diagnostic.suite", "load_diagnostic"),
        "Twenty templates in five categories whose answers are checked exactly: strings, sums, data, formats, rules.",
        "diagnostic, diagnostic:x25 (items of each template), diagnostic:seed7, diagnostic:x25+seed7",
        paper="arXiv 2510.18892",
        answers="Does it give exactly the output that was asked for, and nothing else?",
        generated=True,
    ),
    "world": Source(
        _later("generated.world", "load_world"),
        "Episodes in worlds, by calls of tools or by text: a program says whether the goal is reached and "
        "every rule was kept.",
        "world (shop), world:shop:x50 (episodes), world:files:x50+text+seed7, world:repo:x50+rules16, "
        "world:shop:x50+steps20+tokens4000+seconds600, world:gymnasium:FrozenLake-v1",
        answers="Does it reach a goal in many steps, and keep the rules on the way?",
        generated=True,
    ),
    "my": Source(
        _later("own", "load_own"),
        "Your own prompts, with constraints of any kind.",
        "my:PATH (JSON lines with key, prompt, instruction_id_list and kwargs)",
        needs_path=True,
        answers="Does it follow the instructions that matter to you?",
        max_new_tokens=1024,
    ),
}
for _name, _source in _OWN.items():
    registry.add(_name, _source, owner=__name__)


def _register_published() -> None:
    """Register the field's suites with what `published/catalog.py` says of them without their files."""
    for listed_suite in CATALOG:
        registry.add(
            listed_suite.name,
            Source(
                loader(listed_suite),
                listed_suite.what,
                listed_suite.usage,
                needs_path=True,
                paper=listed_suite.paper,
                answers=listed_suite.answers,
                size=listed_suite.size,
                max_new_tokens=listed_suite.max_new_tokens,
                origin=listed_suite.origin,
                needs_judge=listed_suite.needs_judge,
            ),
            owner=__name__,
        )


_register_published()
