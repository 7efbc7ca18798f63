"""Write the specs that ship in lockfiles/ from the tables, or with --check say whether they are what would be written.

What ships, and by which rules, is told in docs/specs.md.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from envkit import fs
from envkit.compat.releases import Release, releases
from envkit.compat.tables import MACHINES, MAY_REFUSE, build_label, plain_wheel_build, version_key
from envkit.operations.spec_index import spec_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LOCKFILES = Path(__file__).resolve().parent.parent / "lockfiles"
OLDEST = "1.10.0"
PYTHONS = ("3.11", "3.9")
"""In the order of preference: with these two there is a wheel for every release, 3.11 for all from 2.0 on."""
PLATFORMS = ("linux-64", "linux-aarch64", "win-64")
BY_HAND = ("torch213-cpu",)
"""Not written here; the file itself says why."""
TRIO = ("torch", "torchvision", "torchaudio")
MKL = "https://github.com/pytorch/pytorch/issues/123097"
HEAD = "# yaml-language-server: $schema=../envkit/data/spec.schema.json\n"


def main() -> int:
    """Write or check all specs; the exit status is 1 when --check finds one that differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    wanted = specs()
    there = {path.stem: path for path in LOCKFILES.glob("*.yaml") if not path.name.endswith(".lock.yaml")}
    different = sorted(
        name for name, text in wanted.items() if name not in there or there[name].read_text(encoding="utf-8") != text
    )
    left = sorted(there.keys() - wanted.keys() - {*BY_HAND})
    for name in different:
        print(f"{name}: {'differs' if options.check else 'written'}")
        if not options.check:
            fs.write_text(LOCKFILES / f"{name}.yaml", wanted[name])
    for name in left:
        print(f"{name}: no table knows this build; remove it")
    print(f"{len(wanted)} specs from the tables, {len(BY_HAND)} by hand, {len(different) + len(left)} to look at")
    return 1 if left or (options.check and different) else 0


def specs() -> dict[str, str]:
    """The text of each spec by its name."""
    found: dict[str, str] = {}
    for release in releases():
        if version_key(release.torch) >= version_key(OLDEST):
            found.update(_pip_specs(release))
            found.update(_conda_specs(release))
    return {name: text for name, text in found.items() if name not in BY_HAND}


def _pip_specs(release: Release) -> Iterator[tuple[str, str]]:
    builds = {build.cuda for platform in PLATFORMS for build in release.builds(platform) if build.known in MAY_REFUSE}
    for cuda in sorted(builds, key=lambda item: version_key(item or "0")):
        name = spec_name(release, cuda)
        yield name, _pip_text(release, cuda, name)


def _pip_text(release: Release, cuda: str | None, name: str) -> str:
    label = build_label(cuda)
    platforms = [
        platform
        for platform in PLATFORMS
        if (build := release.build(label, platform)) is not None and build.known in MAY_REFUSE
    ]
    plain = [platform for platform in platforms if plain_wheel_build(release.torch, platform) == label]
    indexed = [platform for platform in platforms if platform not in plain]
    python = _python(release, platforms)
    trio = _trio(release)
    pins = [f"{project}=={version}{_label(project, label, plain, indexed)}" for project, version in trio.items()]
    lines = [f"name: {name}", f"summary: {_summary(release, cuda, python)}{_whose(plain)}"]
    lines += [f'python: "{python}"', "installer: pip", f"cuda: {_quoted(cuda)}"]
    lines.append(f"packages: [{', '.join([*pins, *_others(release, platforms)])}]")
    if indexed:
        only = f", platforms: [{', '.join(indexed)}]" if plain else ""
        lines.append("sources:")
        claimed = [*trio, *_triton(release, cuda, indexed)]
        lines.append(f"  - {{url: {release.index(label)}, packages: [{', '.join(claimed)}]{only}}}")
    lines += [f"toolkit: {_quoted(cuda, none='none')}", f"platforms: [{', '.join(platforms)}]"]
    return HEAD + _comment(release) + "schema: 1\n" + "\n".join(lines) + "\n"


def _python(release: Release, platforms: list[str]) -> str:
    """The preferred version that the release has wheels for on every platform of the spec, and on x86-64 at large.

    Of 1.13 there are wheels for 3.11 on Linux alone, labelled experimental: one version for all counts more.
    """
    needed = {*platforms, "linux-64", "win-64"}
    return next(python for python in PYTHONS if all(python in release.pythons(platform) for platform in needed))


