"""NeedleBench V2 over a folder in the published format.

Where needles go, who is asked for, both rules, the mean of three tasks. The wordings and names here are invented; the
tokenizer is bytes, so that nothing is fetched.
"""

import json
import random
import re
import sys

import pytest
from tests.unit.suites.published.files import lines

from adhere.constraints.resolve import resolve
from adhere.errors import MissingExtra, SpecError, UsageError
from adhere.models.fake.scripted import ScriptedModel
from adhere.pipeline.evaluate import evaluate_sync
from adhere.schema import ConstraintRef
from adhere.suites import load
from adhere.suites.published.needlebench import texts

PROMPT = '''
raise SystemExit("code that is read must not run")
def load(language):
    def _generate_prompt(context, retrieval_question, last_person):
        if language == 'Chinese':
            if quesiton_position == 'End':
                prompt = f"""文<{context}>问{retrieval_question}GAP"""
            elif quesiton_position == 'Start':
                prompt = f"{retrieval_question}{context}"
            else:
                raise ValueError("position")
        elif language == 'English':
            if quesiton_position == 'End':
                prompt = (f"Text <{context}>" f" asks {retrieval_question}GAP")
            else:
                prompt = ("start", f"{context}")
        return prompt
    for row in rows:
        if language == 'Chinese':
            retrieval_question = (questions + "形'" + answers_format + "'。")
        elif language == 'English':
            retrieval_question = questions + " As '" + answers_format + "'"
def get_random_needles(language):
    if language == 'Chinese':
        retrieval_question = f"'{last_person}'最年长的亲人？"
    elif language == 'English':
        retrieval_question = f"Who is the eldest of '{last_person}'?"
'''
ATC = """
relationship_templates_en = ["{A} is {relationship} of {B}."]
relationship_templates_zh_CN = ["{A}是{B}的{relationship}。"]
relationship_terms_en = ["father", "grandmother"]
relationship_terms_zh_CN = ["父亲", "奶奶"]
relationship_generation_map_en = {"father": 1, "grandmother": 2}
relationship_generation_map_zh = {"父亲": 1, "奶奶": 2}
shuffled_story_with_prompt_en = "{shuffled_story} Eldest of {last_person}? \\\\boxed{{}}"
nth_ancestor_prompt_en = "{shuffled_story} Ancestor {n} of {person}?"
nth_descendant_prompt_en = "{shuffled_story} Descendant {n} of {person}?"
relationship_distance_prompt_en = "{shuffled_story} From {person_a} to {person_b}?"
"""


class Bytes:
    def encode(self, text):
        return list(text.encode())

    def decode(self, tokens):
        return bytes(tokens).decode(errors="replace")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(texts, "tokenizer", Bytes)
    rows = []
    for at in range(12):
        ask = f"What lies on isle {at}? Write 'On isle {at} lies ___.'"
        rows.append(
            {
                "language": "English",
                "arg1": f"isle {at}",
                "arg2": f"gem {at}!",
                "needle": f"On isle {at} lies gem {at}!",
                "retrieval_question": ask,
            }
        )
        ask = f"岛{at}有什么？请写'岛{at}有___。'"
        rows.append(
            {
                "language": "Chinese",
                "arg1": f"岛{at}",
                "arg2": f"玉{at}号",
                "needle": f"岛{at}有玉{at}号。",
                "retrieval_question": ask,
            }
        )
    lines(tmp_path / "needles.jsonl", rows)
    lines(tmp_path / "PaulGrahamEssays.jsonl", [{"text": f"{word} " * 90} for word in ("tea", "oak", "sky")])
    lines(tmp_path / "zh_finance.jsonl", [{"text": word * 200} for word in "金木水"])
    names = {"English": ",".join(f"N{at}" for at in range(600)), "Chinese": ",".join(f"名{at}" for at in range(9))}
    (tmp_path / "names.json").write_text(json.dumps(names), encoding="utf-8")
    code = tmp_path / "needlebench_v2"
    code.mkdir()
    for name in ("origin", "parallel", "multi"):
        text = PROMPT.replace("GAP", " of {last_person}" if name == "multi" else "")
        (code / f"{name}.py").write_text(text, encoding="utf-8")
    (code / "atc.py").write_text(ATC, encoding="utf-8")
    return tmp_path


def context_of(prompt):
    return re.search("<(.*)>", prompt.text, re.DOTALL)[1]


