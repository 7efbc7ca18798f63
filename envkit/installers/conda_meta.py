"""What conda's records in a prefix say: ``conda-meta/*.json``, read without conda.

Source: https://docs.conda.io/projects/conda/en/stable/dev-guide/deep-dives/install.html (CEP 32 names the folder).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from envkit.errors import InvalidFileError
from envkit.installers.record import open_regular
from envkit.model.conda_record import CondaRecord
from envkit.model.formats.addresses import ARCHIVES, PUBLIC_ALIAS, channel_name, without_credentials
from envkit.model.jsontext import JsonObject

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A file that a conda package has put into its prefix.

    Attributes:
        path: relative to the prefix, with ``/``.
        sha256: of the file as it was linked, or None where the record does not say it.
        size_bytes: likewise; None for files into which the prefix was written.
        kind: conda's word: "hardlink", "softlink", "directory", "pyc_file", "unix_python_entry_point".
    """

    path: str
    sha256: str | None
    size_bytes: int | None
    kind: str


def is_conda_prefix(prefix: Path) -> bool:
    """Whether conda takes the folder for an environment: by ``conda-meta/history`` (CEP 32)."""
    return (prefix / "conda-meta" / "history").is_file()


def installed_records(
    prefix: Path, *, channel_alias: str = PUBLIC_ALIAS, names: Mapping[str, str] | None = None
) -> tuple[CondaRecord, ...]:
    """The conda packages of a prefix by name; empty where it has no ``conda-meta``.

    Args:
        prefix: the environment's folder.
        channel_alias: an address below which a channel goes by its plain name; the public one always does.
        names: address of a channel to the name it shall go by, for channels that a ``.condarc`` places elsewhere.

    Returns:
        Records without credentials. ``sha256`` is the empty text where a record does not state it, as those of
        packages from before 2018 and from explicit lists of MD5 sums.

    Raises:
        InvalidFileError: a record is damaged; names the file.
    """
    known = {address.rstrip("/"): name for address, name in (names or {}).items()}
    aliases = (channel_alias.rstrip("/"), PUBLIC_ALIAS)
    found = [_record(source, content, known, aliases) for source, content in _contents(prefix)]
    return tuple(sorted(found, key=lambda record: (record.name, record.file)))


def record_files(prefix: Path) -> dict[str, tuple[RecordedFile, ...]]:
    """The files of each conda package of a prefix, by the package's name.

    Raises:
        InvalidFileError: a record is damaged; names the file.
    """
    found: dict[str, tuple[RecordedFile, ...]] = {}
    for path in record_paths(prefix):
        name, files = files_of_record(path)
        found[name] = found.get(name, ()) + files
    return found


def files_of_record(path: Path) -> tuple[str, tuple[RecordedFile, ...]]:
    """Name and files of one package, by its record.

    Raises:
        InvalidFileError: the record is damaged.
    """
    return _named_files(path, _content(path))


def record_paths(prefix: Path) -> list[Path]:
    """The records of a prefix; none where it has no ``conda-meta``."""
    found = sorted((prefix / "conda-meta").glob("*.json"))
    return [path for path in found if not path.name.startswith(".")]  # copies of a file server or an editor


def _named_files(source: Path, content: JsonObject) -> tuple[str, tuple[RecordedFile, ...]]:
    try:
        return content.text("name"), tuple(_files(content))
    except ValueError as error:
        raise _damaged(source, error) from error


def _contents(prefix: Path) -> Iterator[tuple[Path, JsonObject]]:
    """Each record's file and what it holds."""
    for path in record_paths(prefix):
        yield path, _content(path)


