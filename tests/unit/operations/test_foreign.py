"""What becomes of other tools' files: installer, Python, CUDA, needs; and which file is which."""

from __future__ import annotations

import pytest

from envkit.errors import InvalidFileError, NotFoundError
from envkit.model.lock import Lock
from envkit.model.progress import Silent
from envkit.operations.lock import lock_spec
from envkit.operations.specs import SpecFile, find_spec, names_file, read_spec_or_lock

FORGE = "https://conda.anaconda.org/conda-forge/linux-64"
SHA256 = "ab" * 32


class Heard(Silent):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


def write(tmp_path, text, name="any.txt"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


def explicit(tmp_path, *files):
    return read(write(tmp_path, "@EXPLICIT\n" + "".join(f"{FORGE}/{file}#{SHA256}\n" for file in files)))


def read(path, progress=None):
    return read_spec_or_lock(path, path.name, progress)


def pixi(tmp_path, *wheels, python=None):
    packages = [
        f"{{pypi: 'https://m.example/packages/a1/b2/{'0' * 60}/{file}', name: {file.split('-')[0].replace('_', '-')}, "
        f"version: '{file.split('-')[1]}', sha256: '{SHA256}'}}"
        for file in wheels
    ]
    packages += [f"{{conda: '{FORGE}/{python}', sha256: '{SHA256}', size: 3}}"] if python else []
    refs = [item.split(", ")[0] + "}" for item in packages]
    text = f"version: 7\nenvironments: {{default: {{channels: [], packages: {{linux-64: [{', '.join(refs)}]}}}}}}\n"
    return read(write(tmp_path, text + f"packages: [{', '.join(packages)}]\n"))


TORCH = "torch-2.1.0-cp310-cp310-manylinux1_x86_64.whl"


@pytest.mark.parametrize(
    ("files", "cuda", "name"),
    [
        (["pytorch-1.12.1-py3.9_cuda11.3_cudnn8.3.2_0.tar.bz2"], "11.3", "torch112_cu113_py39"),
        (["pytorch-1.12.1-py3.9_cpu_0.tar.bz2"], None, "torch112_cpu_py39"),
        (["pytorch-2.1.0-cuda118py39h1_300.conda"], "11.8", "torch21_cu118_py39"),
        (["pytorch-2.1.0-py39h1_0.conda", "cuda-version-12.6-h1_3.conda"], "12.6", "torch21_cu126_py39"),
        (["pytorch-1.12.1-py39h1_0.conda", "cudatoolkit-11.3.1-h1_3.conda"], "11.3", "torch112_cu113_py39"),
        (["numpy-1.26.4-py39h1_0.conda"], None, None),
    ],
)
def test_cuda_of_an_explicit_list(tmp_path, files, cuda, name):
    lock = explicit(tmp_path, "python-3.9.18-h0_cpython.conda", *files)
    assert (lock.installer, lock.python, lock.cuda, lock.toolkit) == ("conda", "3.9", cuda, cuda)
    assert lock.environment_name("linux-64") == name
    assert ("driver" in lock.platforms["linux-64"].needs) is (cuda is not None)
    assert (lock.spec, lock.spec_sha256, lock.path) == ("any.txt", None, "any.txt")
    assert lock.created_by.endswith("read from an @EXPLICIT list")


def test_a_list_without_python(tmp_path):
    with pytest.raises(InvalidFileError, match="it holds no Python"):
        explicit(tmp_path, "numpy-1.26.4-py39h1_0.conda")


@pytest.mark.parametrize(
    ("wheels", "python", "cuda"),
    [
        (["torch-1.12.1+cu113-cp39-cp39-linux_x86_64.whl"], "3.9", "11.3"),
        (["torch-1.12.1+cpu-cp310-cp310-linux_x86_64.whl"], "3.10", None),
        (["torch-1.12.1-cp39-cp39-manylinux1_x86_64.whl"], "3.9", "10.2"),
        (
            [TORCH.replace("2.1.0", "9.9.0"), "nvidia_cuda_runtime_cu12-12.1.105-py3-none-manylinux1_x86_64.whl"],
            "3.10",
            "12.1",
        ),
        ([TORCH.replace("2.1.0", "9.9.0")], "3.10", None),
        (
            ["numpy-1.26.4-cp311-cp311-linux_x86_64.whl", "x-1.0-cp37-abi3-linux_x86_64.whl", "y-1-py3-none-any.whl"],
            "3.11",
            None,
        ),
    ],
)
def test_python_and_cuda_of_wheels(tmp_path, wheels, python, cuda):
    lock = pixi(tmp_path, *wheels)
    assert (lock.installer, lock.python, lock.cuda) == ("pip", python, cuda)
    assert {item.source for item in lock.platforms["linux-64"].packages} == {None}


def test_a_base_says_the_python(tmp_path):
    lock = pixi(tmp_path, "y-1-py3-none-any.whl", python="python-3.12.1-h0_cpython.conda")
    assert (lock.installer, lock.python) == ("pip", "3.12")
    assert [record.name for record in lock.platforms["linux-64"].base] == ["python"]


@pytest.mark.parametrize(
    ("wheels", "said"),
    [
        (["y-1-py3-none-any.whl"], "it holds no Python"),
        (["a-1-cp39-cp39-linux_x86_64.whl", "b-1-cp310-cp310-linux_x86_64.whl"], r"stays open: 3\.10, 3\.9"),
    ],
)
def test_wheels_that_leave_the_python_open(tmp_path, wheels, said):
    with pytest.raises(InvalidFileError, match=said):
        pixi(tmp_path, *wheels)


def test_an_environment_yml_is_a_spec_and_its_notes_are_told(tmp_path):
    text = "name: x\nchannels: [conda-forge]\ndependencies: [python=3.11, numpy]\nvariables: {A: b}\n"
    heard = Heard()
    found = read(write(tmp_path, text, "some.name"), heard)
    assert isinstance(found, SpecFile)
    assert found.is_foreign
    assert found.spec.installer == "conda"
    assert len(heard.notes) == 2
    assert found.lock_path == tmp_path / "some.lock.yaml"


def test_own_files_are_what_they_were(tmp_path):
    spec = "schema: 1\nname: x\npython: '3.11'\ninstaller: pip\ncuda: cpu\npackages: [numpy]\nplatforms: [linux-64]\n"
    found = read(write(tmp_path, spec, "x.yaml"))
    assert isinstance(found, SpecFile)
    assert not found.is_foreign
    with pytest.raises(InvalidFileError, match="installer"):
        read(write(tmp_path, "a: b\n", "y.yaml"))


def test_a_lock_of_another_tool_is_no_spec(tmp_path):
    path = write(tmp_path, f"@EXPLICIT\n{FORGE}/python-3.9.18-h0_cpython.conda#{SHA256}\n")
    assert isinstance(read(path), Lock)
    with pytest.raises(InvalidFileError, match="a lock already"):
        lock_spec(path)


@pytest.mark.parametrize("text", ["a/b", "x.yaml", "x.yml", "list.txt", "pixi.lock", "./x"])
def test_what_names_a_file(text):
    assert names_file(text)


@pytest.mark.parametrize("text", ["torch213-cpu", "torch113_cu117_py39", "x.y"])
def test_what_names_a_spec(text):
    assert not names_file(text)


def test_a_file_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotFoundError, match=r"no file pixi\.lock"):
        find_spec("pixi.lock")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("version: 1\nmetadata: &a [*a]\npackage: []\n", "beyond measure"),
        ("version: 7\nenvironments: !!python/object:x {}\npackages: []\n", "YAML tag"),
        ("dependencies: [python=3.9]\ndependencies: []\n", "twice"),
        ("a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
            f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(8)
        ) + "dependencies: *i\n", "beyond measure"),
        ("dependencies: [\x07]\n", "broken YAML"),
        ("@EXPLICIT\nhttps://h.example/c/linux-64/x-1-0.conda\x1b[2J\n", "no conda package"),
    ],
)  # fmt: skip
def test_hostile_files(tmp_path, text, said):
    with pytest.raises(InvalidFileError) as error:
        read(write(tmp_path, text))
    assert said in error.value.message
    assert "\x1b" not in error.value.message
