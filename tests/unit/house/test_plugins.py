"""Registries fail closed and name culprits; a plug-in is a real distribution on the path."""

from __future__ import annotations

import dataclasses
import importlib
import re
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from adhere.constraints import base
from adhere.constraints.base import FAMILIES, kind_problem
from adhere.constraints.resolve import resolve
from adhere.errors import AdhereError, MissingExtra, UnknownName, UsageError
from adhere.extras import need
from adhere.plugins import PluginWarning, Registry
from adhere.schema import ConstraintRef
from adhere.suites.generated.core.deal import kinds_of
from adhere.testing import ContractViolation, check_constraint

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "plugins.md"


def registry() -> Registry[int]:
    made: Registry[int] = Registry("thing", group="adhere.no_such_group", listing="adhere list things")
    made.add("length:words", 1, owner="ours")
    return made


def test_unknown_name_suggests() -> None:
    with pytest.raises(UnknownName) as caught:
        registry().get("lenght:words")
    assert str(caught.value) == "Unknown thing 'lenght:words'. Did you mean 'length:words'? (adhere list things)"


def test_clash_names_both() -> None:
    things = registry()
    with pytest.raises(AdhereError, match="one from ours, one from theirs"):
        things.add("length:words", 2, owner="theirs")
    things.add("length:words", 1, owner="again")  # the same thing twice is no clash


def test_broken_plugin_is_named(monkeypatch) -> None:
    point = EntryPoint("bad", "no_such_module_at_all:x", "adhere.no_such_group")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point])
    with pytest.raises(AdhereError, match="plug-in 'bad' of no_such_module_at_all"):
        registry().get("bad")


