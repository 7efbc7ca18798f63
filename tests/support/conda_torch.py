"""Channels of PyTorch's users, ``conda-forge``, ``pytorch`` and ``nvidia``, with a stub of torch or the real one."""

from __future__ import annotations

import email
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement

from tests.support.channel import Channel
from tests.support.conda_pythons import bundled_wheels, python_package, pythons, wheel_package
from tests.support.wheels import wheel_metadata

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tests.support.conda_archive import Content

STUB_TORCH = Path(__file__).parents[1] / "data" / "stub_torch"
TORCH, TORCHVISION, NEWER_TORCH = "1.12.1", "0.13.1", "1.13.0"
CUDATOOLKITS = {"11.3": "11.3.1", "11.6": "11.6.0"}
REAL_TORCH = "2.13.0"


@dataclass(frozen=True)
class Channels:
    """Channels below one root, which is fit for ``channel_alias``.

    Attributes:
        root: holds them, each by its name.
        forge: ``conda-forge``: Python, pip, setuptools, wheel, numpy, cudatoolkit, and a newer pytorch (CPU).
        pytorch: ``pytorch``: pytorch for CPU, CUDA 11.3 and 11.6, torchvision, cpuonly, pytorch-mutex.
        nvidia: ``nvidia/label/cuda-11.3.0``: cuda-nvcc.
    """

    root: Path
    forge: Channel
    pytorch: Channel
    nvidia: Channel

    @property
    def alias(self) -> str:
        """The root as an address, without a slash at the end."""
        return self.root.as_uri()

    def index(self) -> None:
        """Index them all."""
        for channel in (self.forge, self.pytorch, self.nvidia):
            channel.index()


def stub_channels(root: Path, *, cache: Path, minors: Iterable[str] = ("3.11",)) -> Channels:
    """Make and index the three channels for some Pythons; torch, torchvision and numpy in them are stubs.

    Args:
        root: a new folder.
        cache: where the packages of Python are kept.
        minors: Pythons of this machine; pytorch is there for each.
    """
    made = Channels(
        root,
        Channel(root / "conda-forge"),
        Channel(root / "pytorch"),
        Channel(root / "nvidia" / "label" / "cuda-11.3.0"),
    )
    for minor in minors:
        python_package(made.forge, minor, cache=cache)
        add_stub_torch(made.pytorch, minor)
        _add_torch(made.forge, minor, NEWER_TORCH, f"cpu_py{minor.replace('.', '')}_0", cuda=None)
    _fill_forge(made.forge)
    for kind in ("cpu", "cuda"):
        made.pytorch.add("pytorch-mutex", "1.0", build=kind, noarch="generic", build_number=int(kind == "cuda"))
    made.pytorch.add("cpuonly", "2.0", depends=["pytorch-mutex 1.0 cpu"], noarch="generic")
    made.nvidia.add("cuda-nvcc", "11.3.58", files={"bin/nvcc": "#!/bin/sh\necho release 11.3\n"})
    made.index()
    return made


def _fill_forge(forge: Channel) -> None:
    newest = next(minor for minor in ("3.11", *pythons()) if "setuptools" in bundled_wheels(minor))
    wheels = bundled_wheels(newest)
    wheel_package(forge, wheels["setuptools"], depends=["python >=3.7"])
    wheel_package(forge, wheels["pip"], depends=["python >=3.7", "setuptools", "wheel"])
    for name, version, content in (
        ("wheel", "0.41.0", {"wheel/__init__.py": "__version__ = '0.41.0'\n"}),
        ("numpy", "1.26.4", {"numpy/__init__.py": (STUB_TORCH / "numpy" / "__init__.py").read_text("utf-8")}),
    ):
        files = distribution(name, version, content, "site-packages")
        forge.add(name, version, build="pyhd8ed1ab_0", noarch="python", depends=["python >=3.7"], files=files)
    for version in CUDATOOLKITS.values():
        files = {f"lib/libcudart.so.{version}": b"stub"}
        forge.add("cudatoolkit", version, build="h9edb442_10", depends=["__glibc >=2.17"], files=files)