def _trio(release: Release) -> dict[str, str]:
    """torch, torchvision and torchaudio, the latter only where the set is known."""
    found = {"torch": release.torch, "torchvision": release.torchvision}
    if release.torchaudio is not None and release.pair_known in MAY_REFUSE:
        found["torchaudio"] = release.torchaudio
    return found


def _label(project: str, label: str, plain: list[str], indexed: list[str]) -> str:
    """``+cu113`` where every platform's file has it.

    PyPI's have none. Whether torchvision and torchaudio for aarch64 have one is not known.
    """
    is_known = project == "torch" or "linux-aarch64" not in indexed
    return f"+{label}" if not plain and is_known else ""


def _triton(release: Release, cuda: str | None, indexed: list[str]) -> list[str]:
    """triton, which torch for CUDA requires on Linux from 2.0 on, and which PyTorch's index has as well as PyPI.

    It is built by PyTorch's own people, so that it comes from where torch comes from; see default_packages.yaml.
    """
    is_required = cuda is not None and "triton" in release.row
    return ["triton"] if is_required and any(platform.startswith("linux") for platform in indexed) else []


def _summary(release: Release, cuda: str | None, python: str) -> str:
    built = "for the CPU" if cuda is None else f"built for CUDA {cuda}"
    return f"PyTorch {release.torch} {built}, Python {python}"


def _whose(plain: list[str]) -> str:
    """Which wheels of PyPI are the build: what else a plain ``torch==`` means has to be said."""
    names = {"linux-64": "Linux", "linux-aarch64": "Linux aarch64", "win-64": "Windows"}
    if not plain:
        return ""
    which = " and ".join(names[platform] for platform in plain)
    wheels, verb = ("wheel", "is") if len(plain) == 1 else ("wheels", "are")
    return f"; PyPI's own {which} {wheels} {verb} this build"


def _others(release: Release, platforms: list[str]) -> list[str]:
    """numpy, pip and setuptools; the bound that one platform needs holds for all of the spec."""
    bound = next(filter(None, (release.numpy_bound(platform) for platform in platforms)), "")
    numpy = f'"numpy{bound}"' if bound else "numpy"
    return [numpy, "pip", _bounded("setuptools", release.bounds("pip"))]


def _bounded(package: str, bounds: Mapping[str, str]) -> str:
    return f'"{package}{bounds[package]}"' if package in bounds else package


def _comment(release: Release) -> str:
    if release.pair_known in MAY_REFUSE:
        return ""
    return f"# No torchaudio: which one goes with torch {release.torch} is not known for sure.\n"


def _conda_specs(release: Release) -> Iterator[tuple[str, str]]:
    """One for each CUDA that PyTorch's channel has, the disputed ones left out."""
    conda = release.row["conda"]
    machines = {machine: platform for platform, machine in MACHINES.items()}
    for entry in conda["entries"]:
        if entry["status"] not in MAY_REFUSE:
            continue
        package, _, cuda = entry["spec"].partition("=")
        name = spec_name(release, cuda, "conda")
        platforms = [machines[machine] for machine in entry["platforms"]]
        python = _python(release, platforms)
        trio = {**_trio(release), **{name: version for name, version in conda.get("pair", {}).items() if name in TRIO}}
        pins = [f"{'pytorch' if project == 'torch' else project}={version}" for project, version in trio.items()]
        # conda-forge for Python and all else
        channels = [*entry["channels"], *(["conda-forge"] if "conda-forge" not in entry["channels"] else [])]
        others = [_bounded("mkl", release.bounds("conda")), *_others(release, platforms)]
        lines = [f"name: {name}", f"summary: {_summary(release, cuda, python)}, by conda", f'python: "{python}"']
        lines += ["installer: conda", f"cuda: {_quoted(cuda)}"]
        lines.append(f"packages: [{', '.join([*pins, f'{package}={cuda}', *others])}]")
        lines += [f"channels: [{', '.join(channels)}]", f"toolkit: {_quoted(cuda)}"]
        lines.append(f"platforms: [{', '.join(platforms)}]")
        yield name, HEAD + f"# mkl: {MKL}\nschema: 1\n" + "\n".join(lines) + "\n"


def _quoted(cuda: str | None, none: str = "cpu") -> str:
    return none if cuda is None else f'"{cuda}"'


if __name__ == "__main__":
    sys.exit(main())
