"""What `import adhere` offers, and that it costs nothing until it is used."""

import subprocess
import sys

import adhere


def test_the_exported_names_are_these():
    assert adhere.__all__ == [
        "AdhereError", "Constraint", "ConstraintRef", "Prompt", "Response", "Suite", "Turn", "Verdict", "callback",
        "check", "check_many", "check_rows", "compare", "constraint", "evaluate", "judge", "judge_many", "judge_reward", "kind",
        "load_suite", "param", "responsive",
    ]  # fmt: skip
    for name in adhere.__all__:
        thing = getattr(adhere, name)
        assert thing.__doc__, name
        assert getattr(adhere, name) is thing
    assert set(adhere.__all__) <= set(dir(adhere))
    assert adhere.load_suite.__module__ == "adhere.suites"


def test_the_fake_endpoint_is_public_and_costs_nothing_until_it_is_used():
    code = (
        "import sys, adhere.testing; print('aiohttp' in sys.modules, adhere.testing.FakeEndpoint.__name__, "
        "adhere.testing.FakeModel.__name__, 'aiohttp' in sys.modules, hasattr(adhere.testing, 'Fake'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "FakeEndpoint", "FakeModel", "True", "False"]


def test_a_name_that_is_none_is_an_attribute_error():
    assert not hasattr(adhere, "no_such_name")


def test_importing_the_package_imports_none_of_it():
    code = "import sys, adhere; print([name for name in sys.modules if name.startswith('adhere.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_judging_imports_no_engine():
    code = (
        "import sys, adhere; adhere.check('Some text.', [adhere.constraint('punctuation:no_comma')]);"
        "print(sorted({'torch', 'numpy', 'scipy', 'nltk', 'langdetect', 'transformers', 'click', "
        "'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
