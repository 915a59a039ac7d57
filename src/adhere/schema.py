"""Types of what goes to disk and between rooms: prompts, responses, verdicts, training rows.

Every type is frozen and JSON-codable by `encode` / `decode`, which reject unknown keys and wrong types.
msgspec rather than pydantic: the judge is imported by reward workers, where 100 ms of import time counts.

Notation used across the package: `_P` prompts, `_G` responses per prompt, `_C` constraints, `_T` tokens, `_S` seeds.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeVar, get_args

import msgspec

from adhere.errors import IntegrityError
from adhere.packed import PackedText

if TYPE_CHECKING:
    import hashlib
    from pathlib import Path

SCHEMA_VERSION = 1

Json = None | bool | int | float | str | list[Any] | dict[str, Any]
Status = Literal["ok", "truncated", "empty", "refused", "error"]
Failure = Literal["timeout", "final", "passing", "not asked"]
Outcome = Literal["pass", "fail", "undecided"]
View = Literal["strict", "loose"]
Mode = Literal["reference", "fixed"]
"""Semantics of published kinds: `reference` as in the published code, quirks included; `fixed` without its defects."""
CutAnswers = Literal["fail", "judge"]
"""Treatment of an answer that was cut at its token limit: it fails, or is judged like others."""
Counts = Literal["passing", "sound", "responsive"] | msgspec.UnsetType
"""Measures of following.

Not set: passing. `sound`: passing by more than the wording. `responsive`: passing with an answer that responds. See
`study.run.measured`.
"""
Role = Literal["system", "user", "assistant", "tool"]
Part = Literal["train", "held-out"]

STATUSES: tuple[Status, ...] = get_args(Status)
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
VIEWS: tuple[View, ...] = get_args(View)
MODES: tuple[Mode, ...] = get_args(Mode)
CUT_ANSWERS: tuple[CutAnswers, ...] = get_args(CutAnswers)

STOP_REASONS: dict[str, Status] = {
    **dict.fromkeys(
        (
            "length", "max_tokens", "max_new_tokens", "max_completion_tokens", "max_output_tokens", "model_length",
            "model_context_window_exceeded", "incomplete",
        ),
        "truncated",
    ),
    **dict.fromkeys(
        (
            "content_filter", "content_filtered", "refusal", "guardrail_intervened", "sensitive", "error_toxic",
            "safety", "prohibited_content", "recitation", "blocklist", "spii", "language", "image_safety",
            "image_prohibited_content", "image_recitation",
        ),
        "refused",
    ),
    **dict.fromkeys(
        ("error", "abort", "insufficient_system_resource", "network_error", "cancelled", "timeout"), "error"
    ),
}  # fmt: skip
"""Statuses for the stop reasons of servers and answer files, for models that did not stop by themselves.

Reasons (`finish_reason`, `stop_reason`) are in small letters and without an enumeration's name (`FinishReason.LENGTH`).
It is the one table for endpoints, files of answers and trainers. A reason that it lacks (`stop`, `end_turn`, `eos`) is
an ordinary end.
"""


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of everything stored."""


class ConstraintRef(Record, frozen=True):
    """Describes a constraint as it is stored: its kind's id and its filled parameters."""

    id: str
    params: dict[str, Json] = {}


class Media(Record, frozen=True):
    """Describes a picture or sound by its media type and the hash of its bytes; `adhere.media` keeps the bytes."""

    type: str
    sha256: str


class Turn(Record, frozen=True):
    """Holds one user turn and the constraints that its answer must satisfy.

    `media` are shown after its text, and stored and hashed only if there are any.
    """

    text: str
    constraints: tuple[ConstraintRef, ...] = ()
    media: tuple[Media, ...] | msgspec.UnsetType = msgspec.UNSET


class ToolCall(Record, frozen=True):
    """Holds a tool call of an assistant message. `id` names it within its conversation.

    `broken` is the text of arguments that are no JSON object; `arguments` is empty then.
    """

    id: str
    name: str
    arguments: dict[str, Json] = {}
    broken: str | msgspec.UnsetType = msgspec.UNSET

    @property
    def said(self) -> str:
        """The call as text for people: `refund({"order":7})`."""
        return f"{self.name}({encode(self.arguments).decode() if self.broken is msgspec.UNSET else self.broken})"


