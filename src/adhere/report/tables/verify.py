"""Write the result of `adhere verify` as terminal text.

It shows four numbers, what they cover, the worst kinds, and what was not decided.
"""

from __future__ import annotations

from adhere.report.pieces.glossary import MEASURES
from adhere.report.pieces.guards import floor_line
from adhere.report.pieces.numbers import count, percent, percent_interval, plural
from adhere.report.pieces.text_table import heading, paragraph, text_table
from adhere.report.run.view import accounting_line, notes_of_kinds
from adhere.terminal import one_line
from adhere.verify.answers import Verification

ORDER = ("prompt_strict", "instruction_strict", "prompt_loose", "instruction_loose")
WORST = 5
SHOWN = 10
_HANG = 14


def verify_text(verification: Verification, *, width: int = 100) -> str:
    """Return the whole result, wrapped to `width` columns and safe to print."""
    sections = [
        _facts(verification, width),
        _rates(verification, width),
        _means(verification, width),
        _worst(verification, width),
    ]
    sections += [_undecided_lines(verification, width), _skipped_lines(verification, width)]
    title = heading(one_line(f"{verification.responses} on {verification.suite}"))
    return title + "\n" + "\n\n".join("\n".join(section) for section in sections if section)


def _facts(verification: Verification, width: int) -> list[str]:
    accounting = verification.accounting
    done = accounting.instructions
    n = plural(verification.n_prompts, "prompt") + ", " + plural(verification.n_instructions, "constraint")
    facts = {
        "suite": verification.suite_note or verification.suite_sha256[:12],
        "judged": f"{n} ({verification.mode} mode, verifier {verification.verifier_version})",
        "answers": accounting_line(accounting.responses),
        "constraints": f"checked {count(done.checked)} = {count(done.passed)} pass + {count(done.failed)} fail + "
        f"{count(done.undecided)} undecided (strict)",
        "coverage": f"{percent(verification.coverage)} of answers passed or failed",
    }
    if verification.floor is not None:
        facts["floor"] = floor_line(verification.floor)
    if verification.draws > 1:
        facts["draws"] = f"{count(verification.draws)} answers to a prompt; intervals take each prompt's as a cluster"
    if verification.keep_reasoning:
        facts["reasoning"] = "kept: <think> blocks were judged as part of the answer"
    if verification.random_in_reference is not None:
        facts["at random"] = (
            f"drawn from seed {verification.random_in_reference} where the published code draws at random"
        )
    return [paragraph(text, width=width, label=name, hang=_HANG) for name, text in facts.items()]


def _rates(verification: Verification, width: int) -> list[str]:
    rows = [["measure", "passed/n", "rate", "95 % interval"]]
    for field in ORDER:
        rate = verification.rates[field]
        rows.append(
            [
                MEASURES[field],
                f"{count(rate.passed)}/{count(rate.n)}",
                percent(rate.of_all, digits=2),
                percent_interval(rate.low, rate.high),
            ]
        )
    notes = [paragraph(note, width=width, label="!", hang=2) for note in notes_of_kinds(verification.kinds)]
    return [text_table(rows, width=width), *notes]


def _means(verification: Verification, width: int) -> list[str]:
    rows = [
        ["mean over prompts of constraints passed (strict)", percent(verification.instruction_macro, digits=2)],
        ["mean of the four", percent(verification.mean_of_four, digits=2)],
        ["mean of the two strict ones", percent(verification.mean_of_prompt_and_instruction_strict, digits=2)],
    ]
    return [text_table(rows, width=width)]


def _worst(verification: Verification, width: int) -> list[str]:
    def rank(name: str) -> tuple[float, int, str]:
        tally = verification.kinds[name]
        return tally.passed / (tally.passed + tally.failed), -tally.failed, name

    failing = sorted((name for name, tally in verification.kinds.items() if tally.failed), key=rank)[:WORST]
    if not failing:
        return []
    lines = [f"  Worst of {plural(len(verification.kinds), 'kind')} (strict), each with its first failing answer:"]
    for name in failing:
        tally, example = verification.kinds[name], verification.examples[name]
        share = f"{count(tally.passed)}/{count(tally.passed + tally.failed)} {percent(tally.strict.of_all, digits=0)}"
        lines.append(
            paragraph(
                f"{name} {share}: key {example.key}{_turn(example.turn)}: {example.reason}", width=width, indent=4
            )
        )
    return lines


def _undecided_lines(verification: Verification, width: int) -> list[str]:
    if not verification.undecided:
        return []
    answers = sum(row.answers for row in verification.undecided)
    lines = [f"  Undecided, and in no denominator: {plural(answers, 'constraint')}"]
    for row in verification.undecided[:SHOWN]:
        times = f" ({count(row.answers)} answers)" if row.answers > 1 else ""
        text = f"key {row.key}{_turn(row.turn)}, {row.instruction_id} at index {row.index}{times}: {row.reason}"
        lines.append(paragraph(text, width=width, indent=4))
    if len(verification.undecided) > SHOWN:
        lines.append(f"  … and {count(len(verification.undecided) - SHOWN)} more; --json lists all")
    return lines


def _turn(turn: int) -> str:
    """Name a later turn; empty for the first. Turns are counted from 0, as in the rows."""
    return f" (turn {turn})" if turn else ""


def _skipped_lines(verification: Verification, width: int) -> list[str]:
    rows = verification.accounting.rows
    if not rows.skipped:
        return []
    why = ", ".join(f"{count(n)} {reason}" for reason, n in rows.skipped_because.items())
    lines = [paragraph(f"Skipped {count(rows.skipped)} of {plural(rows.read, 'row')}: {why}", width=width)]
    lines += [paragraph(problem, width=width, indent=4) for problem in verification.skipped[:SHOWN]]
    if rows.skipped > SHOWN:
        lines.append(f"  … and {count(rows.skipped - SHOWN)} more")
    return lines
