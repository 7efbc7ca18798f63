"""With the real uv against two loopback indexes: P, the source that a spec names, and D, the default index."""

from __future__ import annotations

import io
import ssl
import tarfile
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import trustme
import yaml

from envkit import process, resources
from envkit.errors import DownloadError, InvalidFileError
from envkit.installers.indexes import PipConfig
from envkit.installers.resolution_errors import ResolutionError
from envkit.installers.resolve import resolve
from envkit.installers.routing import default_packages
from envkit.model.spec import parse_spec
from tests.support.index import serve_index
from tests.support.wheels import file_hash, make_wheel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from envkit.model.spec import Spec
    from tests.support.index import Index

LINUX = "cp39-cp39-linux_x86_64"
MANYLINUX = "cp39-cp39-manylinux1_x86_64"
PINNED = ["torch==1.11.0+cu113", "numpy"]


def spec_of(packages: list[str], sources: dict[str, list[str]] | None = None, **keys: object) -> Spec:
    content = {
        "schema": 1,
        "name": "x",
        "python": "3.9",
        "installer": "pip",
        "cuda": "11.3",
        "packages": packages,
        "platforms": ["linux-64", "win-64"],
        **keys,
    }
    if sources:
        content["sources"] = [{"url": url, "packages": names} for url, names in sources.items()]
    return parse_spec(yaml.safe_dump(content), "x.yaml")


@pytest.fixture
def p(tmp_path: Path) -> Iterator[Index]:
    make_wheel(tmp_path / "P", "torch", "1.11.0+cu113", requires=["h", "numpy"], tags=LINUX)
    make_wheel(tmp_path / "P", "h", "1.0")
    make_wheel(tmp_path / "P", "numpy", "1.21")
    with serve_index(tmp_path / "P") as index:
        yield index


@pytest.fixture
def d(tmp_path: Path) -> Iterator[Index]:
    make_wheel(tmp_path / "D", "torch", "1.11.0", tags=MANYLINUX)
    make_wheel(tmp_path / "D", "torch", "2.0.0", tags=MANYLINUX)
    make_wheel(tmp_path / "D", "numpy", "1.26.0")
    make_wheel(tmp_path / "D", "h", "9.9")
    with serve_index(tmp_path / "D") as index:
        yield index