class Tool(Record, frozen=True):
    """Describes a tool that a model is told of. `parameters` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Json]


class Message(Record, frozen=True, omit_defaults=True):
    """Holds one chat message.

    An assistant's may have `calls`; a tool's has the id of the call that it answers; a user's may have `media`.
    """

    role: Role
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None
    media: tuple[Media, ...] = ()


class GivenMessages(Record, frozen=True, omit_defaults=True):
    """Holds messages that a Prompt itself puts into the conversation; the model answers its turns.

    Args:
        before: Messages before the first turn: of the user, of the assistant (not written by the model), of tools.
        after: Messages between the first turn's text and its answer: the assistant's tool call, and the tool's answer.
        tools: Tools that the model is told of.

    Raises:
        ValueError: There is a system message, a tool's message without its call, a call without an answer, or a
            last message after which it is not the model's turn.
    """

    before: tuple[Message, ...] = ()
    after: tuple[Message, ...] = ()
    tools: tuple[Tool, ...] = ()

    def __post_init__(self) -> None:
        if not (self.before or self.after or self.tools):
            raise ValueError("given: no message before or after the first turn, and no tool; leave given out")
        for name, messages in (("before", self.before), ("after", self.after)):
            waiting: set[str] = set()
            for message in messages:
                if message.role == "system":
                    raise ValueError(f"given.{name}: a system message; it belongs into the prompt's system")
                if message.calls and message.role != "assistant":
                    raise ValueError(f"given.{name}: a call of a tool in a message of the {message.role}")
                if message.role == "tool" and message.call_id not in waiting:
                    raise ValueError(
                        f"given.{name}: the tool's message answers the call {message.call_id!r}, which is not open"
                    )
                waiting = waiting - {message.call_id} if message.role == "tool" else waiting
                waiting |= {call.id for call in message.calls}
            if waiting:
                raise ValueError(f"given.{name}: nothing answers the calls {', '.join(sorted(waiting))}")
        if self.before and self.before[-1].role == "user":
            raise ValueError(
                "given.before: must end with a message of the assistant or of a tool; the user's is the first turn"
            )
        if self.after and (self.after[0].role != "assistant" or self.after[-1].role == "assistant"):
            raise ValueError(
                "given.after: must begin with a message of the assistant, and end with one of a tool or the user"
            )


class Prompt(Record, frozen=True):
    """Holds one item of a Suite or of training data.

    `tags` hold what results are sliced by (`slice`, `topic`, `query`, `families`, `phrasing`) and, for published
    prompts, whose semantics their constraints have (`profile`); a model never sees them. `given` is stored and
    hashed only if there is any.
    """

    id: str
    turns: tuple[Turn, ...]
    system: str | None = None
    source: str = ""
    tags: dict[str, str] = {}
    given: GivenMessages | msgspec.UnsetType = msgspec.UNSET

    @property
    def key(self) -> int | str:
        """The id as a published file has it: a number if `tags["key"]` is `"int"`, else the text."""
        return int(self.id) if self.tags.get("key") == "int" else self.id

    @property
    def text(self) -> str:
        """The text of the first user turn."""
        return self.turns[0].text

    @property
    def constraints(self) -> tuple[ConstraintRef, ...]:
        """The constraints of the first turn."""
        return self.turns[0].constraints

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that the model is told of."""
        return self.given.tools if self.given else ()

    def messages(self, answers: Sequence[str] = ()) -> tuple[Message, ...]:
        """Return the messages to send: system, given messages, the turns answered so far, and the next turn.

        Args:
            answers: Answers to the turns before the next one.
        """
        messages = [] if self.system is None else [Message("system", self.system)]
        messages += self.given.before if self.given else ()
        for turn, prompt_turn in enumerate(self.turns[: len(answers) + 1]):
            messages.append(user_message(prompt_turn))
            messages += self.given.after if self.given and turn == 0 else ()
            if turn < len(answers):
                messages.append(Message("assistant", answers[turn]))
        return tuple(messages)

    def shown(self, turn: int) -> str:
        """Return the turn of index `turn` as text for people: its text, then a line for each picture or sound.

        If the prompt has `given` messages, the first turn is shown as the conversation around it: a paragraph for each
        message but the system's, with its role, without media.
        """
        if turn or not self.given:
            return "\n".join(
                [
                    self.turns[turn].text,
                    *(f"[{medium.type} {medium.sha256[:12]}]" for medium in self.turns[turn].media or ()),
                ]
            )
        messages = [message for message in self.messages() if message.role != "system"]
        return "\n\n".join(_line(message) for message in messages)

    @property
    def everything(self) -> str:
        """The text of every turn and given message, a line each, for finding copies of the prompt."""
        given_messages = (*self.given.before, *self.given.after) if self.given else ()
        return "\n".join(
            [*(turn.text for turn in self.turns), *(message.content for message in given_messages if message.content)]
        )


