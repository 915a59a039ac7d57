"""Read printed names: the model, its tuning, the benchmark, its variant, the metric.

Every guess keeps its reason. The names themselves are data: `names.toml`.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Collection, Iterable
from importlib import resources
from typing import Any, Literal, NamedTuple

from adhere.evidence.claims.printed import plain

Tuning = Literal["base", "instruct", ""]
Role = Literal["score", "aggregate", "delta", "share", "attribute"]
Kind = Literal["models", "benchmarks", "metric", "shots", "size", "categories", "note", "attribute"]

_CITATION = re.compile(
    r"\s*\((?=[^()]*\b(?:19|20)\d\d[a-z]?\b)[^()]*(?:,|et al)[^()]*\)|\s*(?<!\b[a-z])\[\d+(?:,\s*\d+)*\]"
)
_OWNER = re.compile(r"^(?!w/)[A-Za-z0-9][\w.-]*/(?=[A-Za-z])")  # a repository's owner: meta-llama/Llama-3-8B
_SUPER = re.compile(r"[¹²³⁴⁵⁶⁷⁸⁹⁰†‡§*]+$")
_MODEL_TOKEN = re.compile(
    r"\d+x\d+(?:\.\d+)?b(?![a-z])|a\d+(?:\.\d+)?b(?![a-z])|\d+(?:\.\d+)?[bmk](?=a\d|[^a-z]|$)|(?<![a-z])[a-z]\d+"
    r"(?:\.\d+)?(?![a-z\d])|\d+(?:\.\d+)?|[a-z]+|[\u4e00-\u9fff]+|\+"
)
_SIZE = re.compile(r"^(?:\d+x)?\d+(?:\.\d+)?[bm]$")
_SIZE_IN_NAME = re.compile(r"(?<![A-Za-z\d.])(?:\d+x)?\d+(?:\.\d+)?[BbM](?![a-z])")
_TUNED = frozenset({"instruct", "inst", "chat", "it", "rlhf", "aligned", "对话", "对齐"})
_BASE = frozenset({"base", "pt", "pretrain", "pretrained", "底座", "基座", "基础"})
_OURS = re.compile(r"\s*[(\[\uff08]\s*(?:ours?|this work|我们的?|本文)\s*[)\]\uff09]\s*$|\s+ours$", re.IGNORECASE)
# Not an arrow between two words: `en→de`, `ZH ⇒ XX`.
_PICTURE = re.compile(
    r"(?:(?!(?:(?<=\w)|(?<=\w\s))[\u2190\u2192\u2194\u21d0\u21d2\u21d4]\s?\w)[\u2190-\u21ff]|[\u25b2\u25b3\u25bc\u25bd\u2600-\u27bf\ufe0f\U0001f000-\U0001faff])+"
)
_SEVERAL = re.compile(r"\s*[(\[]([^()\[\]/]+(?:/[^()\[\]/]+)+)[)\]]$")
_BEHIND_SLASH = re.compile(r"\s*/\s*")
_OTHER_KINDS = frozenset({"rm", "reward", "prm", "embedding"})  # neither base nor instruct
_WRITTEN = {"moe": "MoE", "rm": "RM", "mini": "mini", "vl": "VL"}
_LENGTH = re.compile(r"^\d+(?:\.\d+)?\s?[kKM](?:\s*tokens)?$")
_PARAMETERS = re.compile(r"\bparam(?:eters|s?\.?)$", re.IGNORECASE)
_SHOTS = re.compile(r"\b(\d+(?:-\d+)?)[- ]shots?(?:@\d+)?\b|(?<![\w-])(zero|one|few)[- ]shot\b", re.IGNORECASE)
_PAREN = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]")
REMARK = re.compile(r"\s*[(\[\uff08](?P<remark>[^()\[\]\uff08\uff09]*)[)\]\uff09]\s*")
_LESS, _MORE = r"(?:lower|smaller|less|fewer)", r"(?:higher|larger|greater|more)"
_BETTER = r"(?:[\s-]+(?:values?|scores?|numbers?|rates?|is|are|means?|indicates?))*[\s,=-]+(?:the\s+)?better\b"
_LOWER_IS_BETTER = re.compile(rf"\b{_LESS}{_BETTER}|越[低小少]越好", re.IGNORECASE)
_HIGHER_IS_BETTER = re.compile(rf"\b{_MORE}{_BETTER}|越[高大多]越好", re.IGNORECASE)
# Of which columns a caption's "lower is better" speaks, or does not.
_SCOPE = re.compile(
    r"(?:except|but|other\s+than|apart\s+from|excluding)(?:\s+(?:for|on|in))?\s+(?P<others>[^.;:()]+)|"
    r"\bbetter\s+(?:only\s+)?(?:for|on|in)\s+(?P<behind>[^.;:()]+)|"
    rf"(?:\b(?:for|on|in)\s+(?P<before>[^.;:()]+?),?|(?P<colon>[^.;:()]+):)\s+(?:{_LESS}|{_MORE})\b",
    re.IGNORECASE,
)
_HARM = re.compile(
    r"\b(?:harmful|toxicity|toxigen|hallucination|latency|error)s?\b(?! analysis)|\b(?:loss|ppl)\b", re.IGNORECASE
)
_ARROW_UP, _ARROW_DOWN = re.compile(r"[↑⬆⇑▲△]"), re.compile(r"[↓⬇⇓▼▽]")

_NO_PROPORTIONS = frozenset({"perplexity", "bits per byte", "rating", "BLEU", "ROUGE-L", "error rate", "WER", "CER"})
_HOW_PRINTED = re.compile(
    r"\s*[(\[]\s*(?:in\s+)?(?:%|/\s?\d+|\d+\s?%\s*CI|CI|n\s*=\s*\d[\d,]*|[±+/-]*\s*(?:std|sd|se|stderr)\.?)\s*[)\]]",
    re.IGNORECASE,
)
_JOINS = re.compile(r"[&/+,]|and|or|与|和")
_GREEK = re.compile(
    r"[\u03b1-\u03c9](?:\s*[/×]\s*[\u03b1-\u03c9])*"
)  # a parameter of training: no benchmark is called β
_PERPLEXITIES = frozenset({"wikitext2", "wikitext", "ptb", "c4"})  # printed as perplexities wherever no metric is named


class ModelName(NamedTuple):
    """Holds the name of a model: `key` is equal for all its spellings, `name` is how we write it.

    `tuning` is part of what a number belongs to: a base model and its tuned model are two models. `parameters` is the
    size in the name, in billions.
    """

    key: str
    name: str
    tuning: Tuning
    parameters: float | None
    guesses: tuple[str, ...] = ()


class BenchmarkName(NamedTuple):
    """Holds a benchmark with its variant (`v1`, `multilingual`, `128K`) and metric (`strict-prompt`).

    `key` is for comparing names, `shots` the number of examples in the prompt as printed (`5`, `3-5`). `is_known` says
    that names.toml lists the benchmark, `is_group` that its sections hold rows of their own. `guesses` say what was
    assumed to read the name. `n` is its number of items, where known. `has_scale` says that scores are a share of `n`
    items, or that the end of the scale (`top`) is listed. `written` is the document's own spelling where it differs
    from `name` (`SWE Verified`).
    """

    key: str
    name: str
    variant: str = ""
    metric: str = ""
    n: int | None = None
    top: float = 100.0
    shots: str = ""
    is_known: bool = False
    is_group: bool = False
    has_scale: bool = False
    guesses: tuple[str, ...] = ()
    written: str = ""

    @property
    def shown(self) -> str:
        """The benchmark's name as the document spells it, if that spelling is listed; else `name`."""
        return self.written or self.name


