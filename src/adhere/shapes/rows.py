"""Read a training row of TRL or of a public data set: what is asked, and what is answered.

| columns | known from |
|---|---|
| `prompt` (a text or messages); `completion`, or `chosen` and `rejected` (texts or messages) | TRL |
| `messages`, `conversations` or `conversation`, whose last message is the answer | TRL, ultrachat, ShareGPT |
| `chosen` and `rejected` as whole conversations that differ in their last message | TRL, ultrafeedback_binarized |
| `instruction`, `input`, `system`, `history`; `output`, or `chosen` and `rejected` | alpaca, LLaMA-Factory |
| `input` and `output`, without `instruction` | OpenRLHF |
| `question`, `query`, `problem`; `response`, `answer`, `solution`; `system_prompt`, `context` | gsm8k, OpenOrca |
| `contents` of `parts`, `systemInstruction` | Gemini's tuning files |
| texts whose turns begin with Human: and Assistant: | Anthropic's hh-rlhf |

What a row says besides its conversation (`prompt` beside `messages`) must agree with it. Null columns count as absent,
because Arrow writes null if a row has no such column. A text that is only the JSON of messages is read as these
messages, as CSV files and databases store them. Only the assistant's words are learned.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from adhere.errors import UsageError
from adhere.schema import Message, Role
from adhere.shapes.labels import label_of, names_constraints, read_literal
from adhere.shapes.messages import ROLES, content_of, field, is_listed, is_message, read_message

Row = dict[str, Any]
Table = Literal["sft", "pairs", "rl"]
SIDES: Mapping[str, tuple[str, ...]] = {"sft": ("completion",), "pairs": ("chosen", "rejected"), "rl": ()}
CONVERSATIONS = ("messages", "conversations", "conversation", "contents")
_SYSTEM = ("system", "system_prompt", "systemInstruction", "system_instruction")
_ASKED = ("question", "query", "problem")  # what others call an instruction
_ANSWERED = ("response", "answer", "solution")  # and its output
FEWEST_IN_COMMON = 12
_UNUSABLE = ("tools", "images", "image", "audio", "audios", "videos")
_LABELS = ("ground_truth", "label")
_MARK = re.compile(r"\n\n(Human|Assistant): ?")


class Exchange(NamedTuple):
    """Holds the conversation that a row asks about, and its answers.

    Attributes:
        turns: Everything before the answer; the last is a user's.
        answers: `completion`, or `chosen` and `rejected`; none in RL.
        is_text: Whether the row gives its prompt as a text.
    """

    turns: tuple[Message, ...]
    answers: dict[str, str]
    is_text: bool

    @property
    def is_one(self) -> bool:
        """Whether the conversation is one user turn and nothing else."""
        return len(self.turns) == 1 and self.turns[0].role == "user"


def read_exchange(row: Mapping[str, Any], table: str) -> Exchange:
    """Return what a row asks and answers.

    Args:
        row: A row in any shape of the module's table, or as `adhere build` writes it (`turns` beside `prompt`).
        table: `sft`, `pairs` or `rl`, which says what answers are needed.

    Raises:
        UsageError: The row has nothing to learn, its columns contradict each other, or it has another shape.
    """
    columns = {name: value for name, value in row.items() if value is not None}
    full = {name: value for name, value in _in_known_names(columns, table).items() if value is not None}
    unusable = next((name for name in _UNUSABLE if name in full and not is_empty(full[name])), None)
    if unusable is not None:
        raise UsageError(f"the column {unusable!r} cannot be trained on yet; leave such rows out")
    if table == "sft" and full.get("label") is False:
        raise UsageError("label is false: this answer was not preferred (KTO's rows), and it would be learned as right")
    sides = SIDES[table]
    answers = {name: _messages(full[name], "assistant", name) for name in sides if name in full}
    if table == "pairs" and set(answers) == set(sides) and _are_whole(answers):
        return _check(*_divide(answers), sides, columns)
    turns, is_text = _prompt_of(full, has_answers=bool(answers) or not sides)
    if not answers and sides == ("completion",):
        conversation = _conversation(full)
        if conversation is not None:
            _insist_on_learned(full)
            return _check(conversation[:-1], {"completion": conversation[-1:]}, sides, columns)
        if "output" in full:
            answers = {"completion": _messages(full["output"], "assistant", "output")}
    if sides == ("completion",) and "completion" in answers:
        turns, answers = _append(turns, answers["completion"])
    return _check(turns, answers, sides, columns)._replace(is_text=bool(is_text))


def _in_known_names(row: Mapping[str, Any], table: str) -> Row:
    """Rename other data sets' columns for question, context and answer to `instruction`, `input`, `output`.

    Raises:
        UsageError: Two columns could be the same thing, so it is not clear which to learn.
    """
    columns = {name for name, value in row.items() if not is_empty(value)}
    our_names: dict[str, str] = {}
    if columns.isdisjoint(CONVERSATIONS):
        if columns.isdisjoint({"prompt", "turns", "instruction", "input"}):
            our_names |= _only(columns, _ASKED, "instruction", "prompt")
        if table == "sft" and columns.isdisjoint({"completion", "output"}):
            our_names |= _only(columns, _ANSWERED, "output", "completion")
        if (
            "context" in columns
            and "input" not in columns
            and ("instruction" in columns or "instruction" in our_names.values())
        ):
            our_names |= {"context": "input"}
    new = {*our_names.values(), *(("prompt",) if "instruction" in our_names.values() else ())}  # that one is empty
    return {our_names.get(name, name): value for name, value in row.items() if name not in new}


def _only(columns: set[str], names: Sequence[str], ours: str, usual_name: str) -> dict[str, str]:
    candidates = [name for name in names if name in columns]
    if len(candidates) > 1:
        raise UsageError(
            f"{' and '.join(candidates)} could each be its {usual_name}; rename the one that is to {usual_name!r}"
        )
    return dict.fromkeys(candidates, ours)


def is_empty(value: Any) -> bool:
    """Tell whether a column holds nothing: null, an empty text or list, or the JSON text of an empty value."""
    if isinstance(value, str):
        return value.strip() in {"", "[]", "{}", "null"}
    return value is None or (hasattr(value, "__len__") and len(value) == 0)


def _messages(value: Any, role: Role, name: str) -> list[Message]:
    """Read a text as one message of `role`; read one message or a list of messages as it is."""
    if isinstance(value, str):
        if (messages := _listed_in(value)) is not None:
            return _messages(messages, role, name)
        return _hh(value) if _is_hh(value, name) else [Message(role, value)]
    if is_message(value):
        value = [value]
    if not is_listed(value):
        raise UsageError(f"{name} must be a text or a list of messages, got {type(value).__name__}: {value!r:.60}")
    if role == "user" and not any(map(is_message, value)) and any(value) and all(map(_is_part, value)):
        value = [{"role": role, "content": value}]  # one content in parts
    return [turn for message in value if (turn := _message(message, name)) is not None]


def _is_part(value: Any) -> bool:
    return isinstance(value, Mapping) and "type" in value and "text" in value


def _message(value: Any, name: str) -> Message | None:
    """Read one message to train on; None for a system message without a text."""
    message = read_message(value, name)
    if message.calls or message.role == "tool":
        raise UsageError(
            f"{name} holds a call of a tool or its result, which cannot be trained on yet; leave such rows out"
        )
    if message.other:
        raise UsageError(
            f"{name} holds a part of type {message.other[0]!r}, which cannot be trained on; leave such rows out"
        )
    if message.role == "system" and not (message.text or "").strip():
        return None
    if message.text is None:
        raise UsageError(f"{name} holds a message of the {message.role} without a content: {value!r:.80}")
    return Message(message.role, message.text)


def _listed_in(text: str) -> list[Any] | None:
    """Return the messages whose JSON or Python literal a text is; None for any other text."""
    try:
        value = read_literal(text) if text.lstrip().startswith("[{") else None
    except ValueError:
        return None
    return value if isinstance(value, list) and value and all(map(is_message, value)) else None


def _is_hh(text: str, name: str) -> bool:
    """Tell whether a text is a conversation of hh-rlhf: an answer begins with a mark, a prompt also ends with one."""
    if name in SIDES["pairs"]:
        return bool(_MARK.match(text))
    return name == "prompt" and text.lstrip().startswith("Human:") and text.rstrip().endswith("\n\nAssistant:")


def _hh(text: str) -> list[Message]:
    """Return the turns of a text that begin with Human: and Assistant:, without an empty one at the end."""
    pieces = _MARK.split("\n\n" + text.lstrip())[1:]
    if pieces[-2] == "Assistant" and not pieces[-1].strip():
        pieces = pieces[:-2]
    return [
        Message(ROLES[who.lower()], content.strip()) for who, content in zip(pieces[::2], pieces[1::2], strict=True)
    ]


def _conversation(row: Mapping[str, Any]) -> list[Message] | None:
    """Return the whole conversation of a row, with its `system` column in front; None if it has none."""
    name = next((name for name in CONVERSATIONS if not is_empty(row.get(name))), None)
    if name is None:
        return None
    return _with_system(row, _messages(row[name], "user", name))


def _insist_on_learned(row: Mapping[str, Any]) -> None:
    """Refuse a conversation whose last message is marked as not to be learned (`weight: 0`, `train: false`)."""
    messages = next(row[name] for name in CONVERSATIONS if not is_empty(row.get(name)))
    last = messages[-1] if is_listed(messages) else messages
    if field(last, "weight", "train", "training") in (0, 0.0, False):
        raise UsageError("the last answer is marked as not to be learned (weight 0, train false); leave such rows out")


def _with_system(row: Mapping[str, Any], messages: list[Message]) -> list[Message]:
    name = next((name for name in _SYSTEM if not is_empty(row.get(name))), "")
    value = row.get(name)
    content = content_of(field(value, "parts", "content") if isinstance(value, Mapping) else value, name)
    if content.text is None or not content.text.strip() or (messages and messages[0].role == "system"):
        return messages
    return [Message("system", content.text), *messages]


def _prompt_of(row: Mapping[str, Any], *, has_answers: bool) -> tuple[list[Message], bool | None]:
    """Return everything that is asked, and whether it was a text; ([], None) if the row has no prompt of its own."""
    if not is_empty(row.get("turns")):
        return _messages(row["turns"], "user", "turns"), False
    if "prompt" in row and (has_answers or all(is_empty(row.get(name)) for name in CONVERSATIONS)):
        prompt = row["prompt"]
        return _with_system(row, _messages(prompt, "user", "prompt")), isinstance(prompt, str)
    if isinstance(row.get("instruction"), str):
        text = "\n".join(part for part in (row["instruction"], row.get("input") or "") if part)
        history = [Message(role, content) for pair in row.get("history") or () for role, content in _pair(pair)]
        return _with_system(row, [*history, Message("user", text)]), True
    conversation = _conversation(row)
    if conversation is not None:
        return conversation, False
    if "input" in row and not isinstance(row["input"], Mapping):
        return _messages(row["input"], "user", "input"), isinstance(row["input"], str)
    return [], None


def _pair(pair: Any) -> list[tuple[Role, str]]:
    if not is_listed(pair) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):
        raise UsageError(f"history is a list of pairs of texts, got {pair!r:.60}")
    return [("user", pair[0]), ("assistant", pair[1])]


def _are_whole(answers: Mapping[str, Sequence[Message]]) -> bool:
    """Tell whether both sides are whole conversations, which begin with what was asked."""
    return all(messages and messages[0].role != "assistant" for messages in answers.values())


def _divide(answers: Mapping[str, list[Message]]) -> tuple[list[Message], dict[str, list[Message]]]:
    """Split two whole conversations into what they have in common and their last messages."""
    chosen, rejected = answers["chosen"], answers["rejected"]
    if chosen[:-1] != rejected[:-1]:
        place = next(
            (at for at, (a, b) in enumerate(zip(chosen, rejected, strict=False)) if a != b),
            min(map(len, answers.values())),
        )
        raise UsageError(
            f"chosen and rejected differ before their last message (from message {place + 1} on), so they are no two "
            "answers to one prompt"
        )
    return chosen[:-1], {name: messages[-1:] for name, messages in answers.items()}


def _append(turns: list[Message], completion: list[Message]) -> tuple[list[Message], dict[str, list[Message]]]:
    """Return (all that is asked, answer) for a completion of several messages, which may begin with the prompt.

    All messages but the last are asked.
    """
    before = completion[:-1]
    if before[: len(turns)] != turns or not turns:
        if any(message.role == "system" for message in before) or (before and before[0].role == "user" and turns):
            raise UsageError("completion begins with other words of the user than the prompt; say once what is asked")
        before = [*turns, *before]
    return before, {"completion": completion[-1:]}


def _check(
    turns: Sequence[Message], answers: Mapping[str, Sequence[Message]], sides: Sequence[str], row: Mapping[str, Any]
) -> Exchange:
    """Return the exchange, if each answer is one message of the assistant and the user speaks last before it.

    Raises:
        UsageError: That is not so, or the row's `prompt` differs from the conversation.
    """
    for name in sides:
        messages = answers.get(name, ())
        if len(messages) > 1 and name != "completion":
            raise UsageError(
                f"{name} must be a text or one message of the assistant, "
                f"it has {len(messages)} messages after the prompt"
            )
        if [message.role for message in messages] != ["assistant"]:
            got = (
                f"it is the {messages[0].role}'s: {messages[0].content!r:.60}"
                if messages
                else f"there is none in {_names(row)}"
            )
            raise UsageError(
                f"{name} must be a text or one message of the assistant, and {got}. What a model learns is its own "
                "words; leave out what comes after its last answer"
            )
    if not turns or turns[-1].role != "user":
        raise UsageError(
            f"there is no prompt that ends with a user's turn in {_names(row)}, so there is nothing to answer"
        )
    _insist_on_one_prompt(turns, row)
    return Exchange(tuple(turns), {name: answers[name][0].content for name in sides}, is_text=False)


def _names(row: Mapping[str, Any]) -> str:
    return f"the columns {', '.join(map(str, row))}" if row else "a row without columns"


def _insist_on_one_prompt(turns: Sequence[Message], row: Mapping[str, Any]) -> None:
    """Refuse a `prompt` that differs from the conversation beside it."""
    prompt = row.get("prompt")
    if is_empty(prompt) or not is_empty(row.get("turns")):
        return
    prompt_texts = [message.content for message in _messages(prompt, "user", "prompt")]
    texts = [message.content for message in turns]
    whole = "\n".join(texts)
    if prompt_texts != texts[: len(prompt_texts)] and not all(_agree(text, [*texts, whole]) for text in prompt_texts):
        raise UsageError(
            f"prompt says {prompt_texts[0]!r:.60}, and the conversation {texts[-1]!r:.60}: keep one of the two"
        )


def _agree(text: str, others: Sequence[str]) -> bool:
    """Tell whether a text equals one of `others`, or one holds the other (a template around it).

    A text that is held must have at least FEWEST_IN_COMMON characters.
    """
    pairs = [(min(text.strip(), other.strip(), key=len), max(text, other, key=len)) for other in others]
    return any(text.strip() == other.strip() for other in others) or any(
        len(short) >= FEWEST_IN_COMMON and short in long for short, long in pairs
    )


def in_trl_columns(row: Mapping[str, Any], table: str) -> Row:
    """Convert a row of any shape to TRL's columns; a prompt that is a text stays one, all else becomes messages.

    Columns besides the conversation are kept. RL rows get `instruction_id_list` and `kwargs` from a ground truth.

    Raises:
        UsageError: `read_exchange` refuses the row.
    """
    exchange = read_exchange(row, table)
    is_text = exchange.is_text and exchange.is_one
    used_columns = {
        *CONVERSATIONS, *SIDES["sft"], *SIDES["pairs"], *_SYSTEM, "prompt", "turns", "instruction", "input", "output",
        "history", *(row.keys() - _in_known_names(row, table).keys()),
    }  # fmt: skip
    return {
        **trl_row(exchange, is_text=is_text),
        **{name: value for name, value in row.items() if name not in used_columns},
        **constraint_columns(row, table),
    }


def trl_row(exchange: Exchange, *, is_text: bool) -> Row:
    """Return the prompt and the answers in TRL's columns: as texts if `is_text`, else as messages.

    With `is_text` only the first turn is the prompt.
    """
    turns = [{"role": turn.role, "content": turn.content} for turn in exchange.turns]
    row: Row = {"prompt": exchange.turns[0].content if is_text else turns}
    for side, text in exchange.answers.items():
        row[side] = text if is_text else [{"role": "assistant", "content": text}]
    return row


def constraint_columns(row: Mapping[str, Any], table: str) -> Row:
    """Return `instruction_id_list` and `kwargs` of an RL row that has them only in its ground truth or label.

    Raises:
        UsageError: The ground truth names a function of open-instruct, which is no constraint of ours.
    """
    if table != "rl" or row.get("instruction_id_list") is not None:
        return {}
    model = row.get("reward_model")
    truths = [row.get(name) for name in _LABELS] + [model.get("ground_truth") if isinstance(model, Mapping) else None]
    truth = next((truth for truth in truths if not isinstance(truth, bool | int | float | None)), None)
    if truth is None:
        return {}
    try:
        label = label_of(truth, "The ground truth")
    except UsageError:
        return {}  # the answer to a sum, a text: another reward's business
    if names_constraints(label):
        ids = label["instruction_id_list"] if "instruction_id_list" in label else label["instruction_id"]
        return {"instruction_id_list": ids, "kwargs": label["kwargs"]}
    if isinstance(label, Mapping) and "func_name" in label:
        raise UsageError(
            f"the ground truth names open-instruct's function {label['func_name']!r}, which no kind of ours is; take "
            "rows with instruction_id and kwargs (IF_multi_constraints)"
        )
    return {}


def texts_in(value: Any, name: str) -> list[str]:
    """Return the texts in a column of messages, parts or texts.

    Raises:
        UsageError: The column holds something else.
    """
    if isinstance(value, str):
        messages = _listed_in(value)
        return [value] if messages is None else texts_in(messages, name)
    if is_message(value):
        message = read_message(value, name)
        if message.text is None and message.role != "assistant" and not message.other:
            raise UsageError(f"column {name!r} holds a message of the {message.role} without a content: {value!r:.60}")
        return [message.text] if message.text else []
    if is_listed(value):
        return [text for part in value for text in ([part] if isinstance(part, str) else _texts_of(part, name))]
    raise UsageError(f"column {name!r} holds {value!r:.60}; it must hold a text or a list of messages")


def _texts_of(part: Any, name: str) -> list[str]:
    if is_message(part):
        return texts_in(part, name)
    content = part.get("content", part.get("value", part.get("text"))) if isinstance(part, Mapping) else None
    if content is None:
        raise UsageError(f"column {name!r} holds {part!r:.60}; it must hold a text or a list of messages")
    return [text] if (text := content_of(content, name).text) else []