def add_stub_torch(channel: Channel, minor: str = "3.11") -> None:
    """Add the stubs of pytorch and torchvision to a channel, for CPU and for each CUDA of ``CUDATOOLKITS``."""
    _add_torch(channel, minor, TORCH, f"py{minor}_cpu_0", cuda=None, depends=["pytorch-mutex 1.0 cpu"])
    for cuda in CUDATOOLKITS:
        needs = ["pytorch-mutex 1.0 cuda", f"cudatoolkit {cuda}.*", f"__cuda >={cuda}"]
        _add_torch(
            channel, minor, TORCH, f"py{minor}_cuda{cuda}_cudnn8.3.2_0", cuda=cuda, depends=needs, build_number=1
        )
    site = f"lib/python{minor}/site-packages"
    vision = {"torchvision/__init__.py": (STUB_TORCH / "torchvision" / "__init__.py").read_text("utf-8")}
    kinds = {"cpu": ["pytorch-mutex 1.0 cpu"]}
    kinds |= {f"cu{v.replace('.', '')}": ["pytorch-mutex 1.0 cuda", f"cudatoolkit {v}.*"] for v in CUDATOOLKITS}
    for kind, needs in kinds.items():
        channel.add(
            "torchvision",
            TORCHVISION,
            build=f"py{minor.replace('.', '')}_{kind}",
            build_number=int(kind != "cpu"),
            depends=[f"python {minor}.*", f"pytorch {TORCH}", "numpy", *needs],
            files=distribution("torchvision", TORCHVISION, vision, site),
        )


def _add_torch(
    channel: Channel,
    minor: str,
    version: str,
    build: str,
    *,
    cuda: str | None,
    depends: Iterable[str] = (),
    build_number: int = 0,
) -> None:
    stated = {"version": version, "cuda": cuda, "torchvision": TORCHVISION, "torchaudio": None}
    text = (STUB_TORCH / "torch" / "__init__.py").read_text("utf-8")
    text = text.replace("CONFIG.update(", f"CONFIG.update({stated!r})\nCONFIG.update(", 1)
    channel.add(
        "pytorch",
        version,
        build=build,
        build_number=build_number,
        depends=[f"python {minor}.*", "numpy", *depends],
        files=distribution("torch", version, {"torch/__init__.py": text}, f"lib/python{minor}/site-packages"),
    )


def distribution(name: str, version: str, modules: Mapping[str, Content], site: str) -> dict[str, Content]:
    """The files of a Python project in a conda package, with a ``dist-info`` whose installer is conda.

    Args:
        name: of the project.
        version: of the project.
        modules: path below site-packages to content.
        site: ``site-packages`` of a noarch package, ``lib/python3.11/site-packages`` of another.
    """
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    files: dict[str, Content] = {
        **modules,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/INSTALLER": "conda\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    return {f"{site}/{path}": content for path, content in files.items()}


def real_torch_channel(folder: Path, *, cache: Path) -> Channel:
    """A channel with Python 3.11, pip and the real pytorch for CPU, of the wheels that pip is configured to find.

    Args:
        folder: the channel; made and indexed when it is not there yet.
        cache: where wheels and the package of Python are kept.

    Raises:
        RuntimeError: pip finds no such wheel here.
    """
    channel = Channel(folder)
    if (folder / "linux-64" / "repodata.json").is_file():
        return channel
    python_package(channel, "3.11", cache=cache)
    _fill_forge(channel)
    for name in ("numpy", "setuptools"):  # a stub, and too old
        next((folder / "noarch").glob(f"{name}-*")).unlink()
    for wheel in _download(cache / "wheels"):
        _add_real(channel, wheel)
    return channel.index()


def _download(folder: Path) -> list[Path]:
    python = pythons()["3.11"] / "bin" / "python3.11"
    command = [str(python), "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--dest", str(folder)]
    wanted = [f"torch=={REAL_TORCH}", "numpy"]
    done = subprocess.run([*command, *wanted], capture_output=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        raise RuntimeError(f"no wheels of torch {REAL_TORCH}: {done.stderr[-500:]}")
    return sorted(folder.glob("*.whl"))


def _add_real(channel: Channel, wheel: Path) -> None:
    pure = wheel.name.endswith("-none-any.whl")
    name = "pytorch" if wheel.name.startswith("torch-") else None
    build = "pyhd8ed1ab_0" if pure else "py311_cpu_0" if name else "py311_0"
    needs = [*_needs(wheel), "numpy"] if name else _needs(wheel)
    depends = ["python >=3.9" if pure else "python 3.11.*", *needs]
    wheel_package(channel, wheel, name=name, build=build, depends=depends, python=None if pure else "3.11")


def _needs(wheel: Path) -> list[str]:
    """What a wheel needs with Python 3.11 on Linux, as match specs."""
    stated = email.message_from_bytes(wheel_metadata(wheel)).get_all("Requires-Dist") or []
    here = {"python_version": "3.11", "python_full_version": "3.11.7", "extra": ""}
    needed = [Requirement(text) for text in stated]
    return [
        f"{one.name.lower().replace('_', '-')} {one.specifier}".strip()
        for one in needed
        if one.marker is None or one.marker.evaluate(here)
    ]