def test_one_needle_stands_at_its_depth(folder):
    suite = load(f"needlebench:{folder}@single-retrieval+1000")
    assert len(suite.prompts) == 2 * 11 * 10
    assert suite.slices == ("single-retrieval en", "single-retrieval zh")
    assert suite.settings["note"] == "220 prompts, 2 rows of the published table, a part of the suite"
    for prompt in suite.prompts:
        name, *_, depth, repeat = prompt.id.rsplit("-", 4)
        assert (prompt.tags["depth"], name) == (depth, "single-retrieval")
        language = prompt.tags["language"]
        keyword = prompt.constraints[0].params["text"]
        needles = {"en": f"\nOn isle {keyword[4:-1]} lies {keyword}\n", "zh": f"\n岛{keyword[1:-1]}有{keyword}。\n"}
        before, needle, after = context_of(prompt).encode().partition(needles[language].encode())
        assert needle, prompt.id
        room = 1000 - {"en": 500, "zh": 200}[language] - len(needle)
        assert len(before) == int(room * int(depth) / 100) or language == "zh"  # a replacement mark has three bytes
        assert abs(len(before + after) - room) <= {"en": 0, "zh": 6}[language]
        wanted = random.Random(int(repeat)).choice(range(12))
        assert keyword == {"en": f"gem {wanted}!", "zh": f"玉{wanted}号"}[language]


def test_eleven_needles_are_asked_for_together(folder):
    suite = load(f"needlebench:{folder}@multi-retrieval+en+2000")
    assert len(suite.prompts) == 25
    assert load(f"needlebench:{folder}@multi-retrieval+en+2000").sha256 == suite.sha256
    for prompt in suite.prompts:
        keywords = [ref.params["text"] for ref in prompt.constraints]
        assert len(set(keywords)) == 11
        assert [found[0] for found in re.finditer(r"gem \d+!", context_of(prompt))] == keywords
        numbers = [keyword[4:-1] for keyword in keywords]
        asked = "、".join(f"What lies on isle {number}?" for number in numbers)
        forms = "、".join(f"On isle {number} lies ___" for number in numbers)
        assert prompt.text.endswith(f"> asks {asked} As '{forms}'")
    orders = {tuple(ref.params["text"] for ref in prompt.constraints) for prompt in suite.prompts}
    assert len(orders) == 25


def parents(text):
    """Who is told to be whose elder, in both languages."""
    found = {b: a for a, b in re.findall(r"(N\d+) is \w+ of (N\d+)\.", text)}
    return found | {b: a for a, b in re.findall(r"(名\d+)是(名\d+)的..。", text)}


def test_the_eldest_is_who_the_chain_leads_to(folder):
    suite = load(f"needlebench:{folder}@multi-reasoning+1000")
    assert len(suite.prompts) == 2 * 4 * 11 * 10
    assert suite.slices[0] == "2-needle reasoning en"
    for prompt in suite.prompts:
        told = parents(prompt.text)
        assert len(told) == int(prompt.tags["slice"][0])
        person = last = re.search(r" of (N\d+)$|of (名\d+)$|of (\w+)$", prompt.text)[0].split()[-1]
        while person in told:
            person = told[person]
        assert person != last
        assert prompt.constraints == (ConstraintRef("needlebench:boxed", {"text": person}),)


def test_the_challenge_has_four_questions_at_nine_sizes(folder):
    suite = load(f"needlebench:{folder}@atc")
    assert len(suite.prompts) == 4 * 9 * 10
    assert suite.slices == tuple(f"{2**power} needles" for power in range(1, 10))
    for prompt in suite.prompts[:40]:  # of two needles
        told, answer = parents(prompt.text), prompt.constraints[0].params["text"]
        eldest = next(one for one in told.values() if one not in told)
        youngest = next(one for one in told if one not in told.values())
        distance = sum({"father": 1, "grandmother": 2}[one] for one in re.findall("father|grandmother", prompt.text))
        question = prompt.text.rpartition(". ")[2]
        assert (question, answer) in {
            (f"Eldest of {youngest}? \\boxed{{}}", eldest),
            (f"Ancestor {distance} of {youngest}?", eldest),
            (f"Descendant {distance} of {eldest}?", youngest),
            (f"From {eldest} to {youngest}?", str(distance)),
        }


def theirs_chain(context, needles, depth, diff=10):
    """A transcription of the insertion in `multi.py`."""
    points, total = [], len(context)
    for i in range(len(needles)):
        point = (
            int(total * (depth / 100)) if i == 0 else int(points[i - 1] + len(needles[i - 1]) + total * (diff / 100))
        )
        points.append(min(point, total + sum(len(one) for one in needles[:i])))
    for i, needle in enumerate(needles):
        context = context[: points[i]] + needle + context[points[i] :]
        for j in range(i + 1, len(points)):
            points[j] += len(needle)
    return context


def theirs_many(context, needles, depths):
    """A transcription of the insertion in `parallel.py`."""
    points, inserted = [int(len(context) * (depth / 100)) for depth in depths], 0
    for i, needle in enumerate(needles):
        at = min(points[i] + inserted, len(context))
        context = context[:at] + needle + context[at:]
        inserted += len(needle)
    return context


def test_needles_go_where_the_published_code_puts_them():
    rng = random.Random(3)
    for _ in range(300):
        hay = [0] * rng.randrange(60)
        needles = [[number] * rng.randrange(1, 9) for number in range(1, 7)]
        depth = rng.randrange(0, 101, 10)
        assert texts.with_chain(hay, needles, depth) == theirs_chain(hay, needles, depth)
        depths = sorted(rng.sample(range(101), 6))
        assert texts.with_many(hay, needles, depths) == theirs_many(hay, needles, depths)


