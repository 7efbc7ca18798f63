"""The commands of each way to install a CUDA toolkit, and never the driver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from envkit.compat.installers import (
    archive_url,
    base_url,
    least_known,
    newest_conda_package,
    newest_installer,
    source_url,
    windows_components,
)
from envkit.compat.tables import version_key
from envkit.compat.toolkit_channels import newest_channel_toolkit
from envkit.compat.toolkit_wheels import newest_wheel_toolkit
from envkit.model.toolkit_plan import Route

if TYPE_CHECKING:
    from envkit.compat.installers import Installer, Repository

_DRIVER_PACKAGES = (
    "nvidia-driver* nvidia-kernel* nvidia-dkms* nvidia-open* nvidia-utils* libnvidia-* xserver-xorg-video-nvidia*"
)
_DRIVER_RPMS = "nvidia-driver*,nvidia-open*,kmod-nvidia*,nvidia-kmod*,xorg-x11-drv-nvidia*"
_NEWER_OPTIONS = "10.1"
"""From this release on the run file takes ``--defaultroot`` and makes the link ``/usr/local/cuda``."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be installed.

    Attributes:
        asked: "11.3" or "11.3.1", as the user said it.
        release: "11.3".
        machine: x86_64 or aarch64.
    """

    asked: str
    release: str
    machine: str

    @property
    def dashed(self) -> str:
        """As package names have it: "11-3"."""
        return self.release.replace(".", "-")

    @property
    def folder(self) -> str:
        """Where NVIDIA's installers put it."""
        return f"/usr/local/cuda-{self.release}"

    @property
    def packages_machine(self) -> str:
        """The repositories' word for the machine."""
        return "sbsa" if self.machine == "aarch64" else self.machine


def by_envkit(wanted: Wanted, *, is_windows: bool) -> list[Route]:
    """envkit's own way, where it has one; on Windows it takes nothing from conda channels."""
    wheels = newest_wheel_toolkit(wanted.asked)
    packages = newest_channel_toolkit(wanted.asked) if not is_windows else None
    if wheels is None and packages is None:
        return []
    place, known = ("PyPI's wheels", "confirmed") if wheels is not None else ("NVIDIA's conda channel", "single")
    commands = (f"envkit cuda install {wanted.asked}", f"envkit cuda check {wanted.release}")
    return [Route("envkit", f"By envkit, from {place}, into its own folder", commands, needs_root=False, known=known)]


def by_packages(wanted: Wanted, repository: Repository) -> Route:
    """By the system's own package manager, from NVIDIA's repository."""
    url = f"{base_url()}repos/{repository.name}/{wanted.packages_machine}/"
    title = f"By packages, from NVIDIA's repository {repository.name}"
    has = repository.has(wanted.release)
    if has is False:
        note = f"The repository {repository.name} begins with CUDA {repository.first}: {wanted.release} is not in it."
        if repository.first is None:
            note = f"{repository.name} came out after CUDA {wanted.release}: NVIDIA adds no old release to it."
        return Route("packages", title, (), True, "derived", repository.source, (note,))
    package = f"cuda-toolkit-{wanted.dashed}"
    notes = [f"This installs the newest update of {wanted.release}."]
    if repository.kind != "zypper":
        notes.append(
            "Drivers of this repository are shut out, so that no upgrade replaces yours; leave that line out if"
        )
        notes.append("your driver is from there.")
    if has is None or wanted.packages_machine != "x86_64":
        notes.append(f"unknown: look at {url} whether {package} is there; where it is not, the last command says so.")
    commands = _PACKAGE_COMMANDS[repository.kind](repository.name, url, package, wanted.packages_machine)
    known = repository.known if has and wanted.packages_machine == "x86_64" else "unknown"
    checked = (*commands, f"envkit cuda check {wanted.release}")
    return Route("packages", title, checked, True, known, repository.source, tuple(notes))


def _apt(name: str, url: str, package: str, machine: str) -> tuple[str, ...]:
    key = "cuda-archive-keyring.gpg"
    line = f"deb [signed-by=/usr/share/keyrings/{key}] {url} /"
    # without it, a driver from elsewhere would be replaced by this repository's at the next upgrade
    pin = f"Package: {_DRIVER_PACKAGES}\\nPin: origin developer.download.nvidia.com\\nPin-Priority: -1\\n"
    return (
        f"wget {url}{key}",
        f"sudo install -m 644 {key} /usr/share/keyrings/{key}",
        f"echo '{line}' | sudo tee /etc/apt/sources.list.d/cuda-{name}-{machine}.list",
        f"printf '{pin}' | sudo tee /etc/apt/preferences.d/cuda-without-driver",
        "sudo apt-get update",
        f"sudo apt-get install --yes --no-install-recommends {package}",
    )


def _dnf(name: str, url: str, package: str, machine: str) -> tuple[str, ...]:
    return (
        "sudo dnf install -y 'dnf-command(config-manager)'",
        f"sudo dnf config-manager --add-repo {url}cuda-{name}.repo",
        f"sudo dnf config-manager --save --setopt='cuda-{name}-{machine}.excludepkgs={_DRIVER_RPMS}'",
        f"sudo dnf install -y {package}",
    )


def _dnf5(name: str, url: str, package: str, machine: str) -> tuple[str, ...]:
    return (
        f"sudo dnf config-manager addrepo --from-repofile={url}cuda-{name}.repo",
        f"sudo dnf config-manager setopt 'cuda-{name}-{machine}.excludepkgs={_DRIVER_RPMS}'",
        f"sudo dnf install -y {package}",
    )


