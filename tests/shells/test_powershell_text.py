"""PowerShell is not to be had where the tests run: its hooks are parsed, and checked for what would reach a session."""

from __future__ import annotations

import re

import pytest

from envkit.activation import attach_hooks, detach_hooks
from envkit.activation.quoting import quote_powershell
from envkit.activation.render import render
from envkit.resources import hooks_dir

tree_sitter = pytest.importorskip("tree_sitter")
grammar = pytest.importorskip("tree_sitter_powershell")

BOM = b"\xef\xbb\xbf"
HOOKS = sorted(path for concern in ("cuda", "guard", "cleanup") for path in hooks_dir(concern).glob("*.ps1"))
ODD = 'it\'s ‘odd’ $HOME `x` $(calc) "a" ünï 中文 C:\\R&D; exit #'
VALUES = ("TOOLKIT", "INSIDE", "LIBRARY_PATH", "HOST_CC", "HOST_CXX", "HOST_CC_FILE", "HOST_CXX_FILE", "FILE", "ENTRY")


def parsed(text):
    return tree_sitter.Parser(tree_sitter.Language(grammar.language())).parse(text.removeprefix(BOM)).root_node


def nodes(node):
    yield node
    for child in node.children:
        yield from nodes(child)


def problems(text):
    return [(node.type, node.start_point) for node in nodes(parsed(text)) if node.is_error or node.is_missing]


def filled(path, slot="CONDA", text=ODD):
    values = dict.fromkeys((*VALUES, "USER_SITE_OFF"), (text,))
    values |= dict.fromkeys(("CANDIDATES", "WINDOWS_CANDIDATES"), (text, "/opt/x", text))
    identifiers = {"SLOT": slot, "OTHER": "VENV"}
    return render(path.read_bytes(), identifiers=identifiers, values=values, quote=quote_powershell)


