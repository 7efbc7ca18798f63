from __future__ import annotations

import json

import jsonschema
import pytest
import yaml

from envkit import resources
from envkit.errors import InvalidFileError
from envkit.model.spec import Source, parse_spec
from tests.support.spec_samples import CONDA, RIGHT, WRONG, WRONG_FOR_THE_PARSER_ONLY, changed


def schema() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(
        json.loads(resources.data_file("spec.schema.json").read_text(encoding="utf-8"))
    )


def test_parse_spec_reads_everything():
    spec = parse_spec(RIGHT, "x.yaml")
    assert (spec.name, spec.python, spec.cuda, spec.toolkit) == ("torch112-cu113", "3.9", "11.3", "11.3")
    assert spec.sources == (Source("https://h/whl/cu113", ("torch", "nvidia-*")),)
    assert spec.sdist == ("some-thing",)
    assert spec.library_path
    assert not spec.host_compiler
    assert parse_spec(CONDA, "c.yaml").host_compiler
    assert spec.environment_name == "torch112_cu113_py39"
    assert spec.torch_version == "1.12.1+cu113"
    assert spec.source_of("nvidia_cudnn-cu12") == spec.sources[0]
    assert spec.source_of("numpy") is None


def test_parse_spec_conda():
    spec = parse_spec(CONDA, "x.yaml")
    assert (spec.channels, spec.sources) == (("pytorch", "conda-forge"), ())
    assert spec.environment_name == "torch112_cu113_py39"


@pytest.mark.parametrize(
    ("written", "toolkit", "cuda"),
    [('toolkit: "11.3"', "11.3", "11.3"), ("toolkit: none", None, "11.3"), ("", "11.3", "11.3")],
)
def test_parse_spec_toolkit_follows_cuda_unless_it_says_otherwise(written, toolkit, cuda):
    spec = parse_spec(changed('toolkit: "11.3"', written), "x.yaml")
    assert (spec.toolkit, spec.cuda) == (toolkit, cuda)


def test_parse_spec_cpu_has_no_toolkit():
    text = changed('cuda: "11.3"', "cuda: cpu").replace("+cu113", "+cpu").replace('toolkit: "11.3"\n', "")
    spec = parse_spec(text, "x.yaml")
    assert (spec.cuda, spec.toolkit, spec.environment_name) == (None, None, "torch112_cpu_py39")


def test_digest_does_not_count_comments_and_order_but_everything_else():
    digest = parse_spec(RIGHT, "x.yaml").sha256
    lines = RIGHT.splitlines(keepends=True)
    moved = "".join([lines[0], lines[3], "# a comment\n", *lines[1:3], *lines[4:]])
    assert parse_spec(moved, "elsewhere.yaml").sha256 == digest
    assert parse_spec(changed("numpy<2", "numpy<3"), "x.yaml").sha256 != digest
    assert len(digest) == 64


@pytest.mark.parametrize(
    ("text", "match"), [*WRONG.values(), *WRONG_FOR_THE_PARSER_ONLY.values()], ids=[*WRONG, *WRONG_FOR_THE_PARSER_ONLY]
)
def test_parse_spec_refuses(text, match):
    with pytest.raises(InvalidFileError, match=match) as caught:
        parse_spec(text, "x.yaml")
    assert caught.value.exit_code == 4
    assert caught.value.message.startswith("x.yaml")


@pytest.mark.parametrize("text", [RIGHT, CONDA], ids=["pip", "conda"])
def test_schema_agrees_with_the_parser_on_what_is_right(text):
    schema().validate(yaml.safe_load(text))


@pytest.mark.parametrize("text", [text for text, _ in WRONG.values()], ids=list(WRONG))
def test_schema_agrees_with_the_parser_on_what_is_wrong(text):
    assert not schema().is_valid(yaml.safe_load(text))


def test_c14_numbers_are_refused_with_line_and_hint_and_never_read_otherwise():
    for key, number in (("python", "3.10"), ("cuda", "11.0")):
        text = "\n".join(f"{key}: {number}" if line.startswith(f"{key}:") else line for line in RIGHT.splitlines())
        with pytest.raises(InvalidFileError) as caught:
            parse_spec(text, "x.yaml")
        assert f'Write {key}: "{number}"' in (caught.value.hint or "")
    unquoted = changed('python: "3.9"', "python: 3.9.18")  # no YAML number
    assert parse_spec(unquoted, "x.yaml").environment_name == parse_spec(RIGHT, "x.yaml").environment_name


def test_a_source_may_count_for_some_platforms():
    one = "{url: https://h/a, packages: [torch], platforms: [win-64]}"
    other = "{url: https://h/b, packages: [torch], platforms: [linux-64]}"
    text = changed("  - {url: https://h/whl/cu113, packages: [torch, nvidia-*]}\n", f"  - {one}\n  - {other}\n")
    spec = parse_spec(text, "s.yaml")
    assert [spec.on(platform).source_of("torch").url for platform in ("win-64", "linux-64")] == [
        "https://h/a",
        "https://h/b",
    ]
    assert spec.on("linux-aarch64").source_of("torch") is None
    assert spec.on("win-64").sha256 == spec.sha256
    with pytest.raises(InvalidFileError, match="torch is claimed by https://h/a and by https://h/b"):
        parse_spec(text.replace("[linux-64]}", "[linux-64, win-64]}"), "s.yaml")