def _line(message: Message) -> str:
    return f"[{message.role}] {with_calls(message.content, message.calls)}"


def with_calls(text: str, calls: Iterable[ToolCall]) -> str:
    """Return text and calls for people: the text, then a line for each call."""
    return "\n".join(part for part in (text, *(f"calls {call.said}" for call in calls)) if part)


LONG_TEXT = 16_384
"""Least characters of a turn's text that `packed` compresses."""


class LongTurn(Turn, frozen=True):
    """A Turn that holds its text compressed and unpacks it when read.

    `packed` makes it. It is stored like any other Turn.
    """

    @property  # type: ignore[misc]  # the same attribute, made when it is asked for
    def text(self) -> str:
        """The unpacked text."""
        return str(msgspec.structs.astuple(self)[0])

    def __eq__(self, other: object) -> bool:
        return _plain_turn(self) == _plain_turn(other) if isinstance(other, Turn) else NotImplemented

    def __hash__(self) -> int:
        return hash(_plain_turn(self))


class LongMessage(Message, frozen=True):
    """A Message of the user whose content is packed, as in the LongTurn that it comes from. `user_message` makes it."""

    @property  # type: ignore[misc]  # the same attribute, made when it is asked for
    def content(self) -> str:
        """The unpacked text."""
        return str(msgspec.structs.astuple(self)[1])

    def __eq__(self, other: object) -> bool:
        return _plain_message(self) == _plain_message(other) if isinstance(other, Message) else NotImplemented

    def __hash__(self) -> int:
        return hash(_plain_message(self))


def packed(prompt: Prompt) -> Prompt:
    """Return the prompt with its long turns compressed in memory, for holding many prompts."""
    turns = tuple(_packed_turn(turn) for turn in prompt.turns)
    is_short = all(after is before for after, before in zip(turns, prompt.turns, strict=True))
    return prompt if is_short else msgspec.structs.replace(prompt, turns=turns)


def user_message(turn: Turn) -> Message:
    """Return a turn as the user's message; a packed text stays packed."""
    if isinstance(turn, LongTurn):
        return LongMessage("user", msgspec.structs.astuple(turn)[0], media=turn.media or ())
    return Message("user", turn.text, media=turn.media or ())


def unpack(value: object) -> str:
    """Return a packed text as a text, for msgspec's `enc_hook`.

    Raises:
        TypeError: `value` is something else, which cannot be stored.
    """
    if isinstance(value, PackedText):
        return str(value)
    raise TypeError(f"Encoding objects of type {type(value).__qualname__} is unsupported")


def _packed_turn(turn: Turn) -> Turn:
    if isinstance(turn, LongTurn) or len(turn.text) < LONG_TEXT:
        return turn
    text: Any = PackedText(turn.text)
    return LongTurn(text, turn.constraints, turn.media)


def _plain_turn(turn: Turn) -> Turn:
    return Turn(turn.text, turn.constraints, turn.media)


def _plain_message(message: Message) -> Message:
    return Message(message.role, message.content, media=message.media)