@pytest.mark.parametrize(
    ("answer", "passes"),
    [
        (r"So it is \boxed{James Hill}.", True),
        (r"\boxed{Ann} and then \boxed{ James  Hill }", True),
        (r"\boxed{James Hill}, not \boxed{Ann}", False),
        (r"\boxed{{James Hill}}", True),
        (r"\boxed{\text{James Hill}}", True),
        (r'\boxed{"James~Hill"}', True),
        (r"\boxed{James Hill", False),
        (r"\boxed James Hill", False),
        (r"\fbox{James Hill}", False),
        ("James Hill", False),
        (r"\boxed{james hill}", False),
        (r"\boxed{James Hill (grandfather)}", False),
        ("", False),
    ],
)
def test_the_name_in_the_last_box_counts(answer, passes):
    found = resolve(ConstraintRef("needlebench:boxed", {"text": "James Hill"})).check(answer)
    assert (found.outcome == "pass") is passes


def test_the_overall_score_is_the_mean_of_three_tasks(folder):
    suite = load(f"needlebench:{folder}@en+2000", limit=36)  # six of each slice

    def answer(request):
        prompt = next(one for one in suite.prompts if one.text == request.messages[-1].content)
        keywords = [ref.params["text"] for ref in prompt.constraints]
        told = {"single-retrieval": keywords, "multi-retrieval": keywords[:5]}.get(prompt.tags["part"], ["Nobody"])
        return f"They are {' and '.join(told)}"

    summary = evaluate_sync(ScriptedModel(answer), suite, folder / "run").summary()
    found = {(one.name, one.scope): one for one in summary.measures}
    hits = sum(
        sum(
            any(
                other["text"] in "|".join(ref.params["text"] for ref in prompt.constraints[:5])
                for other in [ref.params]
            )
            for ref in prompt.constraints
        )
        for prompt in suite.prompts
        if prompt.tags["part"] == "multi-retrieval"
    )
    many = hits / 66
    assert 5 / 11 <= many < 1
    assert found["score", "single-retrieval"].value == 1
    assert found["score", "multi-retrieval"].value == pytest.approx(many)
    assert found["score", "multi-reasoning"].value == 0
    overall = found["score", "mean of tasks"]
    assert overall.value == pytest.approx((1 + many + 0) / 3)  # though four of six slices are of reasoning
    assert overall.n == 36
    assert found["depth", "2k at 50 %"].value == 1
    assert summary.slices["multi-retrieval en"].instruction_macro == pytest.approx(many)


def test_what_cannot_be_used_is_named(folder, tmp_path):
    with pytest.raises(UsageError, match="no part '5k'"):
        load(f"needlebench:{folder}@5k")
    with pytest.raises(UsageError, match="no part '3500'"):
        load(f"needlebench:{folder}@3500")
    with pytest.raises(UsageError, match="one size"):
        load(f"needlebench:{folder}@4k+8k")
    with pytest.raises(UsageError, match=r"million tokens.*FOLDER@1000k\+single-retrieval\+en"):
        load(f"needlebench:{folder}@1000k")
    with pytest.raises(UsageError, match=r"needlebench needs|needs its file"):
        load("needlebench")
    (folder / "names.json").write_text('{"English": "A,B"}', encoding="utf-8")
    with pytest.raises(SpecError, match="Chinese is missing"):
        load(f"needlebench:{folder}@multi-reasoning+1000")
    lines(folder / "needles.jsonl", [{"language": "English", "needle": "x", "retrieval_question": "y", "arg2": "z"}])
    with pytest.raises(SpecError, match="1 needles with language English, but 11"):
        load(f"needlebench:{folder}@multi-retrieval+en+1000")
    origin = folder / "needlebench_v2" / "origin.py"
    origin.write_text(origin.read_text(encoding="utf-8").replace("{context}", "{other}"), encoding="utf-8")
    with pytest.raises(SpecError, match=r"origin\.py: no one text prompt in _generate_prompt"):
        load(f"needlebench:{folder}@single-retrieval+en+1000")
    (folder / "needlebench_v2" / "atc.py").unlink()
    with pytest.raises(UsageError, match=r"no atc\.py"):
        load(f"needlebench:{folder}@atc")


def test_the_tokenizer_is_asked_for_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(MissingExtra, match=r"adhere\[needlebench\]"):
        texts.tokenizer()


def test_a_vocabulary_out_of_reach_is_a_sentence(monkeypatch):
    class Unreachable:
        @staticmethod
        def encoding_for_model(name):
            raise ConnectionError(f"no way to the vocabulary of {name}")

    monkeypatch.setattr(texts, "need", lambda module, *, extra: Unreachable)
    with pytest.raises(UsageError, match="TIKTOKEN_CACHE_DIR"):
        texts.tokenizer()
