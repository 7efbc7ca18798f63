from __future__ import annotations

import shutil
import subprocess

import pytest

from envkit.activation import quote_csh, quote_fish, quote_posix

TEXTS = [
    "",
    "plain",
    "a b",
    "it's",
    "''",
    "$HOME",
    "$(x)",
    "`x`",
    "\\",
    "a\\'b",
    '"',
    "!x",
    "*?[]",
    "ünï 中文",
    "-n",
    "#x",
    "a\tb",
    "~",
    "^a^b",
    "{a,b}",
    "=1",
]


@pytest.mark.parametrize("text", TEXTS)
def test_posix_text_is_one_word(text):
    done = subprocess.run(["sh", "-c", f"printf '<%s>' {quote_posix(text)}"], capture_output=True, check=True)
    assert done.stdout.decode() == f"<{text}>"


def test_fish_text_escapes_backslash_and_apostrophe_only():
    assert quote_fish("it's a \\ $x") == "'it\\'s a \\\\ $x'"


@pytest.mark.parametrize("settings", ["", "set backslash_quote\n", "set histchars = '~,'\n"])
def test_csh_text_is_one_word(settings, tmp_path):
    if shutil.which("tcsh") is None:
        pytest.skip("tcsh is not installed")
    lines = [f"set v = {quote_csh(text)}\nset w = (a {quote_csh(text)} b)\n" for text in TEXTS]
    script = tmp_path / "t.csh"
    script.write_text(settings + "".join(f'{line}printf "<%s><%s>\\n" "$v:q" "$w[2]:q"\n' for line in lines))
    done = subprocess.run(["tcsh", "-f", script], capture_output=True, check=True, timeout=60)
    assert done.stdout.decode() == "".join(f"<{text}><{text}>\n" for text in TEXTS)