class Usage(Record, frozen=True):
    """Holds token counts of one answer; None: the model did not report it."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None


class Response(Record, frozen=True):
    """Holds one answer, keyed by (prompt_id, turn, draw).

    A failed call is a Response with status `error`, never a missing row. Only endpoints set these: `provider` is the
    provider behind a gateway, `first_token_s` the time to the first token of a streamed answer, `evidence` the server's
    words if the status is not `ok` (shortened, without account names).

    `failure` says of an `error` what to expect of asking again: after a `timeout` or a `passing` trouble an answer
    is likely, a `final` one (the context is too long, a parameter is unknown) comes again, and `not asked` was never
    sent. None: unknown, as for models on this machine and for Runs from before it was stored.

    `calls` are the tools that the answer calls, in order. For an episode (`worlds`), `steps` are all messages after
    the first observation, `text` is the model's last text, `stop_reason` the reason of the end. `calls` and `steps`
    are stored and hashed only if there are any.
    """

    prompt_id: str
    turn: int
    draw: int
    text: str
    status: Status
    stop_reason: str | None = None
    reasoning: str | None = None
    usage: Usage = Usage()
    latency_s: float | None = None
    seed: int | None = None
    served_model: str | None = None
    error: str | None = None
    provider: str | None = None
    first_token_s: float | None = None
    evidence: str | None = None
    failure: Failure | None = None
    calls: tuple[ToolCall, ...] | msgspec.UnsetType = msgspec.UNSET
    steps: tuple[Message, ...] | msgspec.UnsetType = msgspec.UNSET

    @property
    def key(self) -> tuple[str, int, int]:
        """(prompt_id, turn, draw)."""
        return (self.prompt_id, self.turn, self.draw)

    @property
    def said(self) -> str:
        """The answer as text for people: its text, then a line for each call; of an episode, every message."""
        return "\n\n".join(map(_line, self.steps)) if self.steps else with_calls(self.text, self.calls or ())

    @property
    def is_blank(self) -> bool:
        """Whether the answer has no visible character, no call and no step."""
        return not self.text.strip() and not self.calls and not self.steps

    @property
    def whole(self) -> str:
        """The answer as the JSON of a Whole, which kinds of constraint that read calls are given."""
        step_calls = tuple(call for message in self.steps or () for call in message.calls)
        return encode(Whole(self.text, self.calls or step_calls, self.steps or ())).decode()

    @property
    def is_timeout(self) -> bool:
        """Whether the time limit ended the call. Rows from before `failure` was stored have it in their evidence."""
        return self.status == "error" and (self.failure == "timeout" or self.evidence == "timeout")


class Whole(Record, frozen=True):
    """Holds all of an answer, to be given as JSON to kinds of constraint that read calls (`Constraint.reads_calls`)."""

    text: str
    calls: tuple[ToolCall, ...]
    steps: tuple[Message, ...] = ()


def read_whole(text: str) -> Whole:
    """Decode a Whole from its JSON; any other text becomes an answer without calls."""
    if text.startswith("{"):
        with contextlib.suppress(IntegrityError):
            return decode(text, Whole)
    return Whole(text, ())


class Verdict(Record, frozen=True):
    """The outcome of one constraint on one Response under one view.

    `index` is the constraint's position in its turn. `score` in [0, 1] says how close the answer came, for kinds
    that measure closeness; it does not affect passing. `span` is (start, end) in the judged text. `fault`: the
    outcome is undecided because the verifier failed (it raised, took too long, or returned no Finding), whatever the
    answer was.
    """

    prompt_id: str
    turn: int
    draw: int
    index: int
    constraint_id: str
    view: View
    outcome: Outcome
    reason: str
    measured: Json = None
    needed: Json = None
    span: tuple[int, int] | None = None
    score: float | None = None
    verifier_version: str = ""
    fault: bool = False

    @property
    def status(self) -> Outcome:
        """The outcome, under the name that other verifiers use."""
        return self.outcome

    @property
    def instruction_id(self) -> str:
        """The constraint's id, under the name that IFEval's files and `adhere verify` use."""
        return self.constraint_id


class EngineInfo(Record, frozen=True):
    """Describes the engine that produced a Response, as far as it can change the answer.

    It is part of a Run; arms are compared on one engine only.
    """

    name: str
    version: str
    precision: str
    weights_sha256: str | None = None
    settings: dict[str, Json] = {}


class Sampling(Record, frozen=True):
    """Describes how answers are drawn.

    `temperature` 0 is greedy. `seed` is the root from which each row's own seed is derived.
    """

    max_new_tokens: int = 64
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0


class _TrainingRow(Record, frozen=True, omit_defaults=True, kw_only=True):
    """Holds a training row whose answer follows a user turn (`prompt`) or a conversation (`turns`)."""

    turns: tuple[Message, ...] = ()
    """Everything before the answer, if that is more than one user turn; `prompt` is then the text of all turns."""

    @property
    def asked(self) -> str | tuple[Message, ...]:
        """The text or the messages that the model is asked."""
        prompt: str = getattr(self, "prompt")  # noqa: B009 - every row has it, as its own field
        return self.turns or prompt


class SftRow(_TrainingRow, frozen=True, omit_defaults=True):
    """Holds a supervised row in TRL's columns. `origin` tells how the completion was made: `sampled` or `repaired`."""

    prompt_id: str
    prompt: str
    completion: str
    origin: str
    instruction_id_list: tuple[str, ...]
    kwargs: tuple[dict[str, Json], ...]