@pytest.mark.parametrize("text", ["", "yes", ODD], ids=["empty", "plain", "odd"])
@pytest.mark.parametrize("path", HOOKS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_hook_is_powershell(path, text):
    made = filled(path, text=text)
    assert made.startswith(BOM), "Windows PowerShell would read it in the code page of Windows"
    assert problems(made) == []
    assert problems(made.replace(b"\n", b"\r\n")) == []


@pytest.mark.parametrize("path", HOOKS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_all_of_a_hook_is_in_a_scope_of_its_own_and_writes_no_output(path):
    made = filled(path, text="x")
    (program,) = [node for node in parsed(made).children if node.type == "statement_list"]
    (statement,) = [node for node in program.named_children if node.type != "comment"]
    assert statement.text.startswith(b"& {")
    text = re.sub(r"(?m)^\s*#.*$", "", made.decode())
    assert not re.search(r"(?i)\$(global|script):|\bfunction\b|\b(exit|return|throw|exec)\b\s", text)
    assert not re.search(r"(?i)\b(Write-\w+|Invoke-\w+|Start-\w+|Set-Alias|Set-Location|cd)\b", text)
    words = {word.lower() for word in re.findall(r"\b[A-Z]\w+-[A-Z]\w+\b", text)}
    assert words <= {"set-strictmode"}


@pytest.mark.parametrize("concern", ["cuda", "guard"])
def test_undo_is_the_same_in_both_directions(concern):
    texts = [(hooks_dir(concern) / f"{way}.ps1").read_text(encoding="utf-8-sig") for way in ("activate", "deactivate")]
    one, two = (text[text.index("& {") : text.index("# End of undo.")] for text in texts)
    assert one == two
    assert one.count("\n") > 30


@pytest.mark.parametrize("concern", ["cuda", "guard"])
def test_every_shell_keeps_its_state_in_the_same_variables(concern):
    """EK-C09; cmd needs no mark of a switch and has no library path, and neither it nor Windows a host compiler."""
    names = {}
    for extension in ("sh", "fish", "csh", "ps1", "bat"):
        text = b"".join((hooks_dir(concern) / f"{way}.{extension}").read_bytes() for way in ("activate", "deactivate"))
        names[extension] = set(re.findall(rb"_ENVKIT_@SLOT@_(\w+)|\b(CUDA_HOME|CUDA_PATH|UV_CONSTRAINT)\b", text))
    assert names["sh"] == names["fish"] == names["csh"] == names["ps1"]
    assert names["sh"] - names["bat"] <= {
        (word, b"") for word in (b"IN", b"LIB", b"LIB_OWN", b"LIB_UNSET", b"CC", b"CXX", b"CUDAHOSTCXX")
    }


@pytest.mark.parametrize("text", ["", "a b", "it's", "''", "‘x’", "‚‛", "$HOME `n $(x)", 'a"b', "@SLOT@", "中文"])
def test_powershell_text_is_one_literal(text):
    quoted = quote_powershell(text)
    assert quoted[0] == quoted[-1] == "'"
    inner = quoted[1:-1]
    assert re.sub(r"(['‘’‚‛])\1", r"\1", inner) == text
    assert not re.search(r"(?<!['‘’‚‛])(?:['‘’‚‛]{2})*['‘’‚‛](?!['‘’‚‛])", inner), "a quote stands alone"
    assert problems(f"$x = {quote_powershell(text)}".encode()) == []


SCRIPT = """<#
.Synopsis
Like python -m venv's own
#>
Param([String] $VenvDir)

function global:deactivate ([switch]$NonDestructive) {
    if (Test-Path -Path Env:VIRTUAL_ENV) {
        Remove-Item -Path env:VIRTUAL_ENV
    }
}

deactivate -nondestructive
$env:VIRTUAL_ENV = $VenvDir
"""
SIGNATURE = "\n# SIG # Begin signature block\n# MIIvIwYJKoZIhvcNAQcCoIIvFDCCLxACAQExDzAN\n# SIG # End signature block\n"


@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("mark", [b"", BOM], ids=["no mark", "mark"])
@pytest.mark.parametrize("signature", ["", SIGNATURE], ids=["plain", "signed"])
def test_a_script_like_that_of_python(tmp_path, signature, mark, line_end):
    script = tmp_path / "Scripts" / "Activate.ps1"
    script.parent.mkdir()
    before = mark + (SCRIPT + signature).replace("\n", line_end).encode()
    script.write_bytes(before)
    assert attach_hooks(tmp_path) == (script,)
    text = script.read_bytes()
    assert text.startswith(mark)
    assert problems(text) == []
    assert text.replace(b"\r\n", b"").count(b"\n") == (0 if line_end == "\r\n" else text.count(b"\n"))
    plain = text.replace(b"\r\n", b"\n").decode()
    assert plain.index("NonDestructive) {\n    # >>> envkit deactivate") < plain.index("deactivate -nondestructive")
    assert plain.endswith(f"# <<< envkit activate hooks <<<\n{signature.removeprefix(chr(10))}")
    attach_hooks(tmp_path)
    assert script.read_bytes() == text
    assert detach_hooks(tmp_path) == (script,)
    assert script.read_bytes() == before


@pytest.mark.parametrize("kind", ["venv", "virtualenv", "uv"])
def test_scripts_of_real_environments(kind, make_venv, tmp_path):
    prefix = make_venv(kind, tmp_path / "env", attach=False)
    before = {path: path.read_bytes() for path in (prefix / "bin").iterdir() if path.is_file()}
    attached = {path.name for path in attach_hooks(prefix)}
    (script,) = (path for path in before if path.name.lower() == "activate.ps1")
    assert script.name in attached
    assert problems(before[script]) == problems(script.read_bytes()) == []
    assert script.read_bytes() != before[script]
    detach_hooks(prefix)
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("name", ["Activate.ps1", "activate.bat"])
def test_a_script_of_another_kind_is_left_alone_where_it_does_not_run(tmp_path, name):
    script = tmp_path / "bin" / name
    script.parent.mkdir()
    script.write_text("# something else\n")
    assert attach_hooks(tmp_path) == ()
    assert script.read_text() == "# something else\n"