def _yum(name: str, url: str, package: str, machine: str) -> tuple[str, ...]:
    return (
        "sudo yum install -y yum-utils",
        f"sudo yum-config-manager --add-repo {url}cuda-{name}.repo",
        f"sudo yum-config-manager --save --setopt='cuda-{name}-{machine}.exclude={_DRIVER_RPMS}'",
        f"sudo yum install -y {package}",
    )


def _zypper(name: str, url: str, package: str, machine: str) -> tuple[str, ...]:
    del machine
    return (
        # a number above zypper's usual 99: what other repositories have as well stays theirs
        f"sudo zypper addrepo --priority 150 {url}cuda-{name}.repo",
        "sudo zypper refresh",
        f"sudo zypper install -y --no-recommends {package}",
    )


_PACKAGE_COMMANDS = {"apt": _apt, "dnf": _dnf, "dnf5": _dnf5, "yum": _yum, "zypper": _zypper}


def by_runfile(wanted: Wanted, *, as_root: bool) -> Route:
    """By NVIDIA's run file, which needs no package manager."""
    kind, place = ("runfile", "for all users") if as_root else ("runfile-user", "without root")
    found = newest_installer(wanted.asked, "sbsa" if wanted.machine == "aarch64" else "linux")
    title = f"By NVIDIA's run file, {place}"
    if found is None:
        return Route(kind, title, (), as_root, "unknown", archive_url(), (f"unknown: look at {archive_url()}",))
    folder = wanted.folder if as_root else f'"$HOME/cuda-{wanted.release}"'
    options = f"--silent --toolkit --toolkitpath={folder}"
    if not as_root and version_key(wanted.release) >= version_key(_NEWER_OPTIONS):
        options += f" --defaultroot={folder}"
    install = f"{'sudo ' if as_root else ''}sh {found.file} {options}"
    notes = [f"The newest run file of {wanted.asked} that is known here is that of {found.version}."]
    if as_root and version_key(wanted.release) >= version_key(_NEWER_OPTIONS):
        notes.append("It lets the link /usr/local/cuda point to it.")
    notes.append("Where it refuses because of the host compiler's version, add --override.")
    commands = [f"wget --continue {found.url}"]
    if found.sha256 is not None:
        notes.append("Its sha256 is known from one place; another one ends here.")
        commands.append(f"echo '{found.sha256}  {found.file}' | sha256sum --check && {install}")
    else:
        notes.append(_no_checksum(found))
        commands.append(install)
    commands += [] if as_root else [f"envkit cuda add {folder}"]
    commands.append(f"envkit cuda check {wanted.release}")
    return Route(kind, title, tuple(commands), as_root, found.known, found.source, tuple(notes))


def _no_checksum(found: Installer) -> str:
    return f"Its sha256 is not known here; NVIDIA lists MD5 sums: {base_url()}{found.version}/docs/sidebar/md5sum.txt"


def by_windows_installer(wanted: Wanted) -> Route:
    """By NVIDIA's installer for Windows, with the list of components that make the toolkit; lines for PowerShell."""
    title = "By NVIDIA's installer, in PowerShell"
    found, parts = newest_installer(wanted.asked, "windows"), windows_components(wanted.release)
    if found is None or parts is None:
        return Route("windows", title, (), True, "unknown", archive_url(), (f"unknown: look at {archive_url()}",))
    components, known, source = parts
    file = found.file.removesuffix(".exe") + ".exe"
    notes = [
        "Only the components that are named are installed: not Nsight, the samples or the integration into Visual",
        "Studio, for instance, and NVTX only where it is named.",
        f"It comes to C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v{wanted.release}.",
        f"The list of all: {source_url(['winguide'])}",
        _no_checksum(found),
    ]
    if known == "derived":
        notes.append("The names of the components are those of a neighbouring release.")
    commands = (
        f"curl.exe --fail --location --output {file} {found.url}",
        f"Start-Process -Wait -Verb RunAs -FilePath .\\{file} -ArgumentList '-s -n {' '.join(components)}'",
        f"envkit cuda check {wanted.release}",
    )
    return Route(
        "windows", title, commands, True, least_known((found.known, known)), found.source or source, tuple(notes)
    )


def by_conda(asked: str) -> list[Route]:
    """By conda, as an environment of its own."""
    found = newest_conda_package(asked)
    if found is None:
        return []
    channels = " ".join(f"-c {name}" for name in found.channels)
    options = f"--override-channels --strict-channel-priority {channels}"
    commands = (f"conda create --yes --name cuda-{found.version} {options} {found.name}",)
    notes = (
        "The toolkit is the environment's own folder; `envkit cuda list` finds it.",
        "No other channel is asked: with others, parts of a newer CUDA come with it.",
    )
    return [Route("conda", "By conda, in an environment of its own", commands, False, found.known, found.source, notes)]


def as_default(wanted: Wanted) -> Route:
    """Makes a toolkit in its usual folder what ``/usr/local/cuda`` leads to."""
    number = wanted.release.replace(".", "")
    commands = (
        f"sudo update-alternatives --install /usr/local/cuda cuda {wanted.folder} {number}",
        f"sudo update-alternatives --set cuda {wanted.folder}",
    )
    notes = ("For all users and programs; `envkit cuda use` switches one window, an environment's activation only it.",)
    title = f"Afterwards, only if CUDA {wanted.release} is to be the machine's default"
    return Route("default", title, commands, True, "confirmed", None, notes)