@functools.cache
def _data() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("names.toml").read_text(encoding="utf-8"))


@functools.cache
def _spellings() -> list[tuple[re.Pattern[str], str, str]]:
    return [
        (re.compile(row["pattern"], re.IGNORECASE), row["becomes"], row["reason"]) for row in _data()["model_spelling"]
    ]


@functools.cache
def _roles() -> dict[str, re.Pattern[str]]:
    return {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _data()["roles"].items()}


@functools.cache
def _benchmarks() -> dict[str, dict[str, Any]]:
    more = ({"name": name.strip()} for name in _data()["more"]["benchmarks"].split(","))
    return {benchmark_key(row["name"]): row for row in more} | {
        benchmark_key(spelling): row
        for row in _data()["benchmark"]
        for spelling in (row["name"], *row.get("aliases", ()))
    }


@functools.cache
def _metrics() -> list[tuple[re.Pattern[str], str, bool]]:
    return [
        (
            re.compile(rf"(?P<own>{row['pattern']})(?:[ _-]scores?\b)?", re.IGNORECASE),
            row["name"],
            row.get("lower", False),
        )
        for row in _data()["metric"]
    ]


@functools.lru_cache(maxsize=1 << 16)
def clean_label(text: str) -> str:
    """Return a label without citations and footnote marks."""
    text = plain(text)
    if "(" in text or "[" in text:
        text = _CITATION.sub("", text)
    return _SUPER.sub("", text).strip(" :\uff1a*_")


