"""For the worker: repodata from the channels, and the solve."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rattler import (
    BuildString,
    Channel,
    ChannelPriority,
    Gateway,
    GenericVirtualPackage,
    MatchSpec,
    PackageName,
    SourceConfig,
    Version,
    solve,
)
from rattler.exceptions import GatewayError, InvalidMatchSpecError, SolverError
from rattler.repo_data import MultiSource

from envkit.installers.rattler.worker_net import KnownFailureError, Watch, make_client, make_record
from envkit.installers.rattler.worker_report import IndexLine

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from rattler.networking.fetch_repo_data import CacheAction

_T = TypeVar("_T")
_KEPT = (
    "name",
    "version",
    "build",
    "build_number",
    "subdir",
    "sha256",
    "md5",
    "size",
    "depends",
    "constrains",
    "noarch",
    "timestamp",
    "track_features",
    "python_site_packages_path",
    "license",
)


async def answer(request: dict[str, Any], leave: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The records that satisfy the request."""
    repodata = Repodata(request)
    line = IndexLine(request["channels"], draws=request["draws"])
    Watch(request["idle_s"], repodata.cache, repodata.waiting, leave, line.draw)
    try:
        specs = [parse_spec(text, said) for text, said in request["specs"]]
        constraints = [parse_spec(text, said) for text, said in request["constraints"]]
        records = await _solve(request, repodata, specs, constraints)
    except KnownFailureError as failure:
        return {"error": failure.facts}
    finally:
        line.end()
    asked = {spec.name.normalized: said for spec, (_, said) in zip(specs, request["specs"], strict=True) if spec.name}
    entries = [entry_of(record, request["channels"]) for record in records]
    for entry in entries:
        if entry["name"] in asked:
            entry["requested"] = asked[entry["name"]]
    return {"records": entries}


async def _solve(
    request: Mapping[str, Any], repodata: Repodata, specs: Sequence[MatchSpec], constraints: Sequence[MatchSpec]
) -> list[Any]:
    virtual = [
        GenericVirtualPackage(PackageName(name), Version(version), BuildString.new_unchecked(build))
        for name, version, build in request["virtual_packages"]
    ]

    async def work(gateway: Gateway) -> list[Any]:
        try:
            locked = request["locked"] if request["holds"] else await _offered(gateway, request, repodata)
            return await solve(
                [source_of(channel) for channel in request["channels"]],
                [*specs, *bare_names(specs)],
                gateway=gateway,
                platforms=repodata.subdirs,
                locked_packages=[make_record(entry) for entry in locked],
                virtual_packages=virtual,
                timeout=dt.timedelta(seconds=request["timeout_s"]),
                channel_priority=ChannelPriority.Strict,
                constraints=constraints or None,
                channel_relations="disabled",  # they would bring in channels that the spec does not name
            )
        except SolverError as error:
            raise KnownFailureError("unsatisfiable", said=str(error)) from error
        except GatewayError as error:
            raise KnownFailureError("channel", channel=None, said=str(error)) from error

    return await repodata.use(work)


def bare_names(specs: Sequence[MatchSpec]) -> list[MatchSpec]:
    """The packages of ``specs`` once more without their versions, which asks for nothing more.

    For strict priority a channel has to be seen to have a package: py-rattler looks only at the records that a spec of
    the user matches, so a later channel would give a version that the first one has not (0.28.0). A spec that names its
    channel chooses it by that.
    """
    placed = {spec.name.normalized for spec in specs if spec.name is not None and spec.channel is not None}
    names = dict.fromkeys(spec.name.normalized for spec in specs if spec.name is not None)
    return [MatchSpec(name) for name in names if name not in placed]


