"""For the worker: the records of packages that are named by their files."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rattler import Channel, RepoDataRecord
from rattler.exceptions import GatewayError
from rattler.package_streaming import download_to_path

from envkit.installers.rattler.worker_net import KnownFailureError, Watch, digest_of, find_file, make_client, path_of
from envkit.installers.rattler.worker_solve import Repodata, entry_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rattler import Gateway

Place = tuple[str, str, str]
"""Channel, subdir, file."""


async def answer(request: dict[str, Any], leave: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The records, in the order in which they were asked for."""
    repodata = Repodata(request)
    repodata.subdirs = list(dict.fromkeys(entry["subdir"] for entry in request["wanted"]))
    waiting: list[str] = []
    Watch(request["idle_s"], repodata.cache, lambda: waiting or repodata.waiting(), leave)
    try:
        found = await _from_repodata(request, repodata)
        records = []
        for entry in request["wanted"]:
            record = found.get(_place(entry))
            if record is None or not record.get("sha256"):  # indexes of old private channels state none
                waiting[:] = [entry["name"]]
                record = await _from_file(entry, request)
            _check(entry, record)
            records.append(record)
    except KnownFailureError as failure:
        return {"error": failure.facts}
    return {"records": records}


def _place(entry: Mapping[str, Any]) -> Place:
    return (entry["channel"], entry["subdir"], entry["file"])


async def _from_repodata(request: Mapping[str, Any], repodata: Repodata) -> dict[Place, dict[str, Any]]:
    """What the channels' indexes have; nothing of a channel whose index cannot be had: the files decide then."""

    async def look(gateway: Gateway) -> list[Sequence[dict[str, Any]]]:
        return await asyncio.gather(*(_of_channel(gateway, channel, request) for channel in request["channels"]))

    try:
        rows = await repodata.use(look)
    except KnownFailureError:
        return {}
    return {_place(entry): entry for row in rows for entry in row}


async def _of_channel(
    gateway: Gateway, channel: Mapping[str, Any], request: Mapping[str, Any]
) -> Sequence[dict[str, Any]]:
    wanted = [entry for entry in request["wanted"] if entry["channel"] == channel["name"]]
    places = {_place(entry) for entry in wanted}
    try:
        rows = await gateway.query(
            [Channel(url) for url in channel["urls"]],
            sorted({entry["subdir"] for entry in wanted}),
            sorted({entry["name"] for entry in wanted}),
            recursive=False,
            channel_relations="disabled",
        )
    except GatewayError as error:
        raise KnownFailureError("channel", channel=channel["name"], said=str(error)) from error
    files = {entry["file"] for entry in wanted}
    entries = [entry_of(record, [channel]) for row in rows for record in row if record.file_name in files]
    return [entry for entry in entries if _place(entry) in places]


async def _from_file(entry: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    local = find_file(entry, request["folders"]) if entry["sha256"] or entry["md5"] else None
    path = local if local is not None else await _fetched(entry, request)
    try:
        record = await RepoDataRecord.from_package_archive(path)
    except Exception as error:
        raise KnownFailureError("install", said=f"failed to fetch {entry['file']}\n{error}") from error
    record.file_name, record.url = entry["file"], entry["url"]
    found = entry_of(record, [{"urls": {entry["channel_url"]: entry["channel"]}}])
    found |= {"subdir": entry["subdir"], "md5": digest_of(path, "md5")}
    try:
        _check(entry, found)
    except KnownFailureError:
        if path.is_relative_to(request["fetched"]):
            path.unlink(missing_ok=True)
        raise
    return found


async def _fetched(entry: Mapping[str, Any], request: Mapping[str, Any]) -> Path:
    if entry["url"].startswith("file:"):
        return path_of(str(entry["url"]))
    if request["offline"]:
        raise KnownFailureError("offline", files=[entry["file"]])
    folder = Path(request["fetched"]) / str(entry["subdir"])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / str(entry["file"])
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        await download_to_path(make_client(request), entry["url"], part)
        part.replace(path)
    except Exception as error:
        raise KnownFailureError("install", said=f"failed to fetch {entry['file']}\n{error}") from error
    finally:
        part.unlink(missing_ok=True)
    return path


def _check(entry: Mapping[str, Any], record: Mapping[str, Any]) -> None:
    for kind in ("sha256", "md5"):
        expected, found = entry[kind], record.get(kind)
        if expected and found and expected != found:
            said = f"failed to fetch {entry['file']}\nhash mismatch: expected {expected}, got {found}"
            raise KnownFailureError("install", said=said)
