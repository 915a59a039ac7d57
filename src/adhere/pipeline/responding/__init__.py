"""Tell whether an answer responds to its request, whatever its form.

respond.py      one answer, or all answers of a run
ask.py          `adhere.responsive`: one text, and a judge model if it is named
content.py      what an answer says of its own
others.py       whether an answer is said to every request
language.py     whether an answer left its request's language
style.py        forms that nobody asked for
vocabulary.py   words that any answer may be made of
"""

from adhere.pipeline.responding.others import Others, share_alike
from adhere.pipeline.responding.respond import Exchange, Responding, add_to, others_of, read, responds, responds_all
from adhere.pipeline.responding.style import style_leaks

__all__ = [
    "Exchange", "Others", "Responding", "add_to", "others_of", "read", "responds", "responds_all",
    "share_alike", "style_leaks",
]  # fmt: skip