def without_pictures(label: str) -> str:
    """Return a label without arrows and medals: `STA ↑` is STA."""
    return _PICTURE.sub("", clean_label(label)).replace("()", "").strip()


@functools.lru_cache(maxsize=1 << 16)
def shots_of(text: str) -> tuple[str, str]:
    """Return the shots that a label states (`5`, `3-5`, `0`; empty if it states none), and the label without them."""
    match = _SHOTS.search(text)
    if match is None:
        return "", text
    rest = re.sub(r"\(\s*[,;]?\s*|\s*[,;]\s*(?=\))", "(", text[: match.start()] + text[match.end() :])
    rest = re.sub(r"\(\s*[,;]?\s*\)?\s*$|\(\s*\)", "", rest).replace("( ", "(")
    if rest.count("(") > rest.count(")"):
        rest += ")"
    rest = re.sub(r"\(\)", "", rest.replace("()", ""))
    return match[1] or {"zero": "0", "one": "1", "few": "few"}[match[2].lower()], " ".join(rest.split()).strip(" ,;")


# ── roles ──


def is_role(role: str, label: str) -> bool:
    """Tell whether a whole label matches the pattern of a role in names.toml: `aggregate`, `delta`, `models`, …."""
    return bool(label) and _roles()[role].fullmatch(label.strip()) is not None


_HEADS: tuple[Kind, ...] = ("models", "benchmarks", "metric", "shots", "size", "categories", "note")


@functools.lru_cache(maxsize=65536)
def label_kind(label: str) -> Kind | Literal[""]:
    """Return what the labels below a header are: models, benchmarks, shots …; empty if the header does not say.

    The whole label must say it (`Benchmark (Metric)`, `# Shots`, `Training Time (GPU hours)`): a word within a name
    does not, and a known model or benchmark is a name.
    """
    bare_label = clean_label(label)
    core = " ".join(re.sub(r"[#_]", " ", _PAREN.sub(" ", shots_of(bare_label)[1])).split()).strip(" :/")
    if not core:
        return "shots" if _SHOTS.search(bare_label) else "attribute" if bare_label == "#" else ""
    first, *others = _BEHIND_SLASH.split(core)
    for kind in _HEADS:
        if is_role(kind, core) or is_role(kind, first):
            return kind
    # `Translator/Dataset`: the other axis holds the data sets, so this one what was measured on them.
    if len(others) == 1 and is_role("benchmarks", others[0]):
        return "models"
    if _PARAMETERS.search(core) and "activ" not in core.lower():
        return "size"  # `LLM Params`
    return "attribute" if is_attribute(bare_label) else ""


@functools.lru_cache(maxsize=65536)
def is_attribute(label: str) -> bool:
    """Tell whether a label names an attribute: `Training Time (GPU hours)`, `词表大小`.

    Its last word names one, or every word does or may go with one.
    """
    bare_label = clean_label(label)
    is_spread = is_role("spread", bare_label.strip("[]()")) or is_role("spread", _PAREN.sub("", bare_label).strip())
    is_level = "=" in bare_label and is_value(bare_label)  # `rate=3`
    is_name = is_length(bare_label) or is_known(bare_label) or looks_like_model(bare_label) or is_metric(bare_label)
    if is_level or (is_name and not is_spread):
        return False
    if is_spread or bare_label.startswith("#") or "$" in bare_label or is_greek(bare_label):
        return True
    data = _data()["attributes"]
    inside = [(a or b).strip().lower() for a, b in _PAREN.findall(bare_label)]
    if any(re.fullmatch(data["units"], unit) for unit in inside):
        return True
    text = _PAREN.sub(" ", bare_label).lower().replace("#", " ").rstrip()
    is_head = text.endswith(tuple(data["chinese_heads"]))
    for word in data["chinese"]:
        text = text.replace(word, " ")
    words = re.findall(r"[^\W_]+(?:-[^\W_]+)*", text)
    if not words:
        return any(word in bare_label for word in data["chinese"]) or bare_label.strip() == "#"
    telling, beside = _attribute_words()
    words = [part for word in words for part in word.split("-")]
    is_head |= words[-1] in data["heads"].split() or words[-2:] in (["train", "loss"], ["training", "loss"])
    if is_head or (len(words) > 1 and "num" in words):
        return True  # the last word of a name says what it is: `Mean Latency` is a latency
    return any(word in telling for word in words) and all(
        word in telling or word in beside or word.isdigit() for word in words
    )


