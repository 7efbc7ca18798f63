"""Hooks for when an environment is activated: they switch the CUDA toolkit, and keep the locked versions from uv.

The rules: docs/activation.md; the guard: ``installers/guard.py``.
"""

from __future__ import annotations

from envkit.activation.guard_hooks import GUARD_NAME, guard_hooks, install_guard_hooks
from envkit.activation.hooks import HOOK_NAME, HookState, hook_states, install_hooks, remove_hooks
from envkit.activation.quoting import quote_csh, quote_fish, quote_posix
from envkit.activation.slots import Slot, slot_of
from envkit.activation.venv_scripts import attach_hooks, attachment_states, detach_hooks

__all__ = [
    "GUARD_NAME",
    "HOOK_NAME",
    "HookState",
    "Slot",
    "attach_hooks",
    "attachment_states",
    "detach_hooks",
    "guard_hooks",
    "hook_states",
    "install_guard_hooks",
    "install_hooks",
    "quote_csh",
    "quote_fish",
    "quote_posix",
    "remove_hooks",
    "slot_of",
]
