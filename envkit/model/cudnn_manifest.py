"""What envkit has put into a toolkit as its cuDNN: file by file, so that exactly these can be taken out again."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from envkit.model.fields import Fields
from envkit.model.yamltext import parse_yaml

if TYPE_CHECKING:
    from envkit.model.yamltext import Path, YamlDocument

SCHEMA = 1
FOLDER = ".envkit"
MANIFEST = f"{FOLDER}/cudnn.yaml"
"""Where it lies in the toolkit's folder."""

_KEYS = {"schema", "version", "source", "sha256", "installed_at", "created_by", "files"}
_PLACE = re.compile(r"(include|bin|lib|lib64|lib/x64)/(lib)?cudnn[A-Za-z0-9._+-]*", re.ASCII)
"""What a file of cuDNN may be called; a manifest that names anything else is not envkit's, and nothing is removed."""
_LINK = re.compile(r"libcudnn[A-Za-z0-9._+-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class PlacedFile:
    """One file or link.

    Attributes:
        path: in the toolkit, with slashes: "lib64/libcudnn.so.8".
        sha256: of a file; None for a link.
        link: a link's target, a name beside it; None for a file.
    """

    path: str
    sha256: str | None = None
    link: str | None = None

    def to_dict(self) -> dict[str, str]:
        """The entry as it stands in the file."""
        return {"path": self.path, "link": self.link} if self.link else {"path": self.path, "sha256": self.sha256 or ""}


@dataclass(frozen=True, slots=True)
class CudnnManifest:
    """A cuDNN that envkit has put into a toolkit.

    Attributes:
        version: as its header says, "8.9.7".
        source: the name of the wheel or archive it is from.
        sha256: of that file.
        installed_at: UTC, "2026-11-30T14:59:01Z".
        created_by: the envkit that did it.
        files: all of them.
    """

    version: str
    source: str
    sha256: str
    installed_at: str
    created_by: str
    files: tuple[PlacedFile, ...]

    def to_text(self) -> str:
        """The file, one line per file of cuDNN; JSON is YAML."""
        head = {
            "schema": SCHEMA,
            "version": self.version,
            "source": self.source,
            "sha256": self.sha256,
            "installed_at": self.installed_at,
            "created_by": self.created_by,
        }
        lines = [f"{key}: {json.dumps(value)}" for key, value in head.items()]
        return "\n".join([*lines, "files:", *(f"- {json.dumps(item.to_dict())}" for item in self.files)]) + "\n"


def parse_cudnn_manifest(text: str, path: str) -> CudnnManifest:
    """Read a manifest.

    Args:
        text: of the file.
        path: the file as the user named it, for messages.

    Raises:
        InvalidFileError: it is not what envkit writes.
    """
    document = parse_yaml(text, path)
    fields = Fields(document, (), _KEYS)
    fields.schema(SCHEMA)
    return CudnnManifest(
        version=fields.version("version"),
        source=fields.text("source"),
        sha256=fields.text("sha256"),
        installed_at=fields.text("installed_at"),
        created_by=fields.text("created_by"),
        files=tuple(_placed(document, place) for place, _ in fields.items("files")),
    )


def _placed(document: YamlDocument, place: Path) -> PlacedFile:
    fields = Fields(document, place, {"path", "sha256", "link"})
    path, link = fields.text("path"), fields.optional_text("link")
    if _PLACE.fullmatch(path) is None:
        raise fields.error("path", f"path: {path!r} is no place for a file of cuDNN.")
    if link is not None and _LINK.fullmatch(link) is None:
        raise fields.error("link", f"link: {link!r} is no name of a library of cuDNN.")
    return PlacedFile(path, None if link is not None else fields.text("sha256"), link)