@functools.cache
def _attribute_words() -> tuple[frozenset[str], frozenset[str]]:
    data = _data()["attributes"]
    return frozenset(data["words"].split()), frozenset(data["beside"].split())


def is_greek(label: str) -> bool:
    """Tell whether a label is nothing but Greek letters.

    Over a column this is a parameter of training, but a model may be called so.
    """
    return _GREEK.fullmatch(clean_label(label)) is not None


def is_setting(label: str) -> bool:
    """Tell whether a label only says how a model was run: `BF16`, `Int4`, `8bits`."""
    return re.fullmatch(_data()["attributes"]["settings"], clean_label(label), re.IGNORECASE) is not None


@functools.lru_cache(maxsize=1 << 16)
def is_known(label: str) -> bool:
    """Tell whether a label is the name of a listed benchmark, leaving out its parenthesis, metric and shots."""
    core = " ".join(_PAREN.sub(" ", shots_of(without_pictures(label))[1]).split())
    return bool(core) and any(_benchmark_row(name, []) for name in (core, _split_metric(core)[1]))


@functools.lru_cache(maxsize=65536)
def role_of(label: str) -> Role:
    """Return the role of the numbers under a label: score, aggregate, delta, share or attribute.

    A known benchmark is a score whatever its name (DROP is no difference).
    """
    bare_label = shots_of(clean_label(label))[1]
    if is_known(bare_label):
        return "score"
    if is_role("aggregate", bare_label):
        return "aggregate"
    if is_role("delta", bare_label):
        return "delta"
    if is_role("share", bare_label) or is_role("share", _PAREN.sub("", bare_label).strip()):
        return "share"
    if is_attribute(bare_label) or is_role("size", bare_label.replace("#", "").strip()):
        return "attribute"
    return "score"


_VALUE = re.compile(r"(?:[^\d=]{1,20}=\s?)?[<>≤≥]?\d[\d.,]*(?:\s?[x×]\s?10\^?-?\d+|e-?\d+)?")


def is_value(label: str) -> bool:
    """Tell whether a label only says what something was set to: `100`, `E=3`, `1x10-04`."""
    return _VALUE.fullmatch(label) is not None


def is_length(label: str) -> bool:
    """Tell whether a label is a context length: `128K`, `32k tokens`."""
    return _LENGTH.match(label.strip()) is not None


def said_of(*labels: str) -> frozenset[str]:
    """Return what labels say on whether more is better: `up` or `down` by arrow or words, `lower` by the measure.

    Empty if they say nothing.
    """
    return frozenset(filter(None, map(_said_of, labels)))


def said_of_all(caption: str) -> frozenset[str]:
    """Return what a caption says, as `said_of`, of all numbers of its table; nothing if it names both directions."""
    is_down = _ARROW_DOWN.search(caption) or _LOWER_IS_BETTER.search(caption)
    is_up = _ARROW_UP.search(caption) or _HIGHER_IS_BETTER.search(caption)
    return frozenset() if is_down and is_up else said_of(caption)


def said_in_caption(caption: str, label: str, labels: Collection[str]) -> frozenset[str]:
    """Return what a caption says, as `said_of`, of the column `label`, one of the table's `labels`.

    If the caption names the columns that it speaks of ("lower is better for FID"), it says nothing of the others; if it
    names an exception, it says the opposite of that.
    """
    hints = said_of_all(caption)
    for scope in _SCOPE.finditer(caption):
        scope_labels = [
            label
            for label in labels
            if label and re.search(rf"(?<!\w){re.escape(label)}(?!\w)", scope[scope.lastgroup or 0], re.IGNORECASE)
        ]
        if not scope_labels:
            continue
        is_lower = _LOWER_IS_BETTER.search(caption) is not None
        if _HIGHER_IS_BETTER.search(caption) and is_lower:
            return frozenset()
        if scope["others"] is not None:
            return frozenset({"down"} if (label in scope_labels) != is_lower else ())
        return hints if label in scope_labels else frozenset()
    return hints


