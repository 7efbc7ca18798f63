"""A reader of batch files that does what cmd.exe does with the commands that envkit's hooks and venv scripts use.

cmd.exe runs nowhere but on Windows, and wine 8 gets delayed expansion wrong. So this follows the phases in which cmd
reads a line, as https://stackoverflow.com/questions/4094699 and Microsoft's reference of each command describe them:
percent signs, special characters, variables of FOR, delayed expansion, and only then the command. What it does not know
is an error, so a value that became a command is noticed; so is a line that is longer than cmd takes.
"""

from __future__ import annotations

import functools
import ntpath
import re
from dataclasses import dataclass, field

LONGEST = 8191
_PLAIN = re.compile(r'"[^"\n]*"?|[^"&|<>^)\n]+')
_COMMENT = re.compile(r"(?i)[ @]*(rem\b|:)")
_UNKNOWN = "this reader knows no such thing: "


class _Jump(Exception):  # noqa: N818 - not an error
    """To a label, or out of the file with a status."""

    def __init__(self, label: str | None, status: int = 0) -> None:
        self.label, self.status = label, status
        super().__init__(label)


@dataclass
class Cmd:
    """One window.

    Attributes:
        variables: by upper-case name.
        files: what is on the disk, by lower-case path; folders follow from them.
        delayed: whether the window was started with delayed expansion (cmd /v:on).
    """

    variables: dict[str, str]
    files: dict[str, bytes] = field(default_factory=dict)
    delayed: bool = False
    page: str = "cp437"
    status: int = 0
    stdout: str = ""
    stderr: str = ""
    programs: list[str] = field(default_factory=list)
    _for: dict[str, str] = field(default_factory=dict)
    _scopes: list[tuple[dict[str, str], bool]] = field(default_factory=list)
    _folders: list[str] = field(default_factory=lambda: ["C:\\"])

    def __post_init__(self) -> None:
        self.variables = {name.upper(): value for name, value in self.variables.items() if value}
        self.files = {name.lower(): text for name, text in self.files.items()}

    def call(self, file: str, label: str | None = None, arguments: tuple[str, ...] = ()) -> None:
        """CALL a batch file, or a label in it, with what SETLOCAL has left open closed afterwards."""
        data = self.files[ntpath.normpath(ntpath.join(self._folders[-1], file)).lower()]
        lines, labels = _read(data)
        at = 0 if label is None else labels[label]
        depth = len(self._scopes)
        while at < len(lines):
            text, at = self._statement(lines, at, (file, *arguments))
            try:
                self._chain(_Text(text))
            except _Jump as jump:
                if jump.label is None:
                    self.status = jump.status
                    break
                at = labels[jump.label]
        while len(self._scopes) > depth:
            self._endlocal()

    def _statement(self, lines: list[bytes], at: int, arguments: tuple[str, ...]) -> tuple[str, int]:
        """The next line, with those behind it when a parenthesis is open, its percent signs expanded."""
        text = ""
        while True:
            line = lines[at].removesuffix(b"\r").decode(self.page, "replace")
            at += 1
            if _COMMENT.match(line):
                line = ""
            text += self._percent(line, arguments)
            if _open_parentheses(text) <= 0 or at == len(lines):
                break
            text += "\n"
        if len(text) > LONGEST:
            raise AssertionError("the line is too long")
        return text, at

    def _percent(self, line: str, arguments: tuple[str, ...]) -> str:
        done, at = "", 0
        while at < len(line):
            if line[at] != "%":
                end = line.find("%", at)
                end = len(line) if end == -1 else end
                done, at = done + line[at:end], end
                continue
            if line.startswith("%%", at):
                done, at = done + "%", at + 2
                continue
            if argument := re.compile(r"%(~?)(dp)?(\d)").match(line, at):
                done, at = done + self._argument(argument, arguments), argument.end()
                continue
            end = line.find("%", at + 1)
            if end == -1:
                at += 1
                continue
            done, at = done + self._value(line[at + 1 : end]), end + 1
        return done

    def _argument(self, match: re.Match[str], arguments: tuple[str, ...]) -> str:
        number = int(match[3])
        text = arguments[number] if number < len(arguments) else ""
        if match[2]:
            return ntpath.dirname(ntpath.normpath(ntpath.join(self._folders[-1], text.strip('"')))) + "\\"
        return text.strip('"') if match[1] else text

    def _value(self, text: str) -> str:
        """What stands between two percent signs or exclamation marks."""
        name, colon, change = text.partition(":")
        value = self.variables.get(name.upper())
        if not colon:
            return value or ""
        if value is None:
            raise AssertionError(f"a part of a variable that is not set: {text}")
        if part := re.fullmatch(r"~(-?\d+)(?:,(-?\d+))?", change):
            start, count = int(part[1]), part[2]
            value = value[start:] if start >= 0 else value[max(len(value) + start, 0) :]
            return value if count is None else value[: int(count)]
        old, equals, new = change.partition("=")
        if not equals or not old.strip("*"):
            raise AssertionError(_UNKNOWN + text)
        found = value.lower().find(old.lstrip("*").lower())
        if old.startswith("*"):
            return value if found == -1 else new + value[found + len(old) - 1 :]
        return re.sub(re.escape(old), lambda _: new, value, flags=re.IGNORECASE)

    def _expanded(self, text: str) -> str:
        """Variables of FOR, then delayed expansion where it is on."""
        if "%" in text:
            text = re.sub(r"%(?:(~)([fnx]*))?([A-Za-z])", self._of_for, text)
        if self.delayed and "!" in text:
            parts = re.sub(r"\^(.)", lambda m: m[1] if m[1] != "!" else "\0", text).split("!")
            pairs = [part if at % 2 == 0 else self._value(part) for at, part in enumerate(parts)]
            text = "".join(pairs[: len(parts) - (len(parts) % 2 == 0)]).replace("\0", "!")
        if len(text) > LONGEST:
            raise AssertionError("the line is too long")
        return text

    def _of_for(self, match: re.Match[str]) -> str:
        if match[3] not in self._for:
            return match[0]
        value = self._for[match[3]]
        if match[1]:
            value = value.removeprefix('"').removesuffix('"')
        return {"f": ntpath.normpath, "nx": ntpath.basename}.get(match[2] or "", str)(value)

    def _chain(self, text: _Text, *, run: bool = True) -> bool:
        """Commands with `&`, `&&` and `||` between them, to the end of the line; gives whether the last one did it."""
        if not run and "(" not in text.rest and ")" not in text.rest:
            text.rest = "".join(text.rest.partition("\n")[1:])
            return False
        fine = self._command(text, run=run)
        while operator := text.take(r"\s*(&&|\|\||&)"):
            wanted = {"&": True, "&&": fine, "||": not fine}[operator[1]]
            done = self._command(text, run=run and wanted)
            fine = done if wanted else fine
        return fine

    def _command(self, text: _Text, *, run: bool) -> bool:
        text.take(r"[\s@]*")
        if text.take(r"\("):
            fine = True
            while not text.take(r"\s*\)"):
                fine = self._chain(text, run=run)
                text.take(r"\s*")
            return fine
        if text.take(r"(?i)if\b\s*"):
            return self._if(text, run=run)
        if words := text.take(r'(?i)for\s+(/f\s+"([^"]*)"\s+)?%(\w)\s+in\s+\('):
            return self._loop(text, words, run=run)
        return self._simple(text, run=run)

    def _if(self, text: _Text, *, run: bool) -> bool:
        words = text.take(r'(?i)(/i\s+)?(not\s+)?(?:(defined|exist)\s+("[^"]*"|\S+)|("[^"]*")==("[^"]*"))\s*')
        if words is None:
            raise AssertionError(_UNKNOWN + text.rest)
        if words[3] and words[3].lower() == "defined":
            holds = self._expanded(words[4]).upper() in self.variables
        elif words[3]:
            holds = self._exists(self._expanded(words[4]).strip('"'))
        else:
            left, right = self._expanded(words[5]), self._expanded(words[6])
            holds = left.lower() == right.lower() if words[1] else left == right
        holds = holds != bool(words[2])
        if text.rest.startswith("("):
            fine = self._command(text, run=run and holds)
            if text.take(r"(?i)\s*else\s+"):
                return self._chain(text, run=run and not holds)
            return fine
        return self._chain(text, run=run and holds)

    def _loop(self, text: _Text, words: re.Match[str], *, run: bool) -> bool:
        inside = text.take(r'((?:"[^"]*"|[^)"])*)\)\s*do\s+')
        if inside is None:
            raise AssertionError(_UNKNOWN + text.rest)
        source, body = self._expanded(inside[1]), text.rest
        values = (self._lines(words[2], source) if words[1] else self._words(source)) if run else []
        for value in values:
            outer = dict(self._for)
            self._for[words[3]] = value
            text.rest = body
            self._chain(text)
            self._for = outer
        if not values:
            self._chain(text, run=False)
        return True

    def _lines(self, options: str, source: str) -> list[str]:
        if source.startswith("'"):
            self._program(source.strip("'"))
            source = f'"Active code page: {self.page.removeprefix("cp")}"'
        line = source[1:-1]
        wanted = re.search(r"(?i)tokens=(\d+)", options)
        delimiters = re.search(r"(?i)delims=(.*)$", options)
        if line.startswith(";") or line == "" or delimiters is None:
            return []
        pieces = (
            [line] if not delimiters[1] else [part for part in re.split(f"[{re.escape(delimiters[1])}]", line) if part]
        )
        return pieces[int(wanted[1]) - 1 :][:1] if wanted else pieces[:1]

    def _words(self, source: str) -> list[str]:
        found = []
        for word in re.findall(r'"[^"]*"|[^\s,;="]+', source):
            if set(word) & set("*?"):
                folder = self._folders[-1].lower().rstrip("\\") + "\\"
                names = [name[len(folder) :] for name in sorted(self.files) if name.startswith(folder)]
                found += [name for name in names if "\\" not in name and name.endswith(word.lstrip("*"))]
            else:
                found.append(word)
        return found

    def _simple(self, text: _Text, *, run: bool) -> bool:
        raw, quiet, to_stderr = text.simple()
        if not run:
            return True
        line = self._expanded(raw).strip(" ")
        if line == "" or line.startswith("/"):
            return True
        word = re.match(r'(?i)"[^"]*"|[a-z]+', line)
        name, rest = (word[0], line[word.end() :].lstrip(" ")) if word else (line, "")
        if name.startswith('"'):
            self._program(line)
            return True
        known = getattr(self, f"_do_{name.lower()}", None)
        if known is None:
            raise AssertionError(f"a command that nobody wrote: {line}")
        if name.lower() == "echo":
            self._echo(rest, quiet=quiet, to_stderr=to_stderr)
            return True
        return known(rest) is not False

    def _program(self, line: str) -> None:
        self.programs.append(line)
        words = re.match(r'"([^"]*)"\s*(\d*)$', line.strip())
        if words is None or ntpath.basename(words[1]).lower() != "chcp.com":
            raise AssertionError(f"a program that nobody wrote: {line}")
        if words[2]:
            self.page = "utf-8" if words[2] == "65001" else f"cp{words[2]}"

    def _echo(self, rest: str, *, quiet: bool, to_stderr: bool) -> None:
        if rest.lower() in {"off", "on"} or quiet:
            return
        text = rest.removeprefix("(") + "\n"
        if to_stderr:
            self.stderr += text
        else:
            self.stdout += text

    _do_echo = _echo

    def _do_set(self, rest: str) -> None:
        if rest.lower().startswith("/a"):
            return self._count(rest[2:].strip().strip('"'))
        if rest.startswith('"'):
            rest = rest[1:]
            rest = rest[: rest.rindex('"')] if '"' in rest else rest
        name, equals, value = rest.partition("=")
        if not equals:
            raise AssertionError(_UNKNOWN + rest)
        if value:
            self.variables[name.upper()] = value
        else:
            self.variables.pop(name.upper(), None)
        return None

    def _count(self, text: str) -> None:
        words = re.fullmatch(r"(\w+)([+-]?)=([\w+-]+)", text)
        if words is None:
            raise AssertionError(_UNKNOWN + text)
        total = self._number(words[1]) if words[2] else 0
        sign = -1 if words[2] == "-" else 1
        for part in re.findall(r"([+-]?)(\w+)", words[3]):
            total += sign * (-1 if part[0] == "-" else 1) * self._number(part[1])
        self.variables[words[1].upper()] = str(total)

    def _number(self, word: str) -> int:
        return int(word) if word.isdigit() else int(self.variables.get(word.upper(), "0"))

    def _do_setlocal(self, rest: str) -> None:
        self._scopes.append((dict(self.variables), self.delayed))
        if rest:
            self.delayed = {"enabledelayedexpansion": True, "disabledelayedexpansion": False}[rest.strip().lower()]

    def _do_endlocal(self, rest: str) -> None:
        if rest:
            raise AssertionError(_UNKNOWN + rest)
        self._endlocal()

    def _endlocal(self) -> None:
        self.variables, self.delayed = self._scopes.pop()

    def _do_goto(self, rest: str) -> None:
        raise _Jump(rest.lstrip(":").lower())

    def _do_exit(self, rest: str) -> None:
        words = re.fullmatch(r"(?i)/b\s*(\d*)", rest)
        if words is None:
            raise AssertionError(_UNKNOWN + rest)
        raise _Jump(None, int(words[1] or self.status))

    def _do_call(self, rest: str) -> None:
        outer, self._for = self._for, {}
        if rest.startswith(":"):
            label, *arguments = rest[1:].split()
            self.call(self._file, label.lower(), tuple(arguments))
        else:
            rest = self._percent(rest.replace("^", "^^"), ())
            self.run(rest.strip('"'))
        self._for = outer

    def run(self, file: str) -> None:
        """CALL a batch file by its name."""
        outer, self._file = getattr(self, "_file", ""), ntpath.normpath(ntpath.join(self._folders[-1], file))
        self.call(self._file)
        self._file = outer

    def _do_pushd(self, rest: str) -> bool:
        if not self._exists(rest.strip('"') + "\\"):
            return False
        self._folders.append(rest.strip('"'))
        return True

    def _do_popd(self, rest: str) -> None:
        self._folders.pop()

    def _exists(self, path: str) -> bool:
        folder = ntpath.normpath(path).lower()
        if not path.endswith("\\") and folder in self.files:
            return True
        return any(name.startswith(folder + "\\") for name in self.files)


