"""environment.yml: which spec it amounts to, and what is refused."""

from __future__ import annotations

import pytest

from envkit.errors import InvalidFileError
from envkit.model.conda_record import CondaRecord
from envkit.model.formats.conda_cuda import NO_CUDA_STATED, stated_cuda
from envkit.model.formats.environment_text import channels_of, environment_text, exact_specs, pip_lines
from envkit.model.formats.environment_yml import is_environment_yml, read_environment_yml
from envkit.model.formats.parts import MixedFileError
from envkit.model.spec import Source
from envkit.model.yamltext import parse_yaml

CU113 = "https://download.pytorch.org/whl/cu113"
HEAD = "channels: [conda-forge]\ndependencies:\n- python=3.9\n"


def plain_build(version, platform):
    return {("1.12.1", "linux-64"): "cu102", ("1.12.1", "win-64"): "cpu"}.get((version, platform))


def read(text, platform="linux-64"):
    return read_environment_yml(parse_yaml(text, "a/my env.yml"), platform, plain_build)


def spec_of_pip(*lines, head=HEAD, platform="linux-64"):
    return read(head + "- pip:\n" + "".join(f"  - '{line}'\n" for line in lines), platform)[0]


def spec_of(*lines, channels="[pytorch, conda-forge]", platform="linux-64"):
    return read(f"channels: {channels}\ndependencies:\n" + "".join(f"- '{line}'\n" for line in lines), platform)[0]


@pytest.mark.parametrize(
    ("data", "found"),
    [({"dependencies": []}, True), ({"schema": 1, "dependencies": []}, False), ({"packages": []}, False), ([], False)],
)
def test_dependencies_tell(data, found):
    assert is_environment_yml(data) is found


def test_conda_packages():
    spec = spec_of("python=3.9.18=h_cpython", "pytorch=1.12.1=py3.9_cuda11.3_cudnn8.3.2_0", "numpy<2", "pytorch::x")
    assert (spec.installer, spec.python, spec.cuda, spec.toolkit) == ("conda", "3.9", "11.3", "11.3")
    assert spec.packages[0] == "python=3.9.18=h_cpython"
    assert spec.packages[3] == "pytorch::x"
    assert spec.channels == ("pytorch", "conda-forge")
    assert (spec.name, spec.environment_name) == ("my-env", "torch112_cu113_py39")
    assert spec.platforms == ("linux-64",)


def test_pip_packages_with_their_index():
    spec = spec_of_pip(f"--extra-index-url {CU113}", "torch==1.12.1+cu113", "numpy<2", 'scipy; python_version < "4"')
    assert (spec.installer, spec.cuda, spec.channels) == ("pip", "11.3", ())
    assert spec.packages == ("torch==1.12.1+cu113", "numpy<2", 'scipy; python_version < "4"')
    assert spec.sources == (Source(CU113, ("torch",)),)
    assert spec.environment_name == "torch112_cu113_py39"


@pytest.mark.parametrize("spelling", ["--extra-index-url {}", "--extra-index-url={}", "--extra-index-url   {}/"])
def test_spellings_of_the_index(spelling):
    assert spec_of_pip(spelling.format(CU113), "torch==1.12.1+cu113").sources == (Source(CU113, ("torch",)),)


def test_an_index_for_one_cuda_is_torchs_without_labels_too():
    spec = spec_of_pip(
        "torch==2.1.0", "torchvision", "numpy", "--extra-index-url https://download.pytorch.org/whl/cu118"
    )
    assert spec.cuda == "11.8"
    assert spec.sources == (Source("https://download.pytorch.org/whl/cu118", ("torch", "torchvision")),)


def test_the_page_that_was_torchs_before():
    spec = spec_of_pip("-f https://download.pytorch.org/whl/torch_stable.html", "torch==1.12.1+cu113", "numpy")
    assert spec.sources == (Source(CU113, ("torch",)),)


def test_another_default_index():
    for option in ("-i https://i.example/simple", "--index-url https://i.example/simple/"):
        assert spec_of_pip(option, "torch==1.12.1+cu113").sources == (Source("https://i.example/simple", ("*",)),)


def test_a_cpu_build_and_the_plain_one():
    index = "--extra-index-url https://download.pytorch.org/whl/cpu"
    assert spec_of_pip(index, "torch==1.12.1+cpu").cuda is None
    assert spec_of_pip("torch==1.12.1").cuda == "10.2"
    assert spec_of_pip("torch==1.12.1", platform="win-64").cuda is None
    assert spec_of_pip("numpy").cuda is None


