"""Every family of generated prompts answers `adhere.testing.check_family`, which plug-ins are asked, too."""

import os
import subprocess
import sys

import pytest

from adhere.errors import UsageError
from adhere.schema import Turn, content_hash, encode
from adhere.suites import load
from adhere.suites.generated.family import Family, Level, registry, single
from adhere.suites.generated.names import OWN
from adhere.testing import ContractViolation, check_family, family_levels

NAMES = sorted(OWN)
ITEMS = {"code": 24, "long": 24}  # each needs a sandbox, or writes long texts
HASHES = """
from adhere.schema import content_hash
from adhere.suites.generated.family import registry
from adhere.suites.generated.names import OWN
from adhere.testing import family_levels
for name in sorted(OWN):
    family = registry.get(name)
    print(name, content_hash([one.prompt for one in family.stream(5, 2, family_levels(family))]))
"""


@pytest.mark.parametrize("name", NAMES)
def test_contract(name):
    check_family(registry.get(name), items=ITEMS.get(name, 60))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_contract_with_a_thousand_items(name):
    check_family(registry.get(name), items=1000)


def test_items_are_the_same_in_every_process():
    def printed(hash_seed):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", HASHES]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    first = printed("1")
    assert len(first.splitlines()) == len(NAMES)
    assert first == printed("2")


@pytest.mark.parametrize("name", NAMES)
def test_more_groups_begin_with_fewer(name):
    family = registry.get(name)
    few = [one.prompt for one in family.stream(3, 1, family_levels(family))]
    more = [one.prompt for one in family.stream(3, 2, family_levels(family))]
    assert encode(more[: len(few)]) == encode(few)
    assert len(more) == 2 * len(few)


@pytest.mark.parametrize("name", NAMES)
def test_names(name):
    family = registry.get(name)
    suite = load(f"{name}:x2+seed7")
    assert suite.name == f"{name}:x2+seed7"
    assert suite == load(f"{name}:seed7+x2") == load(f"{name}:x2", seed=7)
    assert suite.slices == tuple(family_levels(family))
    assert suite.settings["seed"] == 7
    one = load(f"{name}:{family.level_names[0]}+x2+seed7")
    assert one.slices == family.level_names[:1]
    assert [p for p in suite.prompts if p.tags["slice"] == one.slices[0]] == list(one.prompts)
    assert content_hash(list(suite.prompts)) != content_hash(list(load(f"{name}:x2").prompts))
    for wrong in ("", "x", "x0", "7", "x2+x3", "no such level"):
        with pytest.raises(UsageError):
            load(f"{name}:{wrong}")


def made(draw, **changes):
    given = {
        "name": "mine", "answers": "Does it?", "paper": "none", "levels": (Level("one", "the only one"),), "draw": draw,
    }  # fmt: skip
    return Family(**{**given, **changes})


def say(word):
    from adhere.constraints import make

    return make("keywords:include", words=(word,))


class TestTheContractCanFail:
    def test_a_solver_that_fails(self):
        family = made(lambda rng, level: [single(f"Say no{rng.random()}.", (say("cat"),), "dog")])
        with pytest.raises(ContractViolation, match="must pass strictly"):
            check_family(family, items=6)

    def test_a_null_answer_that_passes(self):
        family = made(lambda rng, level: [single(f"Say cat {rng.random()}.", (say("cat"),), "cat")])
        with pytest.raises(ContractViolation, match="null answer 'echo'"):
            check_family(family, items=6)

    def test_seeds_that_ask_the_same(self):
        words = ["ox", "ant"]
        family = made(
            lambda rng, level: [single(f"Name animal {rng.randrange(2)}.", (say(words[0]),), "ox")],
        )
        with pytest.raises(ContractViolation, match="ask the same"):
            check_family(family, items=3)

    def test_nothing_to_measure(self):
        family = made(lambda rng, level: [single(f"Hello {rng.random()}", (), "x")])
        with pytest.raises(ContractViolation, match="nothing is measured"):
            check_family(family, items=3)

    def test_levels_without_a_meaning(self):
        family = made(lambda rng, level: [single(f"{rng.random()}", (say("ox"),), "ox")], levels=(Level("one", ""),))
        with pytest.raises(ContractViolation, match="what each of its levels means"):
            check_family(family, items=3)


def test_a_prompt_never_holds_its_solver_answer_fields():
    assert set(Turn.__struct_fields__) == {"text", "constraints", "media"}


STREAMED = """
import resource
from adhere.suites.generated.family import registry
count = sum(len(one.prompt.text) > 500_000 for one in registry.get("long").stream(0, 91, ["128k"]))
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.slow
def test_a_thousand_long_items_stream_in_little_memory():
    printed = subprocess.run([sys.executable, "-c", STREAMED], capture_output=True, text=True, check=True).stdout
    count, megabytes = map(int, printed.split())
    assert count == 1001
    assert megabytes < 500