@pytest.fixture
def default(d: Index) -> PipConfig:
    return PipConfig(index_url=d.url)


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What envkit tells uv: command lines and variables, one text per call."""
    told, real = [], process.run

    def run(argv, **options):
        told.append(f"{list(map(str, argv))} {options.get('env')}")
        return real(argv, **options)

    monkeypatch.setattr(process, "run", run)
    return told


def test_c19_claimed_packages_come_from_their_source_and_from_nowhere_else(p, d, default, commands):
    packages = resolve(spec_of(PINNED, {p.url: ["torch", "h"]}), "linux-64", config=default)
    assert [(item.name, item.version, item.source) for item in packages] == [
        ("h", "1.0", p.url),
        ("numpy", "1.26.0", None),
        ("torch", "1.11.0+cu113", p.url),
    ]
    for item in packages:
        assert item.sha256 == file_hash((p if item.source else d).folder / item.file)
    assert not d.asked_for("h")
    assert not d.asked_for("torch")
    assert not p.asked_for("numpy")
    assert not any(request.endswith(".whl") for request in p.requests + d.requests)
    assert not any(p.url in told and d.url in told for told in commands)


def test_c19_unclaimed_package_of_the_source_is_refused_and_never_looked_for_elsewhere(p, d, default, commands):
    with pytest.raises(InvalidFileError) as caught:
        resolve(spec_of(PINNED, {p.url: ["torch"]}), "linux-64", config=default)
    error = caught.value
    assert error.exit_code == 4
    for part in ("h could come from", p.url, d.url):
        assert part in error.message
    assert "Name h under the source" in (error.hint or "")
    assert not d.asked_for("h")
    assert not any(p.url in told and d.url in told for told in commands)


def test_c19_local_version_without_an_index_is_refused_with_the_missing_index(d, default):
    with pytest.raises(ResolutionError) as caught:
        resolve(spec_of(["torch==1.11.0+cu113"]), "linux-64", config=default)
    assert "https://download.pytorch.org/whl/cu113" in (caught.value.hint or "")
    assert "no version of torch==1.11.0+cu113" in (caught.value.why or "")


def test_claims_by_pattern_hold_for_dependencies_too(p, d, default):
    packages = resolve(spec_of(PINNED, {p.url: ["*"]}), "linux-64", config=default)
    assert {item.source for item in packages} == {p.url}
    assert d.requests == []


def test_claimed_package_that_its_source_does_not_have_is_not_looked_for_elsewhere(p, d, default):
    (p.folder / "h-1.0-py3-none-any.whl").unlink()
    with pytest.raises(InvalidFileError, match="does not have the package h"):
        resolve(spec_of(PINNED, {p.url: ["torch", "h"]}), "linux-64", config=default)
    assert not d.asked_for("h")


def test_source_on_this_disk_and_a_space_in_its_path(tmp_path, p, d, default):
    simple = tmp_path / "my index"
    for wheel in p.folder.iterdir():
        page = simple / wheel.name.split("-")[0] / "index.html"
        page.parent.mkdir(parents=True)
        page.write_text(f'<a href="{wheel.as_uri()}">x</a>', encoding="utf-8")
    packages = resolve(spec_of(PINNED, {simple.as_uri(): ["torch", "h"]}), "linux-64", config=default)
    assert [(item.name, item.source) for item in packages if item.source] == [
        ("h", simple.as_uri()),
        ("torch", simple.as_uri()),
    ]
    assert packages[0].sha256 == file_hash(p.folder / "h-1.0-py3-none-any.whl")


def test_source_with_password_in_netrc(tmp_path, p, d, default, monkeypatch):
    p.auth = ("me", "secret")
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(netrc))
    packages = resolve(spec_of(PINNED, {p.url: ["torch", "h"]}), "linux-64", config=default)
    assert "secret" not in str(packages)


def test_source_that_wants_a_password_or_is_silent_names_the_host(p, d, default):
    p.fail("torch", 500)
    with pytest.raises(DownloadError, match=r"127\.0\.0\.1 answered 500") as caught:
        resolve(spec_of(PINNED, {p.url: ["torch", "h"]}), "linux-64", config=default)
    assert caught.value.exit_code == 5


def test_https_source_without_hashes_is_not_downloaded_to_find_them(tmp_path, p, d, default, monkeypatch):
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    with serve_index(p.folder, hashes=False, tls=context) as secure:
        config = replace(default, cert=str(tmp_path / "ca.pem"))
        packages = resolve(spec_of(PINNED, {secure.url: ["torch", "h"]}), "linux-64", config=config)
        assert not any(request.endswith(".whl") for request in secure.requests)
    assert {item.name: item.sha256 is None for item in packages} == {"h": True, "numpy": False, "torch": True}


def test_default_index_with_a_password_leaks_nowhere(p, d, commands):
    d.auth = ("me", "s3cret")
    config = PipConfig(index_url=d.url.replace("//", "//me:s3cret@"))
    packages = resolve(spec_of(PINNED, {p.url: ["torch", "h"]}), "linux-64", config=config)
    assert "s3cret" not in str(packages)
    assert not any("s3cret" in told.partition(" {")[0] for told in commands)
    d.auth = ("me", "other")
    with pytest.raises(DownloadError, match=rf"{d.host} refused access to its packages \(401") as caught:
        resolve(spec_of(["numpy"]), "linux-64", config=config)
    assert "s3cret" not in f"{caught.value} {caught.value.why} {caught.value.hint}"


def test_default_index_out_of_reach_names_its_host(monkeypatch):
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with pytest.raises(DownloadError, match=r"127\.0\.0\.1:9") as caught:
        resolve(spec_of(["numpy"]), "linux-64", config=PipConfig(index_url="http://127.0.0.1:9/simple"))
    assert caught.value.exit_code == 5


def test_package_without_a_wheel_is_refused_by_name_unless_the_spec_allows_to_build_it(d, default):
    with tarfile.open(d.folder / "s-1.0.tar.gz", "w:gz") as archive:
        for name, text in {
            "PKG-INFO": "Metadata-Version: 2.2\nName: s\nVersion: 1.0\nRequires-Dist: numpy\n",
            "pyproject.toml": '[project]\nname = "s"\nversion = "1.0"\ndependencies = ["numpy"]\n',
        }.items():
            entry = tarfile.TarInfo(f"s-1.0/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    with pytest.raises(ResolutionError, match=r"s==1\.0 has no wheel|s has no wheel") as caught:
        resolve(spec_of(["s"]), "linux-64", config=default)
    assert "sdist: [s]" in (caught.value.hint or "")
    packages = resolve(spec_of(["s"], sdist=["s"]), "linux-64", config=default)
    assert [item.file for item in packages] == ["numpy-1.26.0-py3-none-any.whl", "s-1.0.tar.gz"]
    assert packages[1].sha256 == file_hash(d.folder / "s-1.0.tar.gz")


def test_wheels_for_another_platform_only_are_refused_by_name(d, default):
    make_wheel(d.folder, "w", "1.0", tags="cp39-cp39-win_amd64")
    assert resolve(spec_of(["w"]), "win-64", config=default)[0].file == "w-1.0-cp39-cp39-win_amd64.whl"
    with pytest.raises(ResolutionError, match=r"w has no wheel for linux-64 with Python 3\.9"):
        resolve(spec_of(["w"]), "linux-64", config=default)


def test_unsatisfiable_spec_has_uvs_own_explanation(d, default):
    with pytest.raises(ResolutionError, match=r"cannot be had together for linux-64 with Python 3\.9") as caught:
        resolve(spec_of(["numpy>=2"]), "linux-64", config=default)
    assert caught.value.exit_code == 4
    assert "only numpy==1.26.0 is available" in (caught.value.why or "")


def test_the_wheel_that_fits_the_target_best_is_chosen(d, default):
    for tags in ("py3-none-any", MANYLINUX, "cp39-cp39-manylinux_2_28_x86_64", "cp39-cp39-win_amd64"):
        make_wheel(d.folder, "many", "1.0", tags=tags)
    files = {
        platform: resolve(spec_of(["many"]), platform, config=default)[0].file for platform in ("linux-64", "win-64")
    }
    assert files["linux-64"] == "many-1.0-cp39-cp39-manylinux_2_28_x86_64.whl"
    assert files["win-64"] == "many-1.0-cp39-cp39-win_amd64.whl"


def test_pins_of_an_earlier_lock_are_kept_until_upgrade(d, default):
    make_wheel(d.folder, "a", "1.0")
    make_wheel(d.folder, "b", "1.0")
    spec = spec_of(["a", "b"])
    first = resolve(spec, "linux-64", config=default)
    make_wheel(d.folder, "a", "2.0")
    make_wheel(d.folder, "b", "2.0")
    assert resolve(spec, "linux-64", config=default, preferred=first) == first
    one = resolve(spec, "linux-64", config=default, preferred=first, upgrade_packages=("b",))
    assert [item.version for item in one] == ["1.0", "2.0"]
    both = resolve(spec, "linux-64", config=default, preferred=first, upgrade=True)
    assert [item.version for item in both] == ["2.0", "2.0"]
    assert resolve(spec_of(["a>1", "b"]), "linux-64", config=default, preferred=first)[0].version == "2.0"


def test_further_indexes_of_the_user_come_first_where_they_fit_and_absent_ones_do_not_matter(tmp_path, d, default):
    make_wheel(tmp_path / "E", "own", "1.0")
    make_wheel(tmp_path / "E", "numpy", "1.99", tags="cp311-cp311-manylinux1_x86_64")
    with serve_index(tmp_path / "E") as extra:
        config = replace(default, extra_index_urls=((tmp_path / "absent").as_uri(), f"mine={extra.url}"))
        packages = resolve(spec_of(["own", "numpy"]), "linux-64", config=config)
    assert [(item.name, item.version, item.source) for item in packages] == [
        ("numpy", "1.26.0", None),
        ("own", "1.0", None),
    ]
    assert not d.asked_for("own")


def test_well_known_packages_come_from_the_default_index_unless_a_further_one_alone_has_them(tmp_path, d, default):
    make_wheel(tmp_path / "E", "numpy", "1.0")
    make_wheel(tmp_path / "E", "numpy", "1.99")
    with serve_index(tmp_path / "E") as extra:
        config = replace(default, extra_index_urls=(extra.url,))
        assert resolve(spec_of(["numpy"]), "linux-64", config=config)[0].version == "1.26.0"
        assert resolve(spec_of(["numpy==1.99"]), "linux-64", config=config)[0].version == "1.99"


def test_further_index_without_the_asked_version_is_passed_over(tmp_path, d, default):
    make_wheel(tmp_path / "E", "h", "1.0")
    with serve_index(tmp_path / "E") as extra:
        config = replace(default, extra_index_urls=(extra.url,))
        assert resolve(spec_of(["h"]), "linux-64", config=config)[0].version == "1.0"
        assert resolve(spec_of(["h>5"]), "linux-64", config=config)[0].version == "9.9"


def test_find_links_count_for_the_default_index_but_not_for_claimed_packages(tmp_path, p, d, default):
    make_wheel(tmp_path / "links", "torch", "1.11.0+cu113", tags=LINUX)
    make_wheel(tmp_path / "links", "only-here", "1.0")
    config = replace(default, find_links=(str(tmp_path / "links"), str(tmp_path / "absent")))
    packages = resolve(spec_of([*PINNED, "only-here"], {p.url: ["torch", "h"]}), "linux-64", config=config)
    assert [(item.name, item.source) for item in packages] == [
        ("h", p.url),
        ("numpy", None),
        ("only-here", None),
        ("torch", p.url),
    ]


def test_no_index_leaves_find_links_and_the_sources_that_the_spec_names(tmp_path, p):
    make_wheel(tmp_path / "links", "numpy", "1.20")
    config = PipConfig(no_index=True, find_links=(str(tmp_path / "links"),))
    packages = resolve(spec_of(PINNED, {p.url: ["torch", "h"]}), "linux-64", config=config)
    assert [(item.name, item.version) for item in packages] == [
        ("h", "1.0"),
        ("numpy", "1.20"),
        ("torch", "1.11.0+cu113"),
    ]
    assert resolve(spec_of(["numpy"]), "linux-64", config=config)[0].version == "1.20"


def test_settings_of_uv_that_would_change_the_answer_do_not(d, default, monkeypatch, tmp_path):
    constraint = tmp_path / "constraint.txt"
    constraint.write_text("numpy==0.1\n", encoding="utf-8")
    monkeypatch.setenv("UV_CONSTRAINT", str(constraint))
    monkeypatch.setenv("UV_TORCH_BACKEND", "cu128")
    monkeypatch.setenv("UV_NO_BINARY", ":all:")
    packages = resolve(spec_of(["torch==1.11.0", "numpy"]), "linux-64", config=default)
    assert [item.version for item in packages] == ["1.26.0", "1.11.0"]


def test_default_packages_are_canonical_cited_and_hold_nothing_that_pytorch_builds_itself():
    names = default_packages()
    assert {"numpy", "pillow", "typing-extensions", "pip", "setuptools"} <= names
    assert not {name for name in names if name.startswith(("torch", "pytorch", "triton"))}
    assert all(name == name.lower() and "_" not in name for name in names)
    table = yaml.safe_load(resources.data_file("default_packages.yaml").read_text(encoding="utf-8"))
    listed = [name for group in table["groups"] for name in group["packages"]]
    assert len(listed) == len(set(listed))
    for group in table["groups"]:
        assert group["reason"]
        assert set(group["src"]) <= set(table["sources"])
        assert group["packages"] == sorted(group["packages"])