def test_the_python_of_an_exported_file_is_a_base():
    head = HEAD + "- pip=24.0=pyhd_0\n- setuptools=69.5\n- wheel\n- openssl=3.1=h_0\n- libffi=3.4=h_1\n"
    spec, notes = read(head + "- pip: [numpy==1.0]\n")
    assert spec.packages == ("numpy==1.0", "pip==24.0", "setuptools==69.5.*", "wheel")
    assert notes == ("What comes with Python is not pinned: libffi, openssl.",)
    spec, _ = read(HEAD + "- setuptools <70\n- pip >=21|1\n- pip: [numpy==1.0, setuptools==60]\n")
    assert spec.packages == ("numpy==1.0", "setuptools==60", "pip")


@pytest.mark.parametrize(
    ("pin", "python"),
    [("python=3.9", "3.9"), ("python==3.10.4", "3.10"), ("python 3.11.*", "3.11"), ("python=3.9.18=h_0", "3.9")],
)
def test_pins_of_python(pin, python):
    assert spec_of(pin).python == python


@pytest.mark.parametrize("pin", ["python", "python>=3.9", "python=3", "python=3.9|3.10", "numpy"])
def test_python_has_to_be_pinned(pin):
    with pytest.raises(InvalidFileError) as error:
        spec_of(pin)
    assert "python=3.11" in error.value.hint


def test_what_does_not_count_is_said():
    spec, notes = read("name: other\nprefix: /home/ada/x\nvariables: {A: b}\nplatforms: [win-64, wasi]\n" + HEAD)
    assert spec.platforms == ("win-64",)
    assert len(notes) == 2
    assert "--name" in notes[0]
    assert "variables" in notes[1]
    assert spec_of("python=3.9", channels="[conda-forge, nodefaults]").channels == ("conda-forge",)


def test_the_digest_is_of_the_content_and_the_platform():
    assert spec_of("python=3.9").sha256 == spec_of("python=3.9").sha256
    assert spec_of("python=3.9").sha256 != spec_of("python=3.9", platform="win-64").sha256
    assert spec_of("python=3.9").sha256 != spec_of("python=3.10").sha256


def test_mixing_installers_is_refused_with_the_way_out():
    with pytest.raises(MixedFileError) as error:
        read(HEAD + "- numpy\n- scipy\n- pip: [torch==1.12.1]\n")
    assert error.value.exit_code == 7
    assert error.value.line == 4
    assert "numpy, scipy from conda and torch from pip" in error.value.message
    assert "spec" in error.value.hint


def test_mixing_is_told_before_anything_else():
    for lines in ("torch==1.12.1+cu113", "-r x", "3", "a @ https://h.example/x.whl"):
        text = HEAD + f"- conda-forge::numpy=1\n- pip:\n  - {lines}\n  - x[y]>1\n"
        with pytest.raises(MixedFileError) as error:
            read(text)
        assert error.value.conda == ["numpy"]
        assert "x" in error.value.pip


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("dependencies: []\nchannels: [a]\n", 1, "the list is empty"),
        ("dependencies: [python=3.9]\n", 1, "names no channels"),
        ("channels: [nodefaults]\ndependencies: [python=3.9]\n", 1, "names no channels"),
        ("channels: ['$X']\ndependencies: [python=3.9]\n", 1, "is no channel"),
        ("channels: ['https://ada:secret@h.example/c']\ndependencies: [python=3.9]\n", 1, "user name"),
        (HEAD + "dependancies: []\n", 4, "unknown key"),
        (HEAD + "- 3.9\n", 4, "expected a package"),
        (HEAD + "- sel(linux): numpy\n", 4, "expected a package"),
        (HEAD + "- numpy=1\n- numpy\n", 5, "numpy is there twice"),
        (HEAD + "- https://h.example/c/linux-64/a-1-0.conda\n", 4, "no MatchSpec"),
        (HEAD + "- 'a b; rm'\n- '$x'\n", 5, "no MatchSpec"),
        (HEAD + "- nvidia::cudatoolkit\n", 4, "not among the channels"),
        (HEAD + "- pytorch\n", 4, "stays open"),
        (HEAD + "- pip: [a]\n- pip: [b]\n", 5, "a second pip section"),
        (HEAD + "- pip: numpy\n", 4, "expected a list"),
        (HEAD + "- pip:\n  - 3\n", 5, "expected a requirement"),
        (HEAD + "- pip:\n  - numpy=1.0\n", 5, "is no requirement"),
        (HEAD + "- pip:\n  - -e .\n", 5, "names a folder"),
        (HEAD + "- pip:\n  - ./mine\n", 5, "names a folder"),
        (HEAD + "- pip:\n  - git+https://h.example/x\n", 5, "names a folder"),
        (HEAD + "- pip:\n  - x @ https://h.example/x.whl\n", 5, "names a folder"),
        (HEAD + "- pip:\n  - -r requirements.txt\n", 5, "-r is an option"),
        (HEAD + "- pip:\n  - --extra-index-url\n", 5, "is an option"),
        (HEAD + "- pip:\n  - --extra-index-url https://ada:secret@h.example/x\n", 5, "user name"),
        (HEAD + "- pip:\n  - --extra-index-url ftp://h.example\n", 5, "no address"),
        (HEAD + "- pip:\n  - --extra-index-url https://h.example/x\n  - numpy\n", 5, "stays open which packages"),
        (HEAD + "- pip:\n  - -f https://h.example/x.html\n  - numpy\n", 5, "no index"),
        (HEAD + "- pip:\n  - -i https://h.example/a\n  - -f https://h.example/b\n  - a\n", 5, "beside other indexes"),
        (HEAD + "- pip:\n  - torch==1.12.1+cu113\n", 5, "no index is named"),
        (HEAD + "- pip:\n  - torch\n", 5, "stays open"),
        (HEAD + "- pip:\n  - torch==9.9\n", 5, "stays open"),
        (
            HEAD + f"- pip:\n  - --extra-index-url {CU113}\n  - torch==1.12.1+cu113\n  - --extra-index-url https://h.example/x\n",
            6,
            "it stays open which",
        ),
        (
            HEAD + f"- pip:\n  - --extra-index-url {CU113}\n  - torch==1.12.1+cu113\n"
            "  - --extra-index-url https://download.pytorch.org/whl/cpu\n  - torchvision==0.13.1+cpu\n",
            6,
            "built for cpu and cu113",
        ),
    ],
)  # fmt: skip
def test_a_wrong_file_is_told_with_its_line(text, line, said):
    with pytest.raises(InvalidFileError) as error:
        read(text)
    assert said in error.value.message
    assert error.value.line == line
    assert "secret" not in error.value.message


