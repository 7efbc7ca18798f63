"""Specs that are right, and wrong ones with what the parser says about them; for the parser and for the JSON schema."""

from __future__ import annotations

RIGHT = """schema: 1
name: torch112-cu113
summary: PyTorch
python: "3.9"
installer: pip
cuda: "11.3"
packages: [torch==1.12.1+cu113, "numpy<2"]
sources:
  - {url: https://h/whl/cu113, packages: [torch, nvidia-*]}
toolkit: "11.3"
platforms: [linux-64, win-64]
sdist: [Some_Thing]
library_path: true
host_compiler: false
"""
CONDA = """schema: 1
name: c
python: "3.9"
installer: conda
cuda: "11.3"
packages: [pytorch=1.12.1]
channels: [pytorch, conda-forge]
platforms: [linux-64]
"""


def changed(old: str, new: str, text: str = RIGHT) -> str:
    assert old in text
    return text.replace(old, new, 1)


WRONG = {
    "no-mapping": ("- a\n", "a spec is a mapping"),
    "empty": ("", "a spec is a mapping"),
    "unknown-key": (changed("summary:", "sumary:"), r"3: unknown key 'sumary'"),
    "schema-missing": (changed("schema: 1\n", ""), "'schema' is missing"),
    "schema-newer": (changed("schema: 1", "schema: 2"), r"1: the file has schema 2"),
    "schema-text": (changed("schema: 1", 'schema: "1"'), "schema: expected a number"),
    "name-missing": (changed("name: torch112-cu113\n", ""), "'name' is missing"),
    "name-path": (changed("name: torch112-cu113", "name: ../x"), "may hold letters"),
    "python-number": (changed('python: "3.9"', "python: 3.10"), r"4: python: 3\.10 is a YAML number"),
    "python-word": (changed('python: "3.9"', "python: newest"), "is no version"),
    "python-list": (changed('python: "3.9"', "python: [3, 9]"), "YAML number"),
    "cuda-number": (changed('cuda: "11.3"', "cuda: 11.0"), r"6: cuda: 11\.0 is a YAML number"),
    "cuda-full": (changed('cuda: "11.3"', 'cuda: "11.3.1"'), "is no build CUDA"),
    "cuda-missing": (changed('cuda: "11.3"\n', ""), "'cuda' is missing"),
    "installer-missing": (changed("installer: pip\n", ""), "'installer' is missing"),
    "installer-other": (changed("installer: pip", "installer: poetry"), "installer"),
    "packages-empty": (changed('[torch==1.12.1+cu113, "numpy<2"]', "[]"), "the list is empty"),
    "packages-text": (changed('[torch==1.12.1+cu113, "numpy<2"]', "torch"), "expected a list"),
    "packages-number": (changed('"numpy<2"', "1.10"), "YAML number"),
    "platform-unknown": (changed("win-64", "win-32"), r"11: unknown platform 'win-32'"),
    "platforms-missing": (changed("platforms: [linux-64, win-64]\n", ""), "name at least one"),
    "source-key": (changed("{url:", "{uri:"), "unknown key 'uri'"),
    "source-platform": (changed("nvidia-*]}", "nvidia-*], platforms: [win]}"), "unknown platform 'win'"),
    "source-no-packages": (changed("packages: [torch, nvidia-*]", "packages: []"), "name the packages"),
    "source-url": (changed("https://h/whl/cu113", "ftp://h/x"), "no address of an index"),
    "source-secret": (changed("https://h/whl", "https://me:pw@h/whl"), "must not hold a user name"),
    "source-bracket": (changed("https://h/whl/cu113", "'http://[::1'"), "no address of an index"),
    "source-backslash": (changed("https://h/whl", r"https://h\\localhost/whl"), "no address of an index"),
    "source-blank": (changed("https://h/whl/cu113", "'https://h/w hl'"), "no address of an index"),
    "packages-flag": (changed('[torch==1.12.1+cu113, "numpy<2"]', "true"), "expected a list"),
    "toolkit-word": (changed('toolkit: "11.3"', "toolkit: newest"), "is no release"),
    "library-path-text": (changed("library_path: true", 'library_path: "x"'), "expected true or false"),
    "host-compiler-text": (changed("host_compiler: false", "host_compiler: gcc-10"), "expected true or false"),
    "channels-in-pip": (RIGHT + "channels: [pytorch]\n", "belongs to conda"),
    "sources-in-conda": (CONDA + "sources: []\n", "belongs to pip"),
    "second-installer": (changed('"numpy<2"', "{pip: [numpy]}"), "second installer"),
}
"""By name: the text, and a pattern of the message. The JSON schema refuses each of these as well."""

WRONG_FOR_THE_PARSER_ONLY = {
    "control-character": (changed('"numpy<2"', '"numpy<2\\n-r x"'), "control character"),
    "endless": (changed('"numpy<2"', "numpy" * 1000), "longer than"),
    "requirement": (changed('"numpy<2"', "'numpy<<2'"), "is no requirement"),
    "conda-equals": (changed("torch==1.12.1+cu113", "torch=1.12.1"), "is no requirement"),
    "address": (changed('"numpy<2"', "'numpy @ https://h/numpy.whl'"), "names an address"),
    "label": (changed("torch==1.12.1+cu113", "torch==1.12.1+cu116"), "built for cu116"),
    "claimed-twice": (
        changed("toolkit:", "  - {url: https://other/whl, packages: [torch]}\ntoolkit:"),
        "torch is claimed by",
    ),
    "duplicate-key": (RIGHT + 'python: "3.10"\n', "is there twice"),
}
"""What a schema cannot say."""
