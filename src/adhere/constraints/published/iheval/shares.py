"""Score answers to IHEval's share tasks in [0, 1]: by the F1 of verbs, or the ROUGE-L of a translation.

`strict` takes the answer as it is, `loose` the best of IFEval's eight variants. For a list of verbs, the text between
the first colon of a variant and the next one is a variant too. The published code rounds each to two decimals before it
takes any mean, and so does `round_share`; for that, F1 is computed from precision and recall, as there, because another
order of the same sum can round otherwise.

Known defect, kept: ROUGE-L takes letters with accents for blanks, so that Spanish words fall apart.

Source: `eval_verb_extract.py` (as of 50c12af, 2024-09-22; before, a colon in the answer could make the loose share the
lower one) and `eval_translation.py` in ytyz1307zzh/IHEval at 726a629, written anew. ROUGE-L as google's rouge_score has
it, without stems.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Literal

from adhere.constraints.published.shared.features import Text

Task = Literal["verbs", "translation"]
SEPARATORS: Mapping[Task, str] = {"verbs": ", ", "translation": "\n"}
"""Task -> the text between an instruction and its text if both are scored as one."""
_PREFIXES = ("español:", "Verbs:")
_PLAIN = str.maketrans("", "", string.punctuation)
_WORD = re.compile("[a-z0-9]+")


def words_f1(reference: str, answer: str) -> float:
    """Return the F1 of words with their counts; marks are removed, and a comma separates words.

    0 if either text has no words.
    """
    first, second = (
        Counter(" ".join(text.replace(",", ", ").split()).translate(_PLAIN).split()) for text in (reference, answer)
    )
    common = (first & second).total()
    return _f1(common, first.total(), second.total())


def _f1(common: int, n_reference: int, n_answer: int) -> float:
    """Compute F1 from precision and recall: another formula would round differently at some halves."""
    if not common:
        return 0.0
    precision, recall = common / n_answer, common / n_reference
    return 2 * (precision * recall) / (precision + recall)


def rouge_l(reference: str, answer: str) -> float:
    """Return the F1 of the longest common subsequence of words of a-z and 0-9; 0 if either has none."""
    from rapidfuzz.distance import LCSseq  # any look-up of an unknown id imports this module

    first, second = (_WORD.findall(text.lower()) for text in (reference, answer))
    return _f1(LCSseq.similarity(first, second), len(first), len(second))


_SHARES: Mapping[Task, Callable[[str, str], float]] = {"verbs": words_f1, "translation": rouge_l}


def strict_share(task: Task, reference: str, answer: str) -> float:
    """Return the share of the answer as it is."""
    return _SHARES[task](reference.lower(), answer.strip().lower())


def loose_share(task: Task, reference: str, answer: str) -> float:
    """Return the best share of the answer's variants."""
    text = Text(answer.strip().lower())
    raws = [text.raw, *(variant.raw for variant in text.variants())]
    if task == "verbs":
        raws += [raw.split(":")[1] for raw in raws if ":" in raw]
    return max(_SHARES[task](reference.lower(), raw.strip()) for raw in raws)


def round_share(share: float) -> float:
    """Round a share to two decimals, as the published code stores it."""
    return round(share, 2)


def strip_prefix(answer: str) -> str:
    """Return the answer without the prompt's last words, if it repeats them.

    As published, only rows of the type `reference`, where all is in one message, are scored so.
    """
    answer = answer.strip()
    for prefix in _PREFIXES:
        if answer.startswith(prefix):
            answer = answer[len(prefix) :].strip()
    return answer