def _content(path: Path) -> JsonObject:
    try:
        with open(path, encoding="utf-8", opener=open_regular) as file:  # a pipe would be waited for
            return JsonObject.parse(file.read())
    except (OSError, ValueError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> InvalidFileError:
    return InvalidFileError(
        str(path),
        "conda's record of a package cannot be read.",
        why=f"{type(error).__name__}: {error}"[:300],
        hint="Without it nobody knows which files belong to the package. Make the environment again, as with "
        "`envkit restore ENV --replace`.",
    )


def _record(path: Path, content: JsonObject, names: Mapping[str, str], aliases: tuple[str, ...]) -> CondaRecord:
    try:
        name, version, build = content.text("name"), content.text("version"), _text_or(content, "build", "")
        file = _text_or(content, "fn", f"{name}-{version}-{build}.tar.bz2")
        if not file.endswith(ARCHIVES):  # old conda: the name without its ending
            file += ".tar.bz2"
        subdir = _text_or(content, "subdir", "noarch" if content.values.get("noarch") else "")
        address = _channel_address(content, subdir, file)
        return CondaRecord(
            name=name,
            version=version,
            build=build,
            channel=channel_name(address, names, aliases),
            subdir=subdir or "noarch",
            file=file,
            sha256=_text_or(content, "sha256", ""),
            size=_whole(content, "size"),
            md5=content.optional_text("md5"),
            build_number=_whole(content, "build_number") or 0,
            depends=_texts(content, "depends"),
            constrains=_texts(content, "constrains"),
            noarch=_noarch(content),
            timestamp=_whole(content, "timestamp"),
            track_features=_features(content),
            python_site_packages_path=content.optional_text("python_site_packages_path"),
            license=content.optional_text("license"),
            requested=_requested(content),
        )
    except ValueError as error:
        raise _damaged(path, error) from error


def _channel_address(content: JsonObject, subdir: str, file: str) -> str:
    """The channel as the package's address has it, else as conda noted it, without subdir."""
    url = without_credentials(content.optional_text("url") or "")
    end = f"/{subdir}/{file}"
    if url.endswith(end):
        return url.removesuffix(end)
    noted = content.values.get("channel")
    text = without_credentials(noted) if isinstance(noted, str) else ""
    return text.removesuffix(f"/{subdir}") if subdir else text


def _text_or(content: JsonObject, key: str, default: str) -> str:
    text = content.optional_text(key)
    return default if text is None else text


def _whole(content: JsonObject, key: str) -> int | None:
    value = content.values.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _texts(content: JsonObject, key: str) -> tuple[str, ...]:
    return content.texts(key) if content.values.get(key) is not None else ()


def _noarch(content: JsonObject) -> str | None:
    """The kind "python" or "generic", or None; very old packages say true."""
    value = content.values.get("noarch")
    return "generic" if value is True else (value if value in {"python", "generic"} else None)


def _features(content: JsonObject) -> tuple[str, ...]:
    """A list, or as conda has it one text with blanks or commas between."""
    value = content.values.get("track_features")
    if isinstance(value, str):
        return tuple(value.replace(",", " ").split())
    return _texts(content, "track_features")


def _requested(content: JsonObject) -> str | None:
    """The MatchSpec that asked for the package; conda writes the word None where there is none."""
    several: Any = content.values.get("requested_specs")
    one = content.values.get("requested_spec")
    found = [*(several if isinstance(several, list) else ()), one]
    return next((text for text in found if isinstance(text, str) and text not in {"", "None"}), None)


def _files(content: JsonObject) -> Iterator[RecordedFile]:
    data = content.values.get("paths_data")
    entries = data.get("paths") if isinstance(data, dict) else None
    if not isinstance(entries, list):  # packages from before 2017
        for path in _texts(content, "files"):
            yield RecordedFile(path, None, None, "hardlink")
        return
    places = _places(_texts(content, "files"))
    for value in entries:
        entry = JsonObject(value)
        has_prefix = entry.values.get("prefix_placeholder") is not None
        linked = entry.optional_text("sha256_in_prefix")
        original = None if has_prefix else entry.optional_text("sha256")
        yield RecordedFile(
            path=places.get(entry.text("_path"), entry.text("_path")),
            sha256=linked if linked is not None else original,
            size_bytes=None if has_prefix else _whole(entry, "size_in_bytes"),
            kind=_text_or(entry, "path_type", "hardlink"),
        )


def _places(linked: Sequence[str]) -> dict[str, str]:
    """Place in a noarch Python package to place in the prefix: conda notes the former, py-rattler the latter."""
    places = {}
    for path in linked:
        before, found, rest = path.partition("/site-packages/")
        if found and before.lower().startswith("lib"):
            places[f"site-packages/{rest}"] = path
        elif path.startswith(("bin/", "Scripts/")):
            places[f"python-scripts/{path.partition('/')[2]}"] = path
    return places
