"""All of a build: queries, prompts, decontamination, draws, judge, rows, files.

On disk:

    bootstrap/      queries that the model wrote (source `bootstrap`)
    prompts.jsonl   the prompts that were kept
    drops.jsonl     prompts that repeat a test item, each with the item
    draws/          the answers, a stored Run
    sft.jsonl       prompt, completion                    pairs.jsonl   prompt, chosen, rejected, criteria
    rl.jsonl        prompt and how the model scored on it (or .parquet)
    card.json       how it was made, what each stage left, the hashes of the files; README.md is the same for people

A killed build that is started again asks nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from adhere import suites
from adhere.build.checks.file import load_checks
from adhere.build.convert import convert, write_table
from adhere.build.dataset.areas import SUITES, AnswerAbroad, draw_area, under_systems
from adhere.build.dataset.card import CARD, CARD_VERSION, Card, Stage, card_text, histograms
from adhere.build.dataset.prompts import Kind, make_prompts
from adhere.build.dataset.queries import UserQuery, find_queries
from adhere.build.dataset.spec import DataSpec, Turns, check_spec
from adhere.build.dataset.stages import answer_stages, clean_stage, prompt_stage, query_stage
from adhere.build.decontaminate.rows import Decontaminate, LcsDrop, NgramDrop, Settings, items_of
from adhere.build.draws import Draws, draw_answers
from adhere.build.filter import Answer, find_passing, judge_draws, keeps_all
from adhere.build.pairs import Pair
from adhere.build.rows import Item, deal_rows, make_item, rl_row
from adhere.build.scorers import FilterReport, JudgeScorer, RuleScorer, Scorer, filter_responses
from adhere.build.transforms.base import UnfitRow
from adhere.build.transforms.six_criteria import rate_by_programs
from adhere.errors import ContaminationError, UsageError
from adhere.models.base import Model
from adhere.pipeline.judge import verifier_version
from adhere.progress import Progress, Silent
from adhere.schema import Prompt, Response, derive_seed, encode, write_atomic, write_rows
from adhere.suites.generated.core.deal import kinds_of
from adhere.text.scripts import writes_words

Row = dict[str, Any]
LICENSES = {"ours": "written for adhere (Apache-2.0)", "bootstrap": "written by the model; its licence applies"}


class JudgedPrompt(NamedTuple):
    """Holds a prompt with what was made of its first turn, and the SFT rows of its later turns."""

    item: Item
    later: list[Row]


def build_dataset(
    spec: DataSpec, model: Model, directory: Path, *, judge: Model | None = None, progress: Progress | None = None
) -> Card:
    """Build a data set and return its card; a killed build that is started again asks nothing twice.

    Args:
        spec: What DATA.toml says.
        model: The model that answers.
        directory: Where the data set is stored.
        judge: The model that filters SFT answers, if the spec names a judge.
        progress: Where to report.

    Raises:
        UsageError, SpecError: Queries, kinds or checks cannot be used, or no prompt can be made of them.
        ContaminationError: Every prompt repeats a test item.
        RunMismatch: The directory holds the draws of another spec or model.
        Incomplete: Some calls failed; the same build again tries those once more.
    """
    spec, progress = check_spec(spec), progress or Silent()
    query_pool = find_queries(spec.queries, model, seed=spec.seed, directory=directory, progress=progress)
    prompts, hopeless, longest = _prompts(spec, query_pool.queries)
    if not prompts:
        raise UsageError(
            f"No prompt can be made: none of the kinds fits any of {len(query_pool.queries)} queries with "
            f"{spec.constraints.fewest} to {spec.constraints.most} constraints in {spec.prompts.turns} turns"
        )
    clean_prompts, drops, against = _decontaminate(spec, prompts)
    if not clean_prompts:
        raise ContaminationError(
            f"All {len(prompts)} prompts repeat a test item; the first: {encode(drops[0]).decode()}. Take other queries"
        )
    watch = _Watch(clean_prompts)
    draws = _draw(
        spec, model, prompts=clean_prompts, longest=longest, directory=directory, progress=progress, watch=watch
    )
    judged_prompts = []
    with progress.step("judge and choose", len(clean_prompts), "prompts") as step:
        for prompt in clean_prompts:
            judged_prompts.append(_judge(spec, prompt, draws.by_prompt[prompt.id]))
            step.advance()
    filtering = None
    if spec.filter.judge:
        if judge is None:
            raise UsageError(f"filter.judge = {spec.filter.judge!r}: build_dataset needs the opened model as `judge`")
        scorers = [
            JudgeScorer(judge, role, directory / "judges" / str(place), progress=progress)
            for place, role in enumerate(spec.filter.roles)
        ]
        judged_prompts, filtering = _filter_sft(judged_prompts, [RuleScorer(), *scorers])
    stages = [
        query_stage(query_pool),
        prompt_stage(spec, prompts, hopeless),
        clean_stage(prompts, clean_prompts, drops),
    ]
    unspaced = (
        0 if spec.constraints.language_bound else sum(not writes_words(query.text) for query in query_pool.queries)
    )
    contents = _Contents(clean_prompts, drops, against, draws, judged_prompts, stages, filtering, unspaced)
    return _write(spec, model, directory, contents)


def _prompts(spec: DataSpec, queries: Sequence[UserQuery]) -> tuple[list[Prompt], list[str], dict[str, int]]:
    """Return all prompts, the ids of queries without a prompt, and prompt id -> the area's limit of new tokens.

    Prompts without an area, or of an area without a limit, are not in the mapping.
    """
    if not spec.areas:
        return *make_prompts(spec, queries, _kinds(spec)), {}
    prompts: list[Prompt] = []
    hopeless: dict[str, None] = {}
    longest: dict[str, int] = {}
    for area in spec.areas:
        most = area.max_new_tokens
        if area.area in SUITES:
            area_prompts, own = draw_area(area, name=spec.name, seed=spec.seed)
            most = most or own
        else:
            own_spec = msgspec.structs.replace(
                spec, name=f"{spec.name}-{area.area}", queries=msgspec.structs.replace(spec.queries, count=area.count)
            )
            crosses = area.area == "cross-lingual"
            if crosses:
                own_constraints = msgspec.structs.replace(spec.constraints, fewest=1, most=1)
                own_spec = msgspec.structs.replace(own_spec, constraints=own_constraints, prompts=Turns())
            area_prompts, area_hopeless = make_prompts(own_spec, queries, [AnswerAbroad()] if crosses else _kinds(spec))
            if area.area == "system-prompts":
                area_prompts = under_systems(area_prompts, seed=spec.seed)
            area_prompts = [
                msgspec.structs.replace(prompt, tags=prompt.tags | {"area": area.area}) for prompt in area_prompts
            ]
            hopeless |= dict.fromkeys(area_hopeless)
        prompts += area_prompts
        longest |= {prompt.id: most for prompt in area_prompts} if most else {}
    return prompts, list(hopeless), longest


def _draw(
    spec: DataSpec,
    model: Model,
    *,
    prompts: Sequence[Prompt],
    longest: Mapping[str, int],
    directory: Path,
    progress: Progress,
    watch: Callable[[Response], str],
) -> Draws:
    """Draw answers to all prompts, those with the same limit of new tokens together.

    Answers are stored in DIR/draws, and in DIR/draws-LIMIT for a limit other than the spec's.
    """
    own = spec.sampling.max_new_tokens
    by_prompt: dict[str, list[Response]] = {}
    ledgers = []
    for most in sorted({longest.get(prompt.id, own) for prompt in prompts}):
        draws = draw_answers(
            model,
            [prompt for prompt in prompts if longest.get(prompt.id, own) == most],
            draws=spec.draws,
            sampling=msgspec.structs.replace(spec.sampling, seed=spec.seed, max_new_tokens=most),
            directory=directory / ("draws" if most == own else f"draws-{most}"),
            progress=progress,
            watch=watch,
        )
        by_prompt |= draws.by_prompt
        ledgers.append(draws.ledger)
    tokens = [ledger.tokens_generated for ledger in ledgers]
    return Draws(
        by_prompt,
        msgspec.structs.replace(
            ledgers[-1],  # the last one's clock has the seconds of all
            answers_generated=sum(ledger.answers_generated for ledger in ledgers),
            tokens_generated=None if None in tokens else sum(filter(None, tokens)),
        ),
    )


def _kinds(spec: DataSpec) -> list[Kind]:
    """Return the kinds that constraints are drawn from.

    Raises:
        UnknownName, UsageError: A kind is unknown or held out.
    """
    only = spec.constraints.kinds
    checks: list[Kind] = list(load_checks(Path(spec.constraints.checks))) if spec.constraints.checks else []
    if checks and not only:
        return checks
    return [*kinds_of("train", only), *checks]


def _decontaminate(
    spec: DataSpec, prompts: Sequence[Prompt]
) -> tuple[list[Prompt], list[LcsDrop | NgramDrop], dict[str, int]]:
    """Return (kept prompts, drops, suite -> number of items); a drop's `line` is the prompt's place, from 1."""
    rule = spec.decontaminate.rule
    named_suites = [(name, suites.load(name)) for name in spec.decontaminate.against]
    items = items_of(named_suites)
    step = Decontaminate(Settings(tuple(items), (), rule, "error", spec.name))
    texts = ["\n".join(turn.text for turn in prompt.turns) for prompt in prompts]
    drops, _ = step.drops(range(1, len(texts) + 1), texts)
    dropped_lines = {drop.line for drop in drops}
    clean_prompts = [prompt for line, prompt in enumerate(prompts, start=1) if line not in dropped_lines]
    return clean_prompts, drops, {name: len(suite.prompts) for name, suite in named_suites}


class _Watch:
    """Makes the text that the progress shows beside the number of answers: yield and cost so far."""

    def __init__(self, prompts: Sequence[Prompt]) -> None:
        self._views = {
            (prompt.id, turn): _view(prompt, turn) for prompt in prompts for turn in range(len(prompt.turns))
        }
        self.seen = self.passed = 0
        self.cost_usd = 0.0

    def __call__(self, response: Response) -> str:
        self.seen += 1
        self.cost_usd += response.usage.cost_usd or 0.0
        view = self._views[response.prompt_id, response.turn]
        self.passed += response.status == "ok" and keeps_all(view, response.text.strip())
        cost = f", ${self.cost_usd:.4f}" if self.cost_usd else ""
        return f"{self.passed}/{self.seen} pass ({self.passed / self.seen:.0%}){cost}"


def _view(prompt: Prompt, turn: int) -> Prompt:
    """Return one turn as a prompt of its own, for code that looks at a single turn."""
    return prompt if len(prompt.turns) == 1 else msgspec.structs.replace(prompt, turns=(prompt.turns[turn],))


def _judge(spec: DataSpec, prompt: Prompt, responses: Sequence[Response]) -> JudgedPrompt:
    by_turn: list[list[Answer]] = []
    for turn in range(len(prompt.turns)):
        answers = [msgspec.structs.replace(response, turn=0) for response in responses if response.turn == turn]
        by_turn.append(judge_draws(_view(prompt, turn), answers, kind=spec.reward))
    item = make_item(_view(prompt, 0), by_turn[0], spec.limits, repair=spec.repair)
    return JudgedPrompt(item, _later_turns(spec, prompt, by_turn))


def _later_turns(spec: DataSpec, prompt: Prompt, by_turn: Sequence[Sequence[Answer]]) -> list[Row]:
    """Return SFT rows of the turns after the first, without repeats.

    A turn gives a row only if the draw's answers to this and all earlier turns pass.
    """
    rows: list[Row] = []
    for draw in range(spec.draws):
        history: list[Row] = []
        for turn, answers in enumerate(by_turn):
            answer = next((answer for answer in answers if answer.draw == draw), None)
            if answer is None or not find_passing(_view(prompt, turn), [answer]):
                break
            messages = [*_opening(prompt), *history, _message("user", prompt.turns[turn].text)]
            if turn > 0:
                completion = [_message("assistant", answer.text)]
                row = {"prompt": messages, "completion": completion, "origin": "sampled", **_columns(prompt, turn)}
                rows += [row] if row not in rows else []
            history += [_message("user", prompt.turns[turn].text), _message("assistant", answer.text)]
    return rows[: spec.limits.per_prompt * (len(prompt.turns) - 1)]


def _message(role: str, content: str) -> Row:
    return {"role": role, "content": content}


def _opening(prompt: Prompt) -> list[Row]:
    return [_message("system", prompt.system)] if prompt.system is not None else []


def _columns(prompt: Prompt, turn: int) -> Row:
    refs = prompt.turns[turn].constraints
    return {
        "prompt_id": prompt.id,
        "turn": turn,
        "instruction_id_list": [ref.id for ref in refs],
        "kwargs": [dict(ref.params) for ref in refs],
        **({"area": prompt.tags["area"]} if "area" in prompt.tags else {}),
    }


def _first_turn(prompt: Prompt, *, conversational: bool) -> str | list[Row]:
    return [*_opening(prompt), _message("user", prompt.text)] if conversational else prompt.text


def _completion(text: str, *, conversational: bool) -> str | list[Row]:
    return [_message("assistant", text)] if conversational else text


def _sft(judged_prompt: JudgedPrompt, *, conversational: bool) -> list[Row]:
    prompt = judged_prompt.item.prompt
    first = [
        {
            "prompt": _first_turn(prompt, conversational=conversational),
            "completion": _completion(candidate.text, conversational=conversational),
            "origin": "sampled" if candidate.original is None else "repaired",
            **_columns(prompt, 0),
        }
        for candidate in judged_prompt.item.sft
    ]
    return [*first, *judged_prompt.later]


def _pairs(judged_prompt: JudgedPrompt, *, conversational: bool) -> list[Row]:
    prompt = judged_prompt.item.prompt
    return [
        {
            "prompt": _first_turn(prompt, conversational=conversational),
            "chosen": _completion(pair.chosen, conversational=conversational),
            "rejected": _completion(pair.rejected, conversational=conversational),
            "origin": pair.origin,
            **_columns(prompt, 0),
            **_criteria(pair, prompt),
        }
        for pair in judged_prompt.item.pairs
    ]


def _criteria(pair: Pair, prompt: Prompt) -> Row:
    """Return the column `criteria`: ratings of the pair by programs; empty if a constraint is undecided.

    Reward models with `labels = "criteria"` learn from this column. A model's ratings come by `adhere build transform
    six_criteria --model`.
    """
    try:
        chosen, rejected = rate_by_programs((pair.chosen, pair.rejected), prompt.turns[0].constraints)
    except UnfitRow:
        return {}
    return {"criteria": {name: [chosen[name], rejected[name]] for name in sorted(chosen)}}


def _rl(judged_prompt: JudgedPrompt, *, conversational: bool) -> list[Row]:
    row = rl_row(judged_prompt.item)
    if row is None:
        return []
    prompt = judged_prompt.item.prompt
    scores = {"draws": row.draws, "score_mean": row.score_mean, "score_variance": row.score_variance}
    return [{"prompt": _first_turn(prompt, conversational=conversational), **_columns(prompt, 0), **scores}]


def _filter_sft(
    judged_prompts: Sequence[JudgedPrompt], scorers: Sequence[Scorer]
) -> tuple[list[JudgedPrompt], FilterReport]:
    """Drop the SFT answers to first turns that not every scorer calls flawless; return the rest and a report."""
    items = [judged_prompt.item for judged_prompt in judged_prompts]
    pairs = [(item.prompt, candidate) for item in items for candidate in item.sft]
    flawless, report = filter_responses(
        [prompt for prompt, _ in pairs], [candidate.text for _, candidate in pairs], scorers
    )
    marks = iter(flawless)
    filtered_items = [item._replace(sft=[candidate for candidate in item.sft if next(marks)]) for item in items]
    return [
        judged_prompt._replace(item=item) for judged_prompt, item in zip(judged_prompts, filtered_items, strict=True)
    ], report


class _Contents(NamedTuple):
    """Holds everything that a build writes into its directory."""

    clean_prompts: list[Prompt]
    drops: list[LcsDrop | NgramDrop]
    against: dict[str, int]
    draws: Draws
    judged_prompts: list[JudgedPrompt]
    stages: list[Stage]
    filtering: FilterReport | None
    unspaced: int = 0  # queries in scripts without blanks between words


def _write(spec: DataSpec, model: Model, directory: Path, contents: _Contents) -> Card:
    clean_prompts, drops, against, draws, judged_prompts, stages, filtering, unspaced = contents
    conversational = spec.output.conversational or any(
        prompt.system is not None or len(prompt.turns) > 1 for prompt in clean_prompts
    )
    shapes: dict[str, Callable[..., list[Row]]] = {"sft": _sft, "pairs": _pairs, "rl": _rl}
    limits = {"sft": spec.limits.sft_rows, "pairs": spec.limits.pair_rows, "rl": None}
    tables = {
        name: deal_rows(
            [
                (judged_prompt.item.prompt, make(judged_prompt, conversational=conversational))
                for judged_prompt in judged_prompts
            ],
            limits[name],
            derive_seed(spec.seed, name),
        )
        for name, make in shapes.items()
    }
    tables["rl"].sort(
        key=lambda row: (-row["score_variance"], row["prompt_id"])
    )  # highest variance first, as in the report
    files: dict[str, str] = {}
    rows: dict[str, int] = {}
    for name, table in tables.items():
        path = directory / f"{name}.{spec.output.format}"
        files[path.name], rows[path.name] = write_table(path, table), len(table)
        for shape in spec.output.also:
            other = directory / shape / f"{name}.{'parquet' if shape == 'verl' else 'jsonl'}"
            converted = convert(table, name, shape)
            if converted is not None:
                files[f"{shape}/{other.name}"], rows[f"{shape}/{other.name}"] = (
                    write_table(other, converted),
                    len(converted),
                )
    for name, records in (("prompts.jsonl", clean_prompts), ("drops.jsonl", drops)):
        files[name], rows[name] = write_rows(directory / name, records), len(records)
    kinds, numbers, published_types = histograms(clean_prompts)
    costs = [response.usage.cost_usd for responses in draws.by_prompt.values() for response in responses]
    known_costs = [cost for cost in costs if cost is not None]
    refs = {ref.id: ref for prompt in clean_prompts for turn in prompt.turns for ref in turn.constraints}
    card = Card(
        version=CARD_VERSION,
        name=spec.name,
        spec=spec,
        model=model.name,
        engine=model.engine,
        sources={
            "queries": f"{spec.queries.source} {spec.queries.path or spec.queries.name}".strip(),
            "licence of the queries": spec.queries.license or LICENSES.get(spec.queries.source, "not stated"),
            **(
                {"kinds of words": f"not asked with {unspaced:,} queries, whose script has no blanks"}
                if unspaced
                else {}
            ),
            "answers": f"written by {model.name}; its licence and terms apply",
        },
        verifiers={kind: verifier_version(ref) for kind, ref in sorted(refs.items())},
        stages=(
            *stages,
            *answer_stages(draws, [judged_prompt.item for judged_prompt in judged_prompts], filtering, tables),
        ),
        rows=rows,
        files=files,
        kinds=kinds,
        constraints_per_prompt=numbers,
        published_types=published_types,
        decontaminated_against=against,
        filtering=filtering,
        cost_usd=sum(known_costs) if len(known_costs) == len(costs) and known_costs else None,
        ledger=draws.ledger,
    ).sealed()
    write_atomic(directory / "README.md", card_text(card).encode())
    write_atomic(directory / CARD, encode(card) + b"\n")  # last: a data set without it is unfinished
    return card