def has_arrow(label: str) -> bool:
    """Tell whether a label says by an arrow that more or less is better."""
    return bool(_ARROW_UP.search(label) or _ARROW_DOWN.search(label))


def direction_of(*labels: str, hints: frozenset[str] = frozenset()) -> Literal["higher", "lower"]:
    """Return `lower` if less is better, by `labels` and by `hints` that `said_of` gave of others; else `higher`."""
    hints = hints.union(map(_said_of, labels))
    return "lower" if "down" in hints or ("lower" in hints and "up" not in hints) else "higher"


@functools.lru_cache(maxsize=1 << 16)
def _said_of(label: str) -> Literal["down", "up", "lower", ""]:
    """Return one label's direction: `down` or `up` by arrow or words, `lower` for a measure of which less is better."""
    if not label:
        return ""
    if _ARROW_DOWN.search(label) or _LOWER_IS_BETTER.search(label):
        return "down"
    if _ARROW_UP.search(label):
        return "up"
    is_lower = any(lower and pattern.search(label) for pattern, _, lower in _metrics()) or _HARM.search(label)
    return "lower" if is_lower or benchmark_key(label) in _PERPLEXITIES else ""


# ── models ──


@functools.lru_cache(maxsize=65536)
def model_name(text: str, context: Tuning = "", reason: str = "", *, is_sized: bool = False) -> ModelName:
    """Return the model that a label names.

    `context` is the tuning that caption and headings give names without a suffix (`instruct` where "-Instruct is
    omitted"); `is_sized` says that "base" is a size here, like "large".
    """
    label = model_label(text)
    # `internlm2_5-1_8b` writes points so; where nothing else parts the words, a size is parted, too: `qwen3_8b`.
    # (In `qwen3_asr_1_7b` the family has its number already.)
    is_parted = "-" in label or re.match(r"[a-z]+\d[a-z\d]*_[a-z]+_\d+_\d+[bm](?:_|$)", label.lower())
    lowered = label.lower() if is_parted else re.sub(r"(?<=\d)_(?=\d+[bm](?:_|$))", "-", label.lower())
    lowered = re.sub(r"(?<=\d)_(?=\d)", ".", lowered)
    guesses = []
    for pattern, becomes, why in _spellings():
        respelt = pattern.sub(becomes, lowered)
        if respelt != lowered:
            guesses.append(f"{label!r}: {why}")
            lowered = respelt
    tokens = _MODEL_TOKEN.findall(lowered)
    while len(tokens) > 1 and tokens[0] in _data()["owners"]:
        tokens = tokens[1:]
    tuning_words = [word for word in tokens if word in _TUNED]
    if not _says_tuning(label):
        tuning_words, is_sized = [], True
    name_tokens = [
        word for word in tokens if (word not in _TUNED or not tuning_words) and (word not in _BASE or is_sized)
    ]
    family = _data()["family"].get(name_tokens[0]) if name_tokens else None
    # ChatGLM3-6B-Base is a base model: what stands last in the name counts.
    last = next((word for word in reversed(tokens) if word in _TUNED or word in _BASE), "")
    tuning: Tuning = "base" if last in _BASE and not is_sized else "instruct" if tuning_words else ""
    if not tuning and family and family.get("tuned_only"):
        tuning = "instruct"
    elif not tuning and context and name_tokens and not _OTHER_KINDS & set(name_tokens):
        tuning = context
        guesses.append(f"{label!r} is taken as {'an instruct' if context == 'instruct' else 'a base'} model: {reason}")
    name = _family_name(name_tokens, family, tuning) if family else label
    return ModelName("-".join(name_tokens), name, tuning, _parameters(name_tokens), tuple(guesses))


_SIZE_WORD = re.compile(r"[-_ ](?:x*-?large|small|tiny|base)(?![A-Za-z])", re.IGNORECASE)


def has_named_sizes(labels: Iterable[str]) -> bool:
    """Tell whether some labels name sizes of one model (`BERT-base`, `BERT-large`), so that "base" is no tuning."""
    stems: dict[str, set[str]] = {}
    for label in labels:
        match = _SIZE_WORD.search(label)
        if match and not _SIZE_IN_NAME.search(label):
            stem = _SIZE_WORD.sub("", label).lower()
            stems.setdefault(re.sub(r"[^a-z]", "", stem), set()).add(match.group()[1:].lower())
    return any("base" in sizes and len(sizes) > 1 for sizes in stems.values())


