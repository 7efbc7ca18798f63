"""The whole state of a shell, written to a file by its own builtins."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Names that a careless hook would run; `set` is among them, so the lines below say \set.
ALIASES = "alias export=false unset=false printf=false break=false set=false\n"
COMMON = f"""umask 027
mine () {{ :; }}
trap 'true' USR1
CDPATH=/tmp:/usr
mkdir -p 'a folder'
cd -P './a folder'
{ALIASES}\\set -- one 'two words' '*'
"""
COMMON_FISH = """umask 027
function mine; end
abbr -a mine true
trap true USR1
set CDPATH /tmp /usr
mkdir -p 'a folder'
cd './a folder'
set argv one 'two words' '*'
"""
COMMON_CSH = """umask 027
alias mine true
set cdpath = (/tmp /usr)
mkdir -p 'a folder'
cd './a folder'
set argv = (one 'two words' 'three*')
"""
ERRORS = "trap 'echo \"$LINENO\" >> ../errors' ERR\n"

# By shell and case: options of the shell itself, and commands.
PREPARED: dict[str, dict[str, tuple[tuple[str, ...], str]]] = {
    "bash": {
        "plain": ((), f"shopt -s expand_aliases\n{COMMON}"),
        "strict": ((), f"shopt -s expand_aliases\n{COMMON}\\set -eEuTo pipefail\n{ERRORS}IFS=,:/x\n"),
        "globs": (("-O", "nullglob", "-O", "nocasematch", "-O", "failglob"), f"{COMMON}\\set -f\nIFS=\n"),
        "posix": (("--posix", "-a"), f"{COMMON}unset -v IFS\n"),
    },
    "dash": {
        "plain": ((), COMMON),
        "strict": ((), f"{COMMON}\\set -eu\nIFS=,:/x\n"),
        "noglob": ((), f"{COMMON}\\set -fa\nIFS=\n"),
    },
    "zsh": {
        "plain": ((), COMMON),
        "strict": (
            (),
            f'{COMMON}TRAPZERR() {{ echo "$LINENO" >> ../errors }}\nsetopt err_exit no_unset pipe_fail\nIFS=,:/x\n',
        ),
        "arrays": ((), f"{COMMON}setopt ksh_arrays sh_word_split glob_subst typeset_silent\nIFS=\n"),
        "quoting": ((), f"{COMMON}setopt no_glob rc_quotes ignore_braces warn_create_global\n"),
        "exporting": ((), f"{COMMON}setopt err_return all_export\n"),
        "sh": ((), f"{COMMON}emulate sh\n"),
        "ksh": ((), f"{COMMON}emulate ksh\n"),
    },
    "fish": {"plain": ((), COMMON_FISH)},
    "tcsh": {
        "plain": ((), COMMON_CSH),
        "strict": (("-e",), f"{COMMON_CSH}set backslash_quote\nset noglob\nset nonomatch\nset noclobber\n"),
    },
}
_SHOW_SH = '\\alias; \\set -o; \\trap; umask; pwd; echo "$-"; for w in "$@"; do echo "arg $w"; done'
_SHOW = {
    "bash": f"declare -p; declare -f; shopt; {_SHOW_SH}",
    "dash": f"\\set; type mine; type newest || :; {_SHOW_SH}",
    "zsh": f"typeset -p; functions; \\setopt; {_SHOW_SH}",
    "fish": "set --show; functions --all; functions mine; abbr --show; trap --print; umask; pwd; printf '%s\\n' $argv",
    "tcsh": "set; setenv; alias; umask; pwd; bindkey",
}
_MOVING = re.compile(
    r"(declare -\S+ |(typeset|export) (-\S+ )*|\$)?"
    r"(BASH_\w+|FUNCNAME|LINENO|S?RANDOM|SECONDS|EPOCH\w+|PIPESTATUS|OLDPWD|TTYIDLE|TRY_BLOCK_\w+|[w_?!0]|history|HISTCMD"
    r"|status|pipestatus|CMD_DURATION|CMD_ERR\w*|ZSH_SUBSHELL|ZSH_EXECUTION_STRING|funcstack|func\w+trace|parameters|modules)"
    r"([=\[:\s]|$)"
)
_NAME = re.compile(r"(?:declare -\S+ |(?:typeset|export) (?:-\S+ )*|\$)?(\w+)")


def show(shell, file) -> str:
    """Commands that write the whole state into ``file``."""
    target = shell.quote(f"../{file}" if "/" not in str(file) else str(file))
    text = _SHOW[shell.name]
    if shell.extension == "fish":
        return f"begin; {text}; end > {target}\n"
    if shell.extension == "csh":
        return f"( {text} ) > {target}\n"
    return f"{{ {text}; }} > {target}\n"


def stable_lines(text: str) -> list[str]:
    """The lines of a state without what changes from one command to the next."""
    return [line for line in text.splitlines() if not _MOVING.match(line)]


def changed_names(lines: Iterable[str]) -> set[str]:
    """The variables that lines of a state are about."""
    return {match[1] for line in lines if (match := _NAME.match(line))}