class _Text:
    """What is left to read of a statement."""

    def __init__(self, text: str) -> None:
        self.rest = text

    def take(self, pattern: str) -> re.Match[str] | None:
        match = _compiled(pattern).match(self.rest)
        if match:
            self.rest = self.rest[match.end() :]
        return match

    def simple(self) -> tuple[str, bool, bool]:
        """One command: its text, whether its output goes to NUL, or to stderr."""
        done, quiet, to_stderr = "", False, False
        while self.rest:
            if plain := _PLAIN.match(self.rest):
                done, self.rest = done + plain[0], self.rest[plain.end() :]
            elif self.rest[0] in "\n&|" or (self.rest[0] == ")" and "(" not in done):
                break
            elif self.rest[0] in "^)":
                skipped = self.rest[0] == "^"
                done, self.rest = done + self.rest[skipped : skipped + 1], self.rest[skipped + 1 :]
            elif target := self.take(r"(?i)>(&2|[ ]*nul)[ ]*"):
                quiet, to_stderr = quiet or target[1] != "&2", to_stderr or target[1] == "&2"
            else:
                raise AssertionError(_UNKNOWN + self.rest)
        return done, quiet, to_stderr


_compiled = functools.cache(re.compile)


@functools.cache
def _read(data: bytes) -> tuple[list[bytes], dict[str, int]]:
    """The lines of a file, and the one behind each label; cmd finds labels only in files with its own line ends."""
    lines = data.split(b"\n")
    starts = {line.strip()[1:].split()[0].decode().lower(): at for at, line in enumerate(lines, 1) if line[:1] == b":"}
    return lines, starts if data.count(b"\r\n") == len(lines) - 1 else {}


def _open_parentheses(text: str) -> int:
    """How many blocks are open; parentheses in quotes, and behind ``echo``, are text."""
    if "(" not in text and ")" not in text:
        return 0
    plain = re.sub(r'(?i)"[^"\n]*"|\becho\(?[^\n&]*', "", text)
    return plain.count("(") - plain.count(")")
