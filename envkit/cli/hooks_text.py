"""What ``envkit hooks`` says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.cli.render import table

if TYPE_CHECKING:
    from envkit.operations.cleanup import CleanupResult
    from envkit.operations.hooks_result import HooksResult


def install_lines(result: HooksResult) -> list[str]:
    """What activation does now, what is left to be done, and how it is undone."""
    toolkit = result.toolkit
    if toolkit is None:
        return removal_lines(result) if result.had_hooks else show_lines(result)
    return [
        f"{result.name} switches to CUDA {toolkit.version or '?'} in {toolkit.path} when it is activated.",
        "Where it is active already, activate it again.",
        f"Undo: envkit hooks remove {result.word}",
    ]


def removal_lines(result: HooksResult) -> list[str]:
    """Whether something was taken out."""
    if result.had_hooks:
        return [f"The hooks are removed: {result.name} switches no toolkit any more."]
    return [f"{result.name} has no hooks for a toolkit; nothing was changed."]


def show_lines(result: HooksResult) -> list[str]:
    """The toolkit, whether it is still there, and the state of each file."""
    toolkit = result.toolkit
    if toolkit is None:
        return [f"{result.name} switches no toolkit."]
    rows = [(item.shell, item.state, str(item.file)) for item in result.hooks]
    lines = [f"CUDA {toolkit.version or '?'} in {toolkit.path}"]
    if result.is_gone:
        lines = [f"{lines[0]}, which is gone: envkit hooks install {result.word} --toolkit V"]
    return [*lines, *table(("SHELL", "STATE", "FILE"), rows)]


def cleanup_lines(result: CleanupResult) -> list[str]:
    """What has the hook of ``hooks clean-all`` now, or has it no more, and what was left alone."""
    word = "hook removed" if result.is_removal else "has the hook"
    rows = [(word, str(prefix), "") for prefix in result.prefixes]
    rows += [("left alone", str(item.prefix), item.why) for item in result.skipped]
    if not rows:
        return ["No environment has such a hook." if result.is_removal else "There is no other conda environment."]
    return table(("HOOK", "ENVIRONMENT", "WHY"), rows)
