"""Terminal text of what `adhere verify` found.

Four numbers, what they are of, the worst kinds, what was not decided.
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


def verify_text(found: Verification, *, width: int = 100) -> str:
    """All of it in at most `width` columns where words allow it; safe to print."""
    sections = [_facts(found, width), _rates(found, width), _means(found, width), _worst(found, width)]
    sections += [_undecided_lines(found, width), _skipped_lines(found, width)]
    title = heading(one_line(f"{found.responses} on {found.suite}"))
    return title + "\n" + "\n\n".join("\n".join(section) for section in sections if section)


def _facts(found: Verification, width: int) -> list[str]:
    accounting = found.accounting
    done = accounting.instructions
    n = plural(found.n_prompts, "prompt") + ", " + plural(found.n_instructions, "constraint")
    facts = {
        "suite": found.suite_note or found.suite_sha256[:12],
        "judged": f"{n} ({found.mode} mode, verifier {found.verifier_version})",
        "answers": accounting_line(accounting.responses),
        "constraints": f"checked {count(done.checked)} = {count(done.passed)} pass + {count(done.failed)} fail + "
        f"{count(done.undecided)} undecided (strict)",
        "coverage": f"{percent(found.coverage)} of answers passed or failed",
    }
    if found.floor is not None:
        facts["floor"] = floor_line(found.floor)
    if found.draws > 1:
        facts["draws"] = f"{count(found.draws)} answers to a prompt; intervals take each prompt's as a cluster"
    if found.keep_reasoning:
        facts["reasoning"] = "kept: <think> blocks were judged as part of the answer"
    if found.random_in_reference is not None:
        facts["at random"] = f"drawn from seed {found.random_in_reference} where the published code draws at random"
    return [paragraph(text, width=width, label=name, hang=_HANG) for name, text in facts.items()]


def _rates(found: Verification, width: int) -> list[str]:
    rows = [["measure", "passed/n", "rate", "95 % interval"]]
    for field in ORDER:
        rate = found.rates[field]
        rows.append(
            [
                MEASURES[field],
                f"{count(rate.passed)}/{count(rate.n)}",
                percent(rate.of_all, digits=2),
                percent_interval(rate.low, rate.high),
            ]
        )
    notes = [paragraph(note, width=width, label="!", hang=2) for note in notes_of_kinds(found.kinds)]
    return [text_table(rows, width=width), *notes]


def _means(found: Verification, width: int) -> list[str]:
    rows = [
        ["mean over prompts of constraints passed (strict)", percent(found.instruction_macro, digits=2)],
        ["mean of the four", percent(found.mean_of_four, digits=2)],
        ["mean of the two strict ones", percent(found.mean_of_prompt_and_instruction_strict, digits=2)],
    ]
    return [text_table(rows, width=width)]


def _worst(found: Verification, width: int) -> list[str]:
    def rank(name: str) -> tuple[float, int, str]:
        tally = found.kinds[name]
        return tally.passed / (tally.passed + tally.failed), -tally.failed, name

    failing = sorted((name for name, tally in found.kinds.items() if tally.failed), key=rank)[:WORST]
    if not failing:
        return []
    lines = [f"  Worst of {plural(len(found.kinds), 'kind')} (strict), each with its first failing answer:"]
    for name in failing:
        tally, example = found.kinds[name], found.examples[name]
        share = f"{count(tally.passed)}/{count(tally.passed + tally.failed)} {percent(tally.strict.of_all, digits=0)}"
        lines.append(
            paragraph(
                f"{name} {share}: key {example.key}{_turn(example.turn)}: {example.reason}", width=width, indent=4
            )
        )
    return lines


def _undecided_lines(found: Verification, width: int) -> list[str]:
    if not found.undecided:
        return []
    answers = sum(row.answers for row in found.undecided)
    lines = [f"  Undecided, and in no denominator: {plural(answers, 'constraint')}"]
    for row in found.undecided[:SHOWN]:
        times = f" ({count(row.answers)} answers)" if row.answers > 1 else ""
        text = f"key {row.key}{_turn(row.turn)}, {row.instruction_id} at index {row.index}{times}: {row.reason}"
        lines.append(paragraph(text, width=width, indent=4))
    if len(found.undecided) > SHOWN:
        lines.append(f"  … and {count(len(found.undecided) - SHOWN)} more; --json lists all")
    return lines


def _turn(turn: int) -> str:
    """Said of later turns only; turns are counted from 0, as in the rows."""
    return f" (turn {turn})" if turn else ""


def _skipped_lines(found: Verification, width: int) -> list[str]:
    rows = found.accounting.rows
    if not rows.skipped:
        return []
    why = ", ".join(f"{count(n)} {what}" for what, n in rows.skipped_because.items())
    lines = [paragraph(f"Skipped {count(rows.skipped)} of {plural(rows.read, 'row')}: {why}", width=width)]
    lines += [paragraph(problem, width=width, indent=4) for problem in found.skipped[:SHOWN]]
    if rows.skipped > SHOWN:
        lines.append(f"  … and {count(rows.skipped - SHOWN)} more")
    return lines
