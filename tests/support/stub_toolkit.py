"""A stub of a toolkit: a shell script as its compiler, in wheels laid out as NVIDIA's and in conda packages."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from envkit.model.locked import LockedPackage
from envkit.model.toolkit import RECORD
from envkit.model.toolkit_record import ToolkitRecord
from envkit.operations.installed_toolkits import list_files
from tests.support.channel import Channel
from tests.support.conda_archive import PLACEHOLDER
from tests.support.wheels import file_hash, make_wheel

if TYPE_CHECKING:
    from pathlib import Path

TAGS = "py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64"


def nvcc(release: str) -> str:
    """A script that says a release, and writes a script that sees no GPU wherever it is told to write something."""
    return f"""#!/bin/sh
case " $* " in *" --version "*) echo "Cuda compilation tools, release {release}, V{release}.99"; exit 0 ;; esac
while [ $# -gt 0 ]; do
    if [ "$1" = -o ]; then out=$2; fi
    shift
done
printf '#!/bin/sh\\necho "driver 0"\\nexit 2\\n' >"$out" && chmod +x "$out"
"""


@dataclass
class StubWheels:
    """Wheels of a stub toolkit, and a record that names them.

    Attributes:
        folder: with the wheels.
        record: the file for ``envkit cuda install FILE``.
        version: of the toolkit.
    """

    folder: Path
    record: Path
    version: str

    @property
    def wheels(self) -> list[Path]:
        return sorted(self.folder.glob("*.whl"))


def stub_wheels(folder: Path, version: str = "13.2.2", *, ballast: int = 0) -> StubWheels:
    """Write the wheels and the record.

    Args:
        folder: gets ``wheels`` and ``toolkit.yaml``.
        version: of the toolkit.
        ballast: bytes of a library that do not compress.
    """
    wheels, (major, minor) = folder / "wheels", version.split(".")[:2]
    noise = random.Random(version).randbytes(ballast)  # noqa: S311 - no secret
    contents = {
        "nvidia-cuda-nvcc": {
            "bin/nvcc": nvcc(f"{major}.{minor}"),
            "bin/nvcc.profile": "",
            "nvvm/bin/cicc": "#!/bin/sh\n",
        },
        "nvidia-cuda-runtime": {
            "include/cuda.h": f"#define CUDA_VERSION {major}0{minor}0\n",
            "include/cuda_runtime.h": "",
            "lib/libcudart.so.13": "runtime",
            "lib/libballast.so.1": noise,
        },
    }
    packages = []
    for name, content in contents.items():
        files = {f"nvidia/cu13/{path}": data for path, data in content.items()}
        wheel = make_wheel(wheels, name, version, tags=TAGS, files=files)
        packages.append(LockedPackage(name, version, wheel.name, file_hash(wheel), wheel.stat().st_size))
    record = ToolkitRecord(version, "pypi", "linux-64", (), tuple(packages), "2026-11-30T14:59:01Z", "envkit 0.1.0")
    path = folder / "toolkit.yaml"
    path.write_text(record.to_text())
    return StubWheels(wheels, path, version)


def stub_channels(folder: Path) -> Path:
    """NVIDIA's channel and conda-forge with stubs of 11.3.1, 11.8.0 and 12.6.3; gives the folder for ``channel_alias``.

    11.3 is laid out as those packages are, 12.6 as conda-forge's: headers and libraries below ``targets``. Every
    compiler wants a driver that serves its CUDA, as conda-forge's do.
    """
    old = Channel(folder / "nvidia" / "label" / "cuda-11.3.1")
    paths = {
        "bin/nvcc": nvcc("11.3"),
        "nvvm/bin/cicc": "#!/bin/sh\n",
        "share/where.txt": f"prefix={PLACEHOLDER}\n",
    }
    old.add("cuda-nvcc", "11.3.109", depends=["__cuda >=11.3"], files=paths)
    old.add("cuda-compiler", "11.3.1", depends=["cuda-nvcc >=11.3.109"], files={})
    headers = {"include/cuda.h": "#define CUDA_VERSION 11030\n", "lib/libcudart.so.11.0": "runtime"}
    old.add("cuda-cudart", "11.3.109", files=headers)
    old.add("cuda-libraries-dev", "11.3.1", depends=["cuda-cudart >=11.3.109"], files={})
    old.index()
    plain = Channel(folder / "nvidia" / "label" / "cuda-11.8.0")
    binary = {"share/where.bin": b"\0before\0" + PLACEHOLDER.encode() + b"/lib\0after\0"}
    plain.add("cuda-compiler", "11.8.0", files={"bin/nvcc": nvcc("11.8"), **binary})
    for name in ("cuda-cudart-dev", "cuda-cccl", "cuda-nvtx", "cuda-nvml-dev"):
        plain.add(name, "11.8.89", files={f"include/{name}.h": "", "include/cuda.h": ""})
    plain.index()
    new, main, forge = (Channel(folder / name) for name in ("nvidia/label/cuda-12.6.3", "nvidia", "conda-forge"))
    new.add("cuda-version", "12.6", noarch="generic", constrains=["__cuda >=12"])
    new.add("cuda-nvcc-tools", "12.6.85", depends=["libgcc", "cuda-version 12.6.*"], files={"bin/nvcc": nvcc("12.6")})
    new.add("cuda-nvcc-impl", "12.6.85", depends=["cuda-nvcc-tools 12.6.85", "cuda-cudart-dev"], files={})
    new.add("cuda-cccl", "12.6.77", files={"targets/x86_64-linux/include/cub/cub.cuh": ""})
    files = {
        "targets/x86_64-linux/include/cuda.h": "#define CUDA_VERSION 12060\n",
        "targets/x86_64-linux/lib/libcudart.so.12": "runtime",
        "targets/x86_64-linux/lib/libcudart_static.a": "static",
    }
    main.add("cuda-cudart-dev", "12.6.77", depends=["cuda-version 12.6.*"], files=files)
    main.add("cuda-cudart-dev", "13.0.48", depends=["cuda-version 13.0.*"], files=files)
    main.add("cuda-nvcc-impl", "12.9.86", files={"bin/nvcc": nvcc("12.9")})
    forge.add("libgcc", "14.2.0", files={"lib/libgcc_s.so.1": "gcc"})
    for channel in (new, main, forge):
        channel.index()
    return folder


def put_installed(home: Path, version: str = "13.2.2") -> Path:
    """The folder as `envkit cuda install` leaves it, made without the command."""
    folder, release = home / "toolkits" / f"cuda-{version}", ".".join(version.split(".")[:2])
    for name in ("bin", "include", "lib", ".envkit"):
        (folder / name).mkdir(parents=True)
    (folder / "bin" / "nvcc").write_text(nvcc(release))
    (folder / "bin" / "nvcc").chmod(0o755)
    (folder / "lib64").symlink_to("lib")
    (folder / "include" / "cuda.h").write_text("")
    (folder / "version.json").write_text(json.dumps({"cuda": {"version": version}}))
    wheel = LockedPackage("nvidia-cuda-nvcc", version, f"nvidia_cuda_nvcc-{version}-{TAGS}.whl", "a" * 64, 1)
    record = ToolkitRecord(version, "pypi", "linux-64", (), (wheel,), "2026-11-30T14:59:01Z", "envkit 0.1.0")
    (folder / RECORD).write_text(record.to_text())
    list_files(folder)
    return folder


def installed_record(home: Path, version: str) -> Path:
    """The record of an installed toolkit."""
    return home / "toolkits" / f"cuda-{version}" / RECORD
