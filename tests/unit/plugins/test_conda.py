"""The table of hooks. ``conda`` is a stand-in here, of two lines: the real one is not on PyPI (tests/conda has it)."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

import pytest

HOOKS = (
    "conda_settings",
    "conda_subcommands",
    "conda_health_checks",
    "conda_environment_exporters",
    "conda_environment_specifiers",
    "conda_error_hints",
    "conda_post_solves",
    "conda_pre_transaction_actions",
)


@pytest.fixture
def plugin(monkeypatch) -> ModuleType:
    conda, plugins = ModuleType("conda"), ModuleType("conda.plugins")
    plugins.hookimpl = lambda function: function
    monkeypatch.setitem(sys.modules, "conda", conda)
    monkeypatch.setitem(sys.modules, "conda.plugins", plugins)
    monkeypatch.delitem(sys.modules, "envkit.plugins.conda", raising=False)
    module = importlib.import_module("envkit.plugins.conda")
    monkeypatch.delitem(sys.modules, "envkit.plugins.conda")
    return module


def ask(plugin: ModuleType, hook: str) -> list:
    arguments = [RuntimeError()] if hook == "conda_error_hints" else []
    return list(getattr(plugin, hook)(*arguments))


def test_every_hook_is_here(plugin):
    assert tuple(name for name in vars(plugin) if name.startswith("conda_")) == HOOKS


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_whose_work_fails_gives_nothing(plugin, hook):
    """This conda has no types, as one that changed them."""
    assert ask(plugin, hook) == []


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_gives_what_its_work_gives(plugin, hook, monkeypatch):
    work = ModuleType("envkit.plugins.conda_work.table")
    works = ("settings", "subcommands", "health_checks", "exporters", "specifiers", "error_hints", "post_solves")
    for name in (*works, "pre_transaction_actions"):
        setattr(work, name, lambda *arguments, name=name: iter([(name, len(arguments))]))
    monkeypatch.setitem(sys.modules, work.__name__, work)
    monkeypatch.setattr("envkit.plugins.conda_work.table", work, raising=False)
    ((name, count),) = ask(plugin, hook)
    assert hook in {f"conda_{name}", f"conda_environment_{name}"}
    assert count == (1 if hook == "conda_error_hints" else 0)