CRITERIA = ("truthfulness", "helpfulness", "conciseness", "relevance", "harmlessness", "debiasing")
"""The criteria by which a reward model's pairs are labelled (arXiv 2412.15115, section 4.3)."""


class PairRow(_TrainingRow, frozen=True, omit_defaults=True):
    """Holds one preference pair in TRL's columns.

    `origin`: `sampled` (pass against fail), `repaired` (repaired against its original), or a transform's own word.
    `criteria`: those of `CRITERIA` that were rated, each with the ratings of chosen and rejected, in [0, 1].
    """

    prompt_id: str
    prompt: str
    chosen: str
    rejected: str
    origin: str
    instruction_id_list: tuple[str, ...]
    kwargs: tuple[dict[str, Json], ...]
    criteria: dict[str, tuple[float, float]] = {}


class RlRow(_TrainingRow, frozen=True, omit_defaults=True):
    """Holds an online-RL prompt. `score_mean` and `score_variance` (unbiased) are over `draws` start-model answers.

    `profile`: the version of a published suite that its constraints are judged by, if there are several.
    `checklist`: the items of a reward of that name (`rewards.combine.checklist_reward`).
    """

    prompt_id: str
    prompt: str
    draws: int
    score_mean: float
    score_variance: float
    instruction_id_list: tuple[str, ...]
    kwargs: tuple[dict[str, Json], ...]
    profile: str | None = None
    checklist: tuple[dict[str, Json], ...] = ()


T = TypeVar("T")
_encoder = msgspec.json.Encoder(order="deterministic")


def status_of_stop(*reasons: object) -> Status | None:
    """Return the status for the first of `reasons` that is known (STOP_REASONS).

    None: the model stopped by itself, or no reason is known.
    """
    words = (
        reason.partition(":")[0].rpartition(".")[2].strip().lower() for reason in reasons if isinstance(reason, str)
    )
    return next((STOP_REASONS[reason] for reason in words if reason in STOP_REASONS), None)


def encode(value: object) -> bytes:
    """Encode as canonical JSON: keys sorted, no spaces, UTF-8. Lone surrogates, invalid in JSON, become U+FFFD.

    Raises:
        ValueError: A float is not finite; an undefined number is stored as None with a reason.
    """
    plain = _clean(msgspec.to_builtins(value, enc_hook=unpack))
    return _encoder.encode(plain)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value if _is_utf8(value) else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"Cannot store {value}: an undefined number is stored as None with a reason")
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return value


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}
_building = threading.RLock()
if hasattr(os, "register_at_fork"):  # a child must not inherit a type whose decoder is half built
    os.register_at_fork(before=_building.acquire, after_in_parent=_building.release, after_in_child=_building.release)