def _says_tuning(label: str) -> bool:
    """Tell whether "chat" or "base" in a label can mean a tuning: after a hyphen, or in a model's name.

    In `Base mix` it cannot.
    """
    return (
        re.search(r"[-_(](?:instruct|inst|chat|it|base|pt|rlhf|aligned)\b|[\u4e00-\u9fff]", label, re.IGNORECASE)
        is not None
        or re.search(r"\d|^x |^[A-Z][\w.]*[ ](?:Instruct|Inst|Chat|Base|IT)\b", label) is not None
        or family_of(label) != ""
    )


def model_label(text: str) -> str:
    """Return a model's label without its repository's owner, pictures and "(ours)"."""
    label = _OWNER.sub("", without_pictures(text))
    return _OURS.sub("", label).strip()


@functools.cache
def _families() -> frozenset[str]:
    return frozenset(_data()["family"]) | frozenset(_data()["families"].split())


def _family_name(tokens: list[str], family: dict[str, Any], tuning: Tuning) -> str:
    """Return a model's name as its family writes it: Qwen2.5-72B-Instruct, Llama-3.1-8B-Instruct, GPT-4o-mini."""
    text = str(family["name"])
    previous_number = False
    for position, word in enumerate(tokens[1:]):
        is_number = word[0].isdigit() and not _SIZE.match(word)
        if word == "o" and previous_number:
            text += "o"
        elif position == 0 and is_number and family.get("joined"):
            text += word
        else:
            part = word.upper() if _SIZE.match(word) or re.match(r"^(?:a\d.*b|\d+k)$", word) else word
            part = part.replace("X", "x")
            if part == word and word[0].isalpha():
                part = _WRITTEN.get(word, word.capitalize())
            text += "-" + part
        previous_number = is_number
    version = tokens[1] if len(tokens) > 1 else ""
    suffix = family.get("suffixes", {}).get(version, family.get("suffix", ""))
    served_tokens = set(family.get("served", ())) & set(tokens)
    return f"{text}-{suffix}" if tuning == "instruct" and suffix and not served_tokens else text


_RELATED = {
    "chatglm": "glm",
    "codellama": "llama",
    "codeqwen": "qwen",
    "qwq": "qwen",
    "qvq": "qwen",
    "codegemma": "gemma",
}


def family_of(text: str) -> str:
    """Return the family of models whose name a text begins with; empty if there is none. Related families are one."""
    lowered = model_label(text).lower()
    first = re.match(r"o\d(?![\w.])|[a-z]+|[\u4e00-\u9fff]+", lowered)
    word = first.group() if first else ""
    family = word if word in _families() else ""
    return _RELATED.get(family, family) if family not in _PLAIN_WORDS else ""


def is_ours(label: str) -> bool:
    """Tell whether a label says that the model is the authors' own: `Skywork-13B (ours)`."""
    return _OURS.search(clean_label(label)) is not None


def is_served_only(key: str) -> bool:
    """Tell whether a model (by key) is only offered as a service: its weights are not published."""
    tokens = key.split("-")
    family = _data()["family"].get(tokens[0], {})
    return bool(family.get("tuned_only")) or bool(set(family.get("served", ())) & set(tokens))


def _parameters(tokens: list[str]) -> float | None:
    for token in tokens:
        if _SIZE.match(token):
            times, _, size = token[:-1].rpartition("x")
            return float(size) * float(times or 1) / (1000.0 if token.endswith("m") else 1.0)
    return None


@functools.lru_cache(maxsize=65536)
def looks_like_model(text: str) -> bool:
    """Tell whether a label reads as a model's name.

    It has a known family, a word with a size (`7B`), or an -Instruct suffix.
    """
    label = model_label(text)
    lowered = label.lower()
    if not lowered or len(label) > 80 or is_known(label):
        return False
    for pattern, becomes, _ in _spellings():
        lowered = pattern.sub(becomes, lowered)
    words = re.sub(r"\([^()]*\)", " ", lowered).split()
    tokens = re.findall(r"o\d(?![\w.])|[a-z]+|\d[\w.]*|[\u4e00-\u9fff]+", lowered)
    while len(tokens) > 1 and (tokens[0] in _data()["owners"] or tokens[0] in _data()["before"]):
        tokens = tokens[1:]
    if tokens and tokens[0] in _families() and (len(tokens) > 1 or tokens[0] not in _PLAIN_WORDS):
        return len(words) <= 7 and not (
            tokens[0] in _PLAIN_WORDS and len(words) > 1 and not any(t[0].isdigit() for t in tokens)
        )
    if re.search(r"[^\u2192\u21d2\s]\s*[-_ ](?:instruct|inst|chat|it|base|sft)$", lowered) and len(words) <= 6:
        return True
    return bool(_SIZE_IN_NAME.search(label)) and re.search(r"[^\W\d_]{2,}", label) is not None and len(words) <= 5


