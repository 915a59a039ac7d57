"""Registries fail closed and name culprits."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from adhere.errors import AdhereError, MissingExtra, UnknownName
from adhere.extras import need
from adhere.plugins import Registry


def registry() -> Registry[int]:
    made: Registry[int] = Registry("thing", group="adhere.no_such_group", listing="adhere list things")
    made.add("length:words", 1, owner="ours")
    return made


def test_unknown_name_suggests() -> None:
    with pytest.raises(UnknownName) as caught:
        registry().get("lenght:words")
    assert str(caught.value) == "Unknown thing 'lenght:words'. Did you mean 'length:words'? (adhere list things)"


def test_clash_names_both() -> None:
    things = registry()
    with pytest.raises(AdhereError, match="one from ours, one from theirs"):
        things.add("length:words", 2, owner="theirs")
    things.add("length:words", 1, owner="again")  # the same thing twice is no clash


def test_broken_plugin_is_named(monkeypatch) -> None:
    point = EntryPoint("bad", "no_such_module_at_all:x", "adhere.no_such_group")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point])
    monkeypatch.setattr("adhere.plugins.entry_points", lambda group: [point], raising=False)
    with pytest.raises(AdhereError, match="plug-in 'bad' of no_such_module_at_all"):
        registry().get("bad")


def test_missing_extra_has_the_command() -> None:
    with pytest.raises(MissingExtra, match=r"pip install 'adhere\[train\]'"):
        need("no_such_module_at_all", extra="train")