def decoder_of(kind: type[T]) -> msgspec.json.Decoder[T]:
    """Return the decoder of a type; every decoder of this package comes from here.

    msgspec stores its information about a Struct on the class before it is complete, and completing it runs Python
    code. If two threads use a Struct for the first time, the second one reads the unfinished information and the
    process dies (SIGSEGV). So decoders are built one at a time, also for `convert`.
    """
    decoder = _decoders.get(kind)
    if decoder is None:
        with _building:
            decoder = _decoders.setdefault(kind, msgspec.json.Decoder(kind))
    return decoder


def convert(value: object, kind: type[T]) -> T:
    """Convert plain values (dictionaries, lists, numbers, texts) to `kind`.

    Raises:
        msgspec.ValidationError: There is an unknown key, or a value of the wrong type; the message says where.
    """
    decoder_of(kind)
    return msgspec.convert(value, kind)


def decode(data: bytes | str, kind: type[T]) -> T:
    """Read one JSON value as `kind`.

    Raises:
        IntegrityError: `data` is no JSON, or has an unknown key or a value of the wrong type; the message says where.
    """
    try:
        return decoder_of(kind).decode(data)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeError, RecursionError) as error:
        raise IntegrityError(f"Not a stored {getattr(kind, '__name__', kind)}: {error}") from error


def _sha256(data: bytes) -> hashlib._Hash:
    import hashlib  # 3 ms that a reward worker need not pay

    return hashlib.sha256(data)


def content_hash(value: object) -> str:
    """Return the sha256 (hex) of a value's canonical JSON: equal values have equal hashes on every machine."""
    return _sha256(encode(value)).hexdigest()


def content_hash_of_list(before: Sequence[object], items: Iterable[object]) -> str:
    """Return `content_hash([*before, [*items]])`, with one item in memory as JSON at a time."""
    digest = _sha256(encode(list(before))[:-1] + (b"," if before else b"") + b"[")
    for number, item in enumerate(items):
        digest.update(b"," * bool(number) + encode(item))
    digest.update(b"]]")
    return digest.hexdigest()


def derive_seed(*parts: object) -> int:
    """Derive a 63-bit seed from a root seed and names of its use, e.g. `derive_seed(seed, prompt.id, turn, draw)`."""
    digest = _sha256("\x1f".join(str(part) for part in parts).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def cache_root(cache: Path | None = None) -> Path:
    """Return the folder of what can be fetched again (models, floors): `cache`, `$ADHERE_CACHE` or ~/.cache/adhere."""
    from pathlib import Path

    return cache or Path(os.environ.get("ADHERE_CACHE") or Path.home() / ".cache" / "adhere").expanduser()


@contextlib.contextmanager
def open_whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing whose readers see the old bytes or all of the new ones, never a part.

    It uses a temporary file, fsync and rename. If anything is raised inside, an interruption too, no trace of the new
    file is left.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_atomic(path: Path, data: bytes) -> None:
    """Write a whole file as `open_whole` does."""
    with open_whole(path) as file:
        file.write(data)


def write_rows(path: Path, rows: Iterable[object]) -> str:
    """Write JSON lines as `open_whole` does, a row at a time; return the sha256 (hex) of the file."""
    digest = _sha256(b"")
    with open_whole(path) as file:
        for row in rows:
            line = encode(row) + b"\n"
            digest.update(line)
            file.write(line)
    return digest.hexdigest()


def read_rows(path: Path, kind: type[T]) -> list[T]:
    """Read JSON lines that `write_rows` wrote.

    Raises:
        IntegrityError: A line cannot be read; the message names file and line.
    """
    return list(_rows(path, kind))


def read_prompts(path: Path) -> tuple[Prompt, ...]:
    """Read prompts as `read_rows` does, and pack their long texts.

    Raises:
        IntegrityError: A line cannot be read; the message names file and line.
    """
    return tuple(packed(prompt) for prompt in _rows(path, Prompt))


def _rows(path: Path, kind: type[T]) -> Iterator[T]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield decode(line, kind)
            except IntegrityError as error:
                raise IntegrityError(f"{path}:{number}: {error}") from error