@pytest.mark.parametrize(
    ("wanted", "cuda"),
    [
        ({"python": "=3.9"}, None),
        ({"pytorch": "=1.12.1", "cudatoolkit": "=11.3.1=h_0"}, "11.3"),
        ({"pytorch": "", "pytorch-cuda": "=11.8"}, "11.8"),
        ({"pytorch-gpu": "", "cuda-version": " 12.6.*"}, "12.6"),
        ({"pytorch": "=2.1.0=cuda118py311h1_300"}, "11.8"),
        ({"pytorch": "=2.5.1=cuda126_generic_py311_h1"}, "12.6"),
        ({"pytorch": "=1.12.1=py3.9_cuda11.3_cudnn8.3.2_0"}, "11.3"),
        ({"pytorch": "=1.12.1=py3.9_cpu_0", "cuda-version": "=12.6"}, None),
        ({"pytorch": " 2.1.* cpu*"}, None),
        ({"pytorch": "", "cpuonly": ""}, None),
        ({"pytorch-cpu": ">=2"}, None),
        ({"pytorch": "=2.1"}, NO_CUDA_STATED),
        ({"torchvision": "", "cudatoolkit": ">=11"}, NO_CUDA_STATED),
    ],
)
def test_the_cuda_that_conda_packages_state(wanted, cuda):
    assert stated_cuda(wanted, "linux-64") == cuda
    assert stated_cuda(wanted, "osx-arm64") is None


def record(name, channel):
    return CondaRecord(name, "1.0", "0", channel, "linux-64", f"{name}-1.0-0.conda", "ab" * 32)


def test_the_text_is_laid_out_as_conda_does():
    text = environment_text(
        "x", ["conda-forge"], ["a=1=0", "b=1.10=0"], ["--extra-index-url https://h/x", "c==1+cu113"]
    )
    assert text == (
        "name: x\nchannels:\n  - conda-forge\ndependencies:\n  - a=1=0\n  - b=1.10=0\n  - pip:\n"
        "      - --extra-index-url https://h/x\n      - c==1+cu113\n"
    )
    assert "pip" not in environment_text("x", [], ["a=1=0"], [])


def test_channels_for_certain_things_come_first():
    records = [record("a", "conda-forge"), record("b", "pytorch"), record("c", "nvidia"), record("d", "nvidia")]
    assert channels_of([*records, record("e", "https://h.example/main")]) == [
        "pytorch", "nvidia", "conda-forge", "https://h.example/main",
    ]  # fmt: skip
    assert exact_specs(records[::-1]) == ["a=1.0=0", "b=1.0=0", "c=1.0=0", "d=1.0=0"]


def test_pip_lines_begin_with_the_indexes_that_are_used():
    lines = pip_lines({"b": "1", "a": "2"}, {"a": "https://h/x", "z": "https://h/unused"})
    assert lines == ["--extra-index-url https://h/x", "a==2", "b==1"]
