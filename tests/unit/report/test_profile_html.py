"""The page of `profile`: families from best to worst, each with what failed."""

import re

from click.testing import CliRunner

from adhere.cli.report import command
from adhere.models.fake.scripted import ScriptedModel
from adhere.pipeline.evaluate import evaluate_sync
from adhere.report.profile.html import is_profile, profile_html
from adhere.suites import load
from adhere.suites.generated.family import registry
from adhere.suites.generated.names import OWN

# Right about what these families ask first, and wrong about everything else.
SOLVED = ("rewrite", "labels")
FAMILIES = [name for name in OWN if name not in {"calls", "drawing", "visual"}]


def model():
    answers = {}
    for name in SOLVED:
        for one in registry.get(name).stream(0, 3):
            answers[one.prompt.turns[0].text] = one.answers[0]
    return ScriptedModel(lambda request: answers.get(request.messages[-1].content, "<script>alert(1)</script>"))


def make(tmp_path):
    return evaluate_sync(model(), load("profile:x4"), tmp_path / "run")


def test_families_stand_from_best_to_worst_with_their_failures(tmp_path):
    run = make(tmp_path)
    assert is_profile(run)
    page = profile_html([run])
    table = page[page.index("<tbody>") : page.index("</tbody>")]
    order = re.findall(r'<th scope="row">([\w-]+)<small>', table)
    assert set(order[:2]) == set(SOLVED)
    assert sorted(order) == sorted(FAMILIES)
    assert "4 / 4, 51.0…100.0" in table
    assert page.count('<article class="card failure">') == 3 + 3 * (len(FAMILIES) - len(SOLVED))
    assert page.index("3 answers that failed") < page.index("<tbody>"), "what failed is seen first"
    assert "<script>" not in page


def test_adhere_report_draws_it(tmp_path):
    run = make(tmp_path)
    result = CliRunner().invoke(command, [str(run.directory), "--html", str(tmp_path / "page.html")])
    assert result.exit_code == 0, result.output
    assert "Where scripted/function follows, and where not" in (tmp_path / "page.html").read_text(encoding="utf-8")