# Families whose name is also a word: alone it is none.
_PLAIN_WORDS = frozenset(
    "command step seed solar opt orca phi reka human neo arctic palm bard sphinx moss dolly alpaca".split()
)


# ── benchmarks ──


@functools.lru_cache(maxsize=1 << 16)
def benchmark_key(text: str) -> str:
    """Return the key that spellings of a benchmark share: letters, digits, `+` and `.` only."""
    return re.sub(r"[^a-z0-9+.\u0370-\uffff]", "", text.lower()).strip(".")


def without_how_printed(label: str) -> str:
    """Return a label without its note on how numbers are printed: `Accuracy (95% CI)`, `Acc. (%)`."""
    return _HOW_PRINTED.sub("", label).strip() if "(" in label or "[" in label else label


@functools.lru_cache(maxsize=65536)
def benchmark_name(text: str) -> BenchmarkName:
    """Return the benchmark that a label names, with its variant, metric and shots.

    `IFEval *strict-prompt*`, `LiveBench 0831`.
    """
    bare_text = without_how_printed(without_pictures(text))
    several = _SEVERAL.search(bare_text)
    if several and all(metric_in(piece) for piece in several[1].split("/")):
        bare_text = bare_text[: several.start()]  # `KorQuAD (EM/F1)`: its cells say which is which
    shots, without_shots = shots_of(bare_text)
    if not without_shots and not any(char.isdigit() for char in bare_text):
        shots, without_shots = "", bare_text  # "Few-shot" alone is the name of a set
    inside = [a or b for a, b in _PAREN.findall(without_shots)]
    outside = _PAREN.sub(" ", without_shots).split()
    guesses: list[str] = []
    row, n_words = None, 0
    for n_words in range(len(outside), 0, -1):
        # "Math & Code" is a group of its own, not MATH.
        if any(_JOINS.fullmatch(word) for word in outside[n_words - 1 : n_words + 1]):
            continue
        row = _benchmark_row(" ".join(outside[:n_words]), guesses)
        if row:
            break
    if row is None:
        metric, label = _split_metric(without_shots)
        if is_split(label):
            return BenchmarkName(benchmark_key(without_shots), without_shots, "", metric, shots=shots)  # `AP50 test`
        part = _PART_BEHIND.search(label)
        if part and is_split(part[1]):
            return BenchmarkName(
                benchmark_key(label[: part.start()]), label[: part.start()], part[1], metric, shots=shots
            )
        return BenchmarkName(benchmark_key(label), label, "", metric, shots=shots)
    rest = " ".join([*outside[n_words:], *inside]).strip(" ,;:-")
    metric, variant = _split_metric(rest)
    name = row["name"]
    return BenchmarkName(
        benchmark_key(name),
        name,
        variant,
        metric,
        None if variant else row.get("n"),
        float(row.get("top", 100)),
        shots,
        is_known=True,
        is_group=row.get("group", False),
        has_scale=("top" in row or "n" in row) and metric not in _NO_PROPORTIONS,
        guesses=tuple(guesses),
        written=""
        if guesses or benchmark_key(name) == benchmark_key(" ".join(outside[:n_words]))
        else " ".join(outside[:n_words]),
    )


_PART_BEHIND = re.compile(r"(?<=\w)\s*\(([^()]+)\)$")  # `Foo-STS (test)`


def metric_name(text: str) -> tuple[str, str]:
    """Split the text of a metric's cell or label into the metric and the rest: `Single Attempt (Acc)`, `macro_avg/em`.

    A single word is taken for a metric even if it is not known.
    """
    bare_text = without_how_printed(without_pictures(text))
    if not bare_text or bare_text in {"-", "–", "—"}:
        return "", ""
    for pattern, name, _ in _metrics():
        if match := pattern.fullmatch(bare_text):
            return name or match["own"], ""
    if " " not in bare_text or re.fullmatch(r"[\w/@+.-]+", bare_text):
        return bare_text.lower(), ""
    metric, rest = _split_metric(re.sub(r"[()]", " ", bare_text))
    return metric, " ".join(rest.split())