async def _offered(gateway: Gateway, request: Mapping[str, Any], repodata: Repodata) -> list[Mapping[str, Any]]:
    """The locked records that the first channel with a package of their names still has.

    py-rattler takes all that it is given, also from a channel that is not asked any more or comes later now.
    """
    waiting = {entry["name"]: entry for entry in request["locked"]}
    kept = []
    for channel in request["channels"]:
        if not waiting:
            break
        rows = await gateway.query(
            [Channel(url) for url in channel["urls"]],
            repodata.subdirs,
            sorted(waiting),
            recursive=False,
            channel_relations="disabled",
        )
        records = [record for row in rows for record in row]
        files = {(record.name.normalized, record.subdir, record.file_name, record.sha256) for record in records}
        for name in waiting.keys() & {item[0] for item in files}:
            entry = waiting.pop(name)
            place = (name, entry["subdir"], entry["file"], bytes.fromhex(entry["sha256"]))
            if entry["channel_url"] in channel["urls"] and place in files:
                kept.append(entry)
    return kept


class Repodata:
    """The channels' indexes: fetched first, each by itself, so that a failure names its channel."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self._request = request
        self.cache = Path(request["cache"]) / "repodata"
        self.subdirs = list(dict.fromkeys([request["platform"], "noarch"]))
        self._open: list[str] = []

    def waiting(self) -> list[str]:
        """The channels that have not answered; all of them while shards are fetched."""
        return list(self._open)

    async def use(self, work: Callable[[Gateway], Awaitable[_T]]) -> _T:
        """What ``work`` gives for a gateway that has the indexes.

        Sharded repodata first. Some mirrors answer for it with an error or a page of their own, instead of "not found":
        then the plain repodata decides.
        """
        try:
            return await work(await self._fetched(sharded=True))
        except KnownFailureError as failure:
            said = failure.facts.get("said", "")
            if "shard" not in said or "error sending request" in said:
                raise
            return await work(await self._fetched(sharded=False))

    async def _fetched(self, *, sharded: bool) -> Gateway:
        action: CacheAction = "force-cache-only" if self._request["offline"] else "cache-or-fetch"
        gateway = Gateway(
            cache_dir=self.cache,
            default_config=SourceConfig(sharded_enabled=sharded, cache_action=action),
            client=make_client(self._request),
        )
        channels = self._request["channels"]
        self._open = [channel["name"] for channel in channels]
        await asyncio.gather(*(self._fetch(gateway, channel) for channel in channels))
        self._open = [channel["name"] for channel in channels]
        return gateway

    async def _fetch(self, gateway: Gateway, channel: Mapping[str, Any]) -> None:
        try:
            await gateway.names([Channel(url) for url in channel["urls"]], self.subdirs, channel_relations="disabled")
        except GatewayError as error:
            raise KnownFailureError("channel", channel=channel["name"], said=str(error)) from error
        self._open.remove(channel["name"])


def source_of(channel: Mapping[str, Any]) -> Channel | MultiSource:
    """A channel, or the channels that a name such as ``defaults`` stands for, with one priority."""
    members = [Channel(url) for url in channel["urls"]]
    return members[0] if len(members) == 1 else MultiSource(channel["name"], members)


def parse_spec(text: str, said: str) -> MatchSpec:
    """A MatchSpec; ``said`` is the text that the user wrote."""
    try:
        spec = MatchSpec(text)
    except InvalidMatchSpecError as error:
        raise KnownFailureError("spec", spec=said, said=str(error)) from error
    if "[url=" in str(spec) or "url=" in text:
        raise KnownFailureError("spec", spec=said, said="it names a file, not a package of a channel")
    try:
        MatchSpec(text, strict=True)
    except InvalidMatchSpecError as error:
        if 'build="' in str(spec):  # what py-rattler cannot make sense of, it takes for a build
            raise KnownFailureError("spec", spec=said, said=str(error)) from error
    return spec


def entry_of(record: Any, channels: Sequence[Mapping[str, Any]]) -> dict[str, Any]:  # noqa: ANN401
    """envkit's form of a record, with the channel as the caller named it."""
    fields = json.loads(record.to_json())
    url = record.url
    places = ((base, name) for item in channels for base, name in item["urls"].items())
    channel = next((name for base, name in places if url.startswith(f"{base}/")), record.channel)
    entry = {key: fields[key] for key in _KEPT if fields.get(key) not in (None, [], "")}
    entry.setdefault("depends", [])
    if isinstance(entry.get("track_features"), str):
        entry["track_features"] = entry["track_features"].replace(",", " ").split()
    return {**entry, "channel": channel, "file": record.file_name}
