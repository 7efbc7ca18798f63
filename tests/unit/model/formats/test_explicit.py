"""conda's explicit lists."""

from __future__ import annotations

import pytest

from envkit.errors import InvalidFileError
from envkit.model.conda_record import CondaRecord
from envkit.model.formats.addresses import package_address, public_address, public_channel
from envkit.model.formats.explicit import explicit_text, is_explicit, needed_first, read_explicit
from envkit.model.formats.parts import MixedFileError

FORGE = "https://conda.anaconda.org/conda-forge"
SHA256, MD5 = "ab" * 32, "cd" * 16
WHEEL = "https://x.example/packages/" + "a1/b2/" + "0" * 60 + "/numpy-1.26.4-cp311-cp311-manylinux_2_17_x86_64.whl"


def read(*lines):
    return read_explicit("\n".join(["@EXPLICIT", *lines]), "list.txt", "linux-64")


def record(name, *depends, **changes):
    values = {
        "version": "1.0",
        "build": "0",
        "channel": "conda-forge",
        "subdir": "linux-64",
        "file": f"{name}-1.0-0.conda",
        "sha256": SHA256,
        "depends": depends,
    }
    return CondaRecord(name=name, **(values | changes))


@pytest.mark.parametrize(
    ("text", "found"),
    [("# x\n@EXPLICIT\n", True), ("  @EXPLICIT \r\n", True), ("a: @EXPLICIT", False), ("", False)],
)
def test_the_marker_tells(text, found):
    assert is_explicit(text) is found


@pytest.mark.parametrize(
    ("fragment", "sha256", "md5"),
    [("", "", None), (f"#{MD5}", "", MD5), (f"#{SHA256}", SHA256, None), (f"#sha256:{SHA256}", SHA256, None)],
    ids=["none", "md5", "sha256", "prefixed"],
)
def test_every_spelling_of_the_hash(fragment, sha256, md5):
    (found,) = read(f"{FORGE}/linux-64/my-lib-1.0-h1_2.conda{fragment}").platforms["linux-64"].conda
    assert (found.sha256, found.md5, found.size) == (sha256, md5, None)
    assert (found.name, found.version, found.build, found.build_number) == ("my-lib", "1.0", "h1_2", 2)
    assert (found.channel, found.subdir, found.file) == ("conda-forge", "linux-64", "my-lib-1.0-h1_2.conda")


def test_the_platform_is_that_of_the_packages():
    assert list(read(f"{FORGE}/noarch/a-1-0.conda", f"{FORGE}/win-64/b-1-0.tar.bz2").platforms) == ["win-64"]
    assert list(read("# platform: osx-arm64", f"{FORGE}/noarch/a-1-0.conda").platforms) == ["osx-arm64"]
    assert list(read(f"{FORGE}/noarch/a-1-0.conda").platforms) == ["linux-64"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("numpy=1.26", "no conda package of a channel"),
        ("https://h.example/c/linux-64/x.tar.gz", "no conda package of a channel"),
        (f"{FORGE}/linux-64/a-1-0.conda#{'g' * 64}", "neither an MD5 sum nor a sha256"),
        ("https://ada:secret@h.example/c/linux-64/a-1-0.conda", "user name, password or token"),
        ("https://conda.anaconda.org/t/ab-123/c/linux-64/a-1-0.conda", "user name, password or token"),
        ("https://h.example/c/../linux-64/a-1-0.conda\x00", "no conda package"),
        (f"{FORGE}/linux-64/../a-1-0.conda", "subdir"),
        (f"{FORGE}/linux-64/a-1-0%2f..%2f.conda", ""),
    ],
)
def test_a_wrong_line_is_named(line, said):
    with pytest.raises(InvalidFileError, match=r"list\.txt:2: ") as error:
        read(line)
    assert said in str(error.value)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "holds no packages"),
        ([f"{FORGE}/linux-64/a-1-0.conda", f"{FORGE}/linux-64/a-2-0.conda"], "a is listed twice"),
        ([f"{FORGE}/linux-64/a-1-0.conda", f"{FORGE}/osx-64/b-2-0.conda"], "linux-64 and osx-64"),
        ([f"{FORGE}/linux-ppc64le/a-1-0.conda"], "linux-ppc64le, which envkit does not know"),
    ],
)
def test_a_wrong_list(lines, said):
    with pytest.raises(InvalidFileError, match=said):
        read(*lines)


def test_the_lines_that_conda_lock_writes_for_pip_count():
    """To conda they are comments; without them the environment would be half of it."""
    python = f"{FORGE}/linux-64/python-3.11.7-h_0.conda"
    found = read(python, f"# pip numpy @ {WHEEL}#sha256={SHA256}").platforms["linux-64"]
    assert [(item.name, item.version, item.sha256, item.source) for item in found.pip] == [
        ("numpy", "1.26.4", SHA256, None)
    ]
    with pytest.raises(InvalidFileError, match="no sha256"):
        read(python, f"# pip numpy @ {WHEEL}")
    with pytest.raises(MixedFileError) as error:
        read(python, f"{FORGE}/linux-64/scipy-1-0.conda", f"# pip numpy @ {WHEEL}#sha256={SHA256}")
    assert error.value.exit_code == 7
    assert "scipy from conda and numpy from pip" in error.value.message


def test_what_a_package_needs_stands_before_it():
    found = [
        record("app", "python >=3.9", "lib", "conda-forge::deep"),
        record("deep", "lib[version='>=1']"),
        record("lib", "base>=1", "missing"),
        record("base", "lib"),
        record("python", "pip", "lib"),
        record("pip", "python"),
    ]
    names = [item.name for item in needed_first(found)]
    assert sorted(names) == sorted(item.name for item in found)
    for first, second in (("python", "app"), ("lib", "python"), ("deep", "app"), ("python", "pip"), ("lib", "deep")):
        assert names.index(first) < names.index(second)


def test_written_and_read_again():
    found = [record("a"), record("b", md5=MD5, sha256=""), record("c", channel="https://h.example/x", subdir="noarch")]
    text = explicit_text(found, "linux-64")
    assert f"{FORGE}/linux-64/b-1.0-0.conda#{MD5}\n" in text
    back = read_explicit(text, "x", "win-64").platforms["linux-64"].conda
    assert [item.identity for item in back] == [item.identity for item in needed_first(found)]


@pytest.mark.parametrize(
    ("channel", "url"),
    [
        ("conda-forge", FORGE),
        ("nvidia/label/cuda-11.3.0", "https://conda.anaconda.org/nvidia/label/cuda-11.3.0"),
        ("pkgs/main", "https://repo.anaconda.com/pkgs/main"),
        ("defaults", "https://repo.anaconda.com/pkgs/main"),
        ("https://h.example/x", "https://h.example/x"),
    ],
)
def test_channels_go_by_their_public_address(channel, url):
    assert public_channel(channel) == url
    back = package_address(public_address(record("a", channel=channel)))
    assert back is not None
    assert back.channel == ("pkgs/main" if channel == "defaults" else channel)


def test_an_epoch_in_a_version():
    assert package_address(f"{FORGE}/linux-64/x264-1!164.3095-h1_2.tar.bz2").version == "1!164.3095"
    assert public_address(record("x264", file="x264-1!164.3095-h1_2.tar.bz2")).endswith("/x264-1!164.3095-h1_2.tar.bz2")
