"""Keep the glossary of pages, tables and the command line.

Pages print the words that they use, and docs/reference/glossary.md prints all. `MEASURES` and `COULD_FIND` are headings
of numbers whose keys in JSON have older names.
"""

from __future__ import annotations

from collections.abc import Iterable

MEASURES = {
    "prompt_strict": "prompts passed (strict)",
    "prompt_loose": "prompts passed (loose)",
    "instruction_strict": "constraints passed (strict)",
    "instruction_loose": "constraints passed (loose)",
}
"""The four counts of every suite: key in JSON -> displayed name."""
COULD_FIND = "could find"
"""The heading of a column of differences that a design could find."""

GLOSSARY: dict[str, str] = {
    "answer": (
        "What a model says to one turn of a prompt. It is ok, truncated, empty, refused, "
        "an error (the call failed) or missing."
    ),
    "arm": (
        "One recipe inside a study. Arms start from the same model and the same data, and are compared with each other."
    ),
    "cell": (
        "One piece of work of a study, such as training one stage at one seed. A finished cell is never done again."
    ),
    "claim": "A number printed in a document about a model on a benchmark.",
    "constraint": (
        "One instruction that a program can check, with its numbers filled in, such as “at least 100 words”. "
        "IFEval and the keys of our JSON call it an instruction."
    ),
    "constraints passed": (
        "How many constraints their answers keep, each counted by itself (`instruction_strict` in JSON)."
    ),
    "content": (
        "The share of the request's topic words that the answer uses. Low means that the answer keeps the form "
        "and drops the subject."
    ),
    "control": "The arm that a treatment is compared with.",
    "coverage": (
        "The share of all answers asked for that passed or failed. The rest failed to arrive or could not be decided."
    ),
    "cut": "The answer hit the token limit. Whether it is then judged or fails is a setting of the suite.",
    "difference it could find": (
        "The smallest difference that this design would find in four of five studies, in tables `could find`. "
        "A smaller one may exist and stay unseen. `minimum_detectable` in JSON."
    ),
    "distinct-2": (
        "The share of an answer's pairs of neighbouring words that are different pairs. Low means repetitive."
    ),
    "draw": (
        "One of several answers to the same prompt, drawn with its own seed. "
        "With one draw there is one answer a prompt."
    ),
    "echo": "The share of answers that mostly repeat the prompt.",
    "family": (
        "Kinds of constraint that belong together: the part of the id before the colon, as `length` in `length:words`."
    ),
    "floor": "What the best of thirty answerers without a model passes of the same prompts.",
    "form alone": (
        "The share of answers with hardly a word that the prompt does not have: the phrase that was asked for and "
        "nothing else. Right where a prompt asks for one word."
    ),
    "guard": (
        "A number beside the pass rate that shows what a gain was bought with: length, repetition, content, echo. "
        "A violated guard is printed with the answer."
    ),
    "held-out": "Never in training data: kinds, queries and wordings that only measuring uses.",
    "in-family": "The slice of prompts whose kinds of constraint training data may use.",
    "interval": (
        "The 95 % confidence interval: a range that holds the true value in 95 of 100 repetitions. "
        "Answers that share a prompt count as one cluster."
    ),
    "judge": (
        "The programs that decide whether a constraint is kept. A judge model is a language model that decides "
        "what no program can, apart from the programs."
    ),
    "kept rule": (
        "A sentence that an agent is told, in a session: kept where it applied and the log shows it kept, broken where "
        "the log shows one breach, untriggered where it did not apply, undecided where the log does not show it. "
        "Rates are of kept among kept and broken."
    ),
    "kind": "A sort of constraint, such as `length:words`. Its numbers are filled in for each prompt.",
    "loose": (
        "Judged up to eight times: as it is, and without its first line, its last line and its "
        "asterisks. One pass is enough."
    ),
    "margin": (
        "How much worse a guard may become before it counts as violated. It is fixed before anything is measured."
    ),
    "new-family": "The slice of prompts whose kinds of constraint are kept out of training data.",
    "new-topic": "The slice of prompts about topics that training never saw, with kinds and wordings that it did see.",
    "new-wording": "The slice of prompts whose constraints are said in words that training never saw.",
    "of all": "Out of every answer that was judged: finished, cut, empty and refused ones.",
    "of completed": "Out of the answers that the model finished.",
    "pass rate": "The share of prompts passed; strict, unless it says otherwise.",
    "pool": "Prompts with judged answers, from which every stage of every arm takes its rows.",
    "prompts passed": (
        "How many prompts have an answer that keeps every one of their constraints (`prompt_strict` in JSON)."
    ),
    "rank range": "The ranks that a model may really have, given the intervals of all models.",
    "repetitive": "The share of answers that repeat themselves.",
    "responds": (
        "The share of prompts that pass by an answer which responds to its request, whatever its form. Measured by "
        "words and by the other answers of the run; requests in other languages than English are left out."
    ),
    "run": "One measurement, stored in a directory: what was asked of whom, all answers, all verdicts, all numbers.",
    "says": "What the printed numbers say by themselves, before the reasons why they may not decide the question.",
    "sealed": (
        "Finished and counted: its summary is stored beside its answers. A sealed run may still have failed calls."
    ),
    "slice": "A named part of a suite's prompts, reported apart.",
    "sound": (
        "The share of prompts that pass by an answer which is more than the letter: not form alone, no echo, "
        "not repetitive. A lower bound, where a prompt asks for one word or for itself again."
    ),
    "statement": "A sentence of a report that asserts something that its sources can support or deny.",
    "strict": "Judged as it is.",
    "study": "Several arms, several seeds and one question that was fixed before.",
    "style leak": "The share of answers in one case, in quotes or in bullets without being asked.",
    "suite": "A named set of prompts with its own way of counting: published by others, or generated here.",
    "sweep": "Every model behind one endpoint, measured on the same suites, with a leaderboard.",
    "trap": (
        "A way to keep the letter of an instruction and not its intent: hidden text, look-alikes, padding, "
        "an echo, an empty form, another topic, a loop."
    ),
    "treatment": "The arm whose effect the question is about.",
    "undecided": (
        "No verdict: the checker could not tell, timed out or needs a judge model. It is in no "
        "denominator, and is listed."
    ),
    "view": "Under which a constraint is judged: strict or loose.",
}


def words(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return the given words with their meanings, in alphabetical order.

    Raises:
        KeyError: A word is not in the glossary, which is a bug of the page.
    """
    return [(name, GLOSSARY[name]) for name in sorted(names)]


def glossary_markdown() -> str:
    """Return the text of docs/reference/glossary.md."""
    rows = "\n".join(f"| {name} | {meaning} |" for name, meaning in words(GLOSSARY))
    return f"""# Glossary

The words of pages, tables and the command line. Every report prints those that it uses at its end. This page is printed from
`adhere.report.pieces.glossary`; a test holds the two together.

| word | meaning |
|---|---|
{rows}
"""


if __name__ == "__main__":
    print(glossary_markdown(), end="")  # noqa: T201 - how the page is written anew