def test_missing_extra_has_the_command() -> None:
    with pytest.raises(MissingExtra, match=r"pip install 'adhere\[train\]'"):
        need("no_such_module_at_all", extra="train")


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder on the path for distributions, and a fresh registry of constraints that sees them."""
    monkeypatch.syspath_prepend(str(tmp_path))
    fresh = Registry(
        "constraint",
        group="adhere.constraints",
        listing="adhere list constraints",
        modules={family: f"adhere.constraints.{module}" for family, module in FAMILIES.items()},
        problem=kind_problem,
    )
    fresh._things.update({name: base.registry._things[name] for name in [*base.registry]})
    fresh._owners.update(base.registry._owners)
    monkeypatch.setattr(base, "registry", fresh)
    for importer in ("adhere.testing", "adhere.suites.generated.core.deal"):
        monkeypatch.setattr(f"{importer}.registry", fresh)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith(("adhere_pirate", "plugin_")):
            del sys.modules[name]


def distribution(site, name, code, *, module, points):
    """Install a distribution as pip would: a module, and metadata with its entry points."""
    (site / f"{module}.py").write_text(code, encoding="utf-8")
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    lines = "".join(f"{point} = {value}\n" for point, value in points.items())
    (info / "entry_points.txt").write_text(f"[adhere.constraints]\n{lines}", encoding="utf-8")
    importlib.invalidate_caches()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def install_the_guide(site, name="adhere-pirate", change=lambda code: code, module="adhere_pirate"):
    import tomllib

    project = tomllib.loads(blocks("toml")[0])["project"]
    points = {
        point: value.replace("adhere_pirate", module)
        for point, value in project["entry-points"]["adhere.constraints"].items()
    }
    distribution(site, name, change(blocks("python")[0]), module=module, points=points)


def test_the_guide_works_as_printed(site, capsys) -> None:
    install_the_guide(site)
    _, test, use, _ = blocks("python")
    names: dict[str, Any] = {}
    exec(compile(test, "the guide's test", "exec", dont_inherit=True), names)
    names["test_contract"]()
    exec(compile(use, "the guide's use", "exec", dont_inherit=True), {})
    assert capsys.readouterr().out == "fail - found 1 arr, needed at least 2\n"
    assert "pirate:says_arr" in base.registry
    assert "pirate:says_arr" in list(base.registry)


def test_a_lookup_of_another_name_imports_no_plugin(site) -> None:
    install_the_guide(site, change=lambda code: "raise RuntimeError('sunk')\n" + code)
    assert base.make("case:lower").check("cats").outcome == "pass"
    with pytest.raises(UnknownName, match=r"Unknown constraint 'pirate:says_ar'. Did you mean 'pirate:says_arr'\?"):
        base.registry.get("pirate:says_ar")
    assert "adhere_pirate" not in sys.modules


def test_a_plugin_that_raises_names_itself_and_hides_nothing(site) -> None:
    install_the_guide(site, change=lambda code: "raise RuntimeError('sunk')\n" + code)
    message = r"plug-in 'pirate:says_arr' of adhere-pirate 1.0 cannot be loaded \(adhere_pirate:SaysArr\): .*sunk"
    with pytest.raises(AdhereError, match=message):
        base.make("pirate:says_arr", times=2)
    with pytest.warns(PluginWarning, match=message):
        names = list(base.registry)
    assert "case:lower" in names
    assert "pirate:says_arr" not in names


def test_two_plugins_of_one_name_are_both_named(site) -> None:
    install_the_guide(site)
    install_the_guide(site, name="other-pirates", module="plugin_other")
    message = "Two constraints are called 'pirate:says_arr': (adhere-pirate 1.0 and other|other-pirates 1.0 and adhere)"
    with pytest.raises(AdhereError, match=message):
        base.registry.get("pirate:says_arr")
    with pytest.warns(PluginWarning, match=message):
        assert "pirate:says_arr" not in list(base.registry)


def test_a_plugin_cannot_take_a_name_of_the_package(site) -> None:
    code = blocks("python")[0].replace("pirate:says_arr", "case:lower")
    distribution(site, "adhere-thief", code, module="plugin_thief", points={"case:lower": "plugin_thief:SaysArr"})
    assert base.registry.get("case:lower").__module__ == "adhere.constraints.kinds.trained.case"
    message = (
        "Two constraints are called 'case:lower': one from adhere.constraints.kinds.trained.case, "
        "one from adhere-thief 1.0"
    )
    with pytest.warns(PluginWarning, match=message):
        list(base.registry)
    assert base.registry.get("case:lower").__module__ == "adhere.constraints.kinds.trained.case"


def test_a_plugin_cannot_take_a_published_name(site) -> None:
    code = blocks("python")[0].replace("pirate:says_arr", "keywords:existence")
    points = {"keywords:existence": "plugin_thief:SaysArr"}
    distribution(site, "adhere-thief", code, module="plugin_thief", points=points)
    message = r"of adhere-thief 1.0 .*SaysArr.id 'keywords:existence' is taken: it is a published kind of ifeval"
    with pytest.raises(AdhereError, match=message):
        base.registry.get("keywords:existence")
    assert resolve(ConstraintRef("keywords:existence", {"keywords": ["a"]})).check("a").outcome == "pass"


def test_the_package_has_its_names_before_a_stranger(site) -> None:
    """A stranger's module may register a name of the package, too; the package's family is imported first."""
    things: Registry[str] = Registry("thing", group="none", listing="", modules={"ours": "plugin_family"})
    (site / "plugin_family.py").write_text(
        "import plugin_hub\nplugin_hub.things.add('ours:one', 'ours', owner='adhere.x')"
    )
    importlib.invalidate_caches()
    sys.modules["plugin_hub"] = SimpleNamespace(things=things)  # type: ignore[assignment]
    with pytest.raises(AdhereError, match=r"Two things are called 'ours:one': one from adhere\.x, one from stranger"):
        things.add("ours:one", "theirs", owner="stranger")
    assert things.get("ours:one") == "ours"


BROKEN = {
    "(Rule)": ("(object)", r"must be a subclass of adhere.constraints.Constraint, is <class '.*SaysArr'>"),
    'id = "pirate:says_arr"': (
        'id = "pirate:arr"',
        r"SaysArr.id must be the name of its entry point, 'family:kind'; it is",
    ),
    "def judge": ("def jugde", "SaysArr must define judge"),
    "@dataclasses.dataclass(frozen=True)\n": (
        "",
        r"SaysArr must be decorated with @dataclasses.dataclass\(frozen=True\)",
    ),
    "param(Whole(1, 100), drawn=(2, 3))": (
        "2",
        r"SaysArr.times must declare its domain: `times: … = param\(Whole\(1, 10\)\)`",
    ),
    "phrasings = (": ("wordings = (", "SaysArr must say its rule in words: give it a tuple of phrasings"),
}


@pytest.mark.parametrize("found", BROKEN)
def test_a_bad_registration_says_what_is_wrong(site, found) -> None:
    instead, message = BROKEN[found]
    assert found in blocks("python")[0]
    install_the_guide(site, change=lambda code: code.replace(found, instead))
    with pytest.raises(AdhereError, match=rf"plug-in 'pirate:says_arr' of adhere-pirate 1.0 \(.*\): {message}"):
        base.registry.get("pirate:says_arr")


class TestAKindOfOneFile:
    """`@adhere.kind` in somebody's own file: it fails at once, and judging asks for less than generating prompts."""

    def test_an_abstract_class_is_refused_where_it_is_registered(self, site):
        class Shouts(base.Constraint):
            id = "mine:shouts"
            phrasings = ("Shout.",)

        with pytest.raises(TypeError, match=r"Shouts must define check$"):
            base.kind(dataclasses.dataclass(frozen=True)(Shouts))
        assert "mine:shouts" not in base.registry

    def test_check_and_describe_are_enough_to_judge(self, site):
        class Shouts(base.Constraint):
            id = "mine:shouts"
            least: int = base.param(base.Whole(1, 9))

            def check(self, text):
                ok = text.count("!") >= self.least
                return base.Finding("pass" if ok else "fail", f"found {text.count('!')} marks")

            def describe(self, phrasing=0):
                return f"Shout {self.least} times."

        shouts = base.kind(dataclasses.dataclass(frozen=True)(Shouts))
        assert base.make("mine:shouts", least=2).check("Yes!!").outcome == "pass"
        assert base.generation_problem(shouts) == (
            f"{shouts.__qualname__} must have passing (a pair of parameters and text), "
            "failing (a pair of parameters and text), draw(), witness(), counter_witness()"
        )
        with pytest.raises(ContractViolation, match=r"must have .*draw\(\)"):
            check_constraint(shouts)
        with pytest.raises(
            UsageError, match=r"mine:shouts can judge answers, but no prompt can be generated with it: .*draw"
        ):
            kinds_of("train", ["mine:shouts"])

    def test_one_number_of_wordings(self, site):
        install_the_guide(site, change=lambda code: code.replace("        'No fewer", "        # 'No fewer"))
        from adhere_pirate import SaysArr

        assert base.registry.get("pirate:says_arr") is SaysArr
        assert "SaysArr.phrasings must be 4 or more" in base.generation_problem(SaysArr)
        with pytest.raises(ContractViolation, match="phrasings must be 4 or more"):
            check_constraint(SaysArr)


