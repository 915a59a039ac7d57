"""Inference-time methods: models made of models, by name, e.g. `majority-5(local/smollm2-135m)`.

wrapper.py   the Model that asks another one several times, in rounds, and counts every token
methods.py   the methods, one function each
searched.py  prompt search: texts that the model proposes, the best of them before each request
names.py     `open_wrapped`: from a name to a wrapped Model
"""

from adhere.models.wrap.names import known_methods, open_wrapped
from adhere.models.wrap.searched import SearchedModel
from adhere.models.wrap.wrapper import WrappedModel

__all__ = ["SearchedModel", "WrappedModel", "known_methods", "open_wrapped"]
