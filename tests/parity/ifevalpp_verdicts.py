"""Writes what IFEval++'s own code says, for `test_ifevalpp.py`; run by an interpreter that has its dependencies.

    git clone https://github.com/jianshuod/IFEval-pp
    PYTHONPATH=IFEval-pp python tests/parity/ifevalpp_verdicts.py DATA > verdicts.jsonl

DATA is the folder with `ifeval/input_data.jsonl` and `ifeval/responses`. A line is a case: id, parameters, text and
verdict (null where its code raised, as without NLTK's data). The second half are IFEval's answers with parameters and
texts that bring out where IFEval++ differs.
"""

import json
import random
import sys
from pathlib import Path

import langdetect
from src.instructions_registry import INSTRUCTION_DICT  # type: ignore[import-not-found]

langdetect.DetectorFactory.seed = 0
RELATIONS = ("at most", "at least", "around", "less than")
WORDS = ("the", "art", "C++", "e.g.", "(a)", "is", "don't", "3", "Berlin", "İ", "ss")
MARKS = (
    "<<",
    ">>",
    "<",
    ">",
    "\n",
    " ",
    "a",
    "******",
    "***",
    "*",
    "Section 1",
    "SECTION",
    "PARAGRAPH 2",
    "##",
    ".",
    "!",
)


def read(path):
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def answers(folder):
    """(id, parameters, text) of the published prompts with the stored answers."""
    prompts = {row["key"]: row for row in read(folder / "input_data.jsonl")}
    for path in sorted((folder / "responses").glob("*.jsonl")):
        for row in read(path):
            prompt = prompts.get(row["key"])
            if prompt is not None:
                for name, given in zip(prompt["instruction_id_list"], prompt["kwargs"], strict=True):
                    yield name, {key: value for key, value in given.items() if value is not None}, row["response"]


def made(texts, rng):
    """Cases of the kinds that differ, with drawn parameters, on answers and on heaps of marks."""
    for text in texts:
        heap = "".join(rng.choices(MARKS, k=rng.randint(3, 25)))
        count = len(text.split())
        word, relation = rng.choice(WORDS), rng.choice(RELATIONS)
        start = " ".join(text.split()[: rng.randint(1, 8)])
        yield "length_constraints:number_words", {"num_words": count + rng.randint(-30, 30), "relation": relation}, text
        frequency = max(0, text.lower().count(word.lower()) + rng.randint(-6, 6))
        yield "keywords:frequency", {"keyword": word, "frequency": frequency, "relation": relation}, text
        yield "keywords:existence", {"keywords": rng.sample(WORDS, 2)}, text
        letter = rng.choice(["e", "E", "#", "!", "ab", "ß", "İ"])
        frequency = max(0, text.lower().count(letter.lower()) + rng.randint(-6, 6))
        given = {"letter": letter, "let_frequency": frequency, "let_relation": relation}
        yield "keywords:letter_frequency", given, text
        mark = {"section_spliter": rng.choice(["Section", "SECTION", "PARAGRAPH", "##", "*", " Day "])}
        yield (
            "detectable_format:multiple_sections",
            {**mark, "num_sections": rng.randint(1, 5)},
            rng.choice([text, heap]),
        )
        yield "detectable_format:title", {}, rng.choice([heap, f"<<{heap}>>", f"{text}<<{heap}"])
        yield (
            "combination:two_responses",
            {},
            rng.choice([heap, f"{text}\n******\n{heap}", f"{text}*{'*' * 5}{text[:9]}"]),
        )
        yield "combination:repeat_prompt", {"prompt_to_repeat": rng.choice([start, f"“{start}”!", f"{start}."])}, text
        yield "language:response_language", {"language": rng.choice(["en", "de", "hi"])}, rng.choice([text, "1 2 3 !"])
        pieces = text.split("\n\n")
        first = {"first_word": rng.choice([(text.split() or ["x"])[0], (text.split() or ["x"])[0].lower()])}
        given = {"num_paragraphs": len(pieces), "nth_paragraph": 1, **first}
        yield "length_constraints:nth_paragraph_first_word", given, text


def verdict(name, given, text):
    try:
        return bool(text.strip() and INSTRUCTION_DICT[name](name).check_following(text, **given))
    except LookupError:  # NLTK's data are not here
        return None


def main() -> None:
    cases = list(answers(Path(sys.argv[1]) / "ifeval"))
    rng = random.Random(7)
    texts = rng.sample([text for _, _, text in cases if text.strip()], 400)
    for case in (*cases, *made(texts, rng)):
        sys.stdout.write(json.dumps([*case, verdict(*case)]) + "\n")


if __name__ == "__main__":
    main()