JUDGE = "return at_least(len(ARR"
LIES = [
    (
        'return "Arr! " * self.times',
        'return "Ahoy!"',
        "witnesses_hold: must pass, got fail .found 0 arrs, needed at least",
    ),
    (
        JUDGE,
        f"text.encode('utf-8')\n        {JUDGE}",
        r"never_raises_on_odd_texts: check raised UnicodeEncodeError: .*\\ud800",
    ),
    (
        JUDGE,
        f"[text.count(' ') for _ in range(200)]\n        {JUDGE}",
        "hostile_texts_take_no_time: 1 MB of blanks took .* CPU seconds, allowed 0.05",
    ),
    ("'Use the word \"arr\" {times} times or more.'", "'Say arr.'", "says_its_parameters: must say [23]"),
    (
        "drawn=(2, 3)",
        "drawn=lambda rng, words: __import__('random').randrange(2, 100)",
        "draws_the_same_for_a_seed: must draw the same twice",
    ),
]


@pytest.mark.parametrize(("found", "instead", "message"), LIES)
def test_the_contract_finds_what_a_class_does_wrong(site, found, instead, message) -> None:
    assert found in blocks("python")[0]
    install_the_guide(site, change=lambda code: code.replace(found, instead))
    from adhere_pirate import SaysArr

    with pytest.raises(ContractViolation, match=rf"(?s)^pirate:says_arr: {message}"):
        check_constraint(SaysArr, limit_s=0.05, names=["blanks"])


def test_the_contract_refuses_what_is_no_kind() -> None:
    with pytest.raises(ContractViolation, match=r"int: must be a subclass of adhere\.constraints\.Constraint"):
        check_constraint(int)  # type: ignore[arg-type]


def test_the_contract_registers_a_class_that_no_entry_point_names(site) -> None:
    names: dict[str, Any] = {"__name__": "plugin_loose"}
    exec(compile(blocks("python")[0], "plugin_loose", "exec", dont_inherit=True), names)
    assert "pirate:says_arr" not in base.registry
    check_constraint(names["SaysArr"], names=["lines"])
    assert base.registry.get("pirate:says_arr") is names["SaysArr"]


def test_the_package_of_the_guide_builds_with_its_test_beside_it(tmp_path: Path) -> None:
    """What `pip install .` asks setuptools for first, in a folder with the guide's files.

    A flat folder of two modules is refused.
    """
    import subprocess

    (tmp_path / "pyproject.toml").write_text(blocks("toml")[0], encoding="utf-8")
    code = blocks("python")
    (tmp_path / "adhere_pirate.py").write_text(code[0], encoding="utf-8")
    (tmp_path / "test_pirate.py").write_text(code[1], encoding="utf-8")
    program = "import setuptools.build_meta as b; print(b.prepare_metadata_for_build_wheel('made'))"
    (tmp_path / "made").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    points = (tmp_path / "made" / done.stdout.split()[-1] / "entry_points.txt").read_text()
    assert "pirate:says_arr = adhere_pirate:SaysArr" in points
    assert "pip install" in GUIDE.read_text(encoding="utf-8")