_LOOSE_COMMA = re.compile(r"([(\[])\s*[,;]\s*|\s*[,;]\s*(?=[)\]])")  # `(spearman, test)` without its metric

_GOES_ON = re.compile(
    r"\s+(?:by|of|for|per|at|over|across|in|on|under|without|with)\s+\w|\s*\([^()]*[≥≤<>]", re.IGNORECASE
)  # `Accuracy by subquestions`, `Partial Accuracy (threshold ≥ 80)`


def _split_metric(text: str) -> tuple[str, str]:
    for pattern, name, _ in _metrics():
        match = pattern.search(text)
        if match and re.match(r"\+\w", text[match.end() :]):
            continue  # `ACC+Perf` is a measure of its own
        if match and match.group() != text.strip():
            before = text[: match.start()]
            if before.strip() and _GOES_ON.match(text, match.end()):
                return name or match["own"], text  # `Proportional accuracy by subquestions` is one name
            if before.endswith(("-", "_")) and before.islower():
                return name or match["own"], text  # `first-epoch-spearman` is one word
            rest = _LOOSE_COMMA.sub(r"\1", text[: match.start()] + " " + text[match.end() :])
            rest = re.sub(r"[(\[]\s*[)\]]", " ", rest).strip(" ,;:-")
            if rest.count("(") != rest.count(")"):
                rest = rest.strip("()")
            return name or match["own"], " ".join(rest.split())
        if match:
            return name or match["own"], ""
    return "", text


_CONFUSED = str.maketrans({"0": "o", "q": "o", "1": "l", "i": "l", "5": "s", "8": "b"})


@functools.cache
def _confusable() -> dict[str, list[str]]:
    keys_by_shape: dict[str, list[str]] = {}
    for key in _benchmarks():
        keys_by_shape.setdefault(key.translate(_CONFUSED), []).append(key)
    return keys_by_shape


def _benchmark_row(text: str, guesses: list[str]) -> dict[str, Any] | None:
    key = benchmark_key(text)
    row = _benchmarks().get(key)
    if row is not None or len(key) < 4:
        # `Drop`, `Quality` and `multiple` are words.
        return None if row and row.get("word") and (text.islower() or text.istitle()) else row
    alike = _confusable().get(key.translate(_CONFUSED), [])
    if len(alike) == 1:
        guesses.append(f"{text!r} is taken as {_benchmarks()[alike[0]]['name']}: letters that scanners confuse")
        return _benchmarks()[alike[0]]
    return None


def is_split(label: str) -> bool:
    """Tell whether a label names a part of a benchmark's items: `test`, `开发集 (dev)`."""
    return is_role("splits", label) or is_role("splits", _PAREN.sub(" ", label).strip())


def is_part(label: str) -> bool:
    """Tell whether a label names only a part or a measure of the label above it.

    Such labels are a metric, a split, a length, a year, `EM / F1`.
    """
    return is_metric(label) or "/" in label or is_split(label) or is_length(label) or label.isdigit()


@functools.lru_cache(maxsize=1 << 16)
def is_metric(label: str) -> bool:
    """Tell whether a label is a metric and says no more: `F1`, `Acc. (%)`, `NDCG@10 ↑`."""
    core = _PICTURE.sub("", re.sub(r"\(\s*%\s*\)", "", clean_label(label))).strip()
    if "/" in core:
        return all(map(is_metric, core.split("/")))  # `EM/F1`, not `Tok./correct`
    return bool(metric_in(core)) and not metric_name(core)[1]


def metric_in(text: str) -> str:
    """Return the first metric that occurs in a text; empty if there is none."""
    for pattern, name, _ in _metrics():
        if match := pattern.search(text):
            return name or match["own"]
    return ""


def ceiling_of(key: str) -> str | None:
    """Return the benchmark whose score bounds this one's from above by construction; None if there is none.

    HumanEval+ adds tests to HumanEval.
    """
    row = _benchmarks().get(key)
    above = row.get("at_most") if row else None
    return benchmark_key(above) if above else None
