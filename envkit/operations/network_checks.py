"""Can the indexes and channels be reached from here, and through which proxies?"""

from __future__ import annotations

import os
import re
import ssl
import sys
import urllib.request
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from envkit.errors import ProgramError
from envkit.installers.condarc import read_conda_settings
from envkit.installers.indexes import for_uv, local_path, read_pip_config
from envkit.installers.pages import PageReader, request_for
from envkit.installers.rattler.network import plan_network, proxy_of
from envkit.installers.reach import Question, ask_all
from envkit.installers.uv import uv_environment, uv_program
from envkit.model.addresses import redacted
from envkit.model.fit import FitCheck
from envkit.process import run

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from envkit.installers.condarc import CondaSettings
    from envkit.installers.indexes import PipConfig
    from envkit.installers.reach import Answer, Kind
    from envkit.model.spec import Source, Spec

_PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_UV_LIMIT_S = 15.0
_SOMETHING = "pip"
"""A project that every index of Python packages has."""
_CACHED = "What is in the caches or on this disk is taken without it."
_MEANING: Mapping[Kind, tuple[str, str]] = {
    "name": ("Its name is not known to the name server.", "Check the network (DNS), and the address."),
    "refused": ("It refuses the connection.", "Check the address and its port; a firewall may refuse as well."),
    "no-route": ("There is no way to it from here.", "Many clusters' nodes have no network: use a login node."),
    "time-out": ("It does not answer in time.", "A firewall may swallow the packets: is a proxy to be set?"),
    "certificate": (
        "Its certificate is not trusted here.",
        "Where a proxy opens TLS: PIP_CERT, SSL_CERT_FILE and conda's ssl_verify name its certificate.",
    ),
    "tls": ("It speaks no TLS that this machine speaks.", "Is it an http address, or does a proxy stand between?"),
    "proxy": ("The proxy cannot be reached, or refuses.", "Check https_proxy, pip's proxy and proxy_servers."),
    "proxy-login": ("The proxy wants a login (407).", "Write it as https_proxy=http://USER:PASSWORD@HOST:PORT."),
    "login": (
        "It wants a login, or refuses this machine.",
        "Put user name and password into netrc; check the address.",
    ),
    "not-there": ("It answers, but has no such page.", "Check the address of the index or channel."),
    "server": ("Its own error.", "Try again later."),
    "other": ("What answers is no index.", "Check the address, and what stands between."),
}


def network_checks(spec: Spec | None, platform: str, environ: Mapping[str, str]) -> tuple[FitCheck, ...]:
    """Proxies, the default index, and each index or channel that the spec names.

    Raises:
        InvalidFileError: a configuration file of pip, uv or conda is broken, or forbids a channel.
    """
    config, settings = for_uv(read_pip_config()), read_conda_settings()
    checks = [_proxies(config, settings, environ)]
    if spec is not None and spec.installer == "conda":
        return (*checks, *_channels(spec.channels, platform, settings))
    indexes: list[tuple[str, str, str]] = []
    if spec is not None:
        indexes += [(source.url, _first_name(source), "the spec") for source in spec.sources]
    if config.no_index:
        checks.append(FitCheck("index", "ok", "none: your configuration has no-index", source="pip's configuration"))
    elif config.index_url is None:
        checks.append(_by_uv(config))
    else:
        indexes.append((config.index_url, _SOMETHING, "your configuration"))
    if not config.no_index:
        indexes += [(url.partition("=")[2] if _is_labelled(url) else url, "", "your configuration")
                    for url in config.extra_index_urls]  # fmt: skip
    return (*checks, *_indexes(indexes, PageReader(config)))


def _first_name(source: Source) -> str:
    """A project that the index should have; empty where the spec names patterns alone."""
    return next((name for name in source.packages if "*" not in name), "")


def _is_labelled(url: str) -> bool:
    return "=" in url.partition("://")[0]


def _proxies(config: PipConfig, settings: CondaSettings, environ: Mapping[str, str]) -> FitCheck:
    shown, differing = [], []
    for name in _PROXY_VARIABLES:
        small, large = environ.get(name), environ.get(name.upper())
        shown += [f"{name}={redacted(value)}" for value in dict.fromkeys(filter(None, (small, large)))]
        differing += [name] if small and large and small != large else []
    shown += [f"pip: {redacted(config.proxy)}"] if config.proxy else []
    shown += [f"conda, {key}: {redacted(value)}" for key, value in settings.proxy_servers.items()]
    found = "; ".join(shown) or "none"
    if not differing:
        return FitCheck("proxy", "ok", found, source="variables, pip's and conda's configuration")
    why = f"{', '.join(differing)} and the same in capitals differ, and programs disagree about which one counts."
    return FitCheck("proxy", "warn", found, "one value", why, "Set both alike, or one of them.", "variables")


def _indexes(indexes: Iterable[tuple[str, str, str]], reader: PageReader) -> list[FitCheck]:
    checks, asked = [], []
    for url, project, source in dict.fromkeys(indexes):
        folder = local_path(url)
        if folder is not None:
            checks.append(_local("index", folder.exists(), str(folder), source))
            continue
        page = f"{url.rstrip('/')}/{project}/" if project else f"{url.rstrip('/')}/"
        plain, host, request = request_for(page, "application/vnd.pypi.simple.v1+json, text/html;q=0.5")
        proxy = reader.proxies(host).get(urlsplit(plain).scheme)
        asked.append((redacted(url), source, Question(request, reader.opener(host), proxy)))
    return [*checks, *_asked("index", asked)]


def _local(name: str, is_there: bool, place: str, source: str) -> FitCheck:  # noqa: FBT001 - a fact, not an option
    if is_there:
        return FitCheck(name, "ok", f"{place}: is there", source=source)
    return FitCheck(name, "warn", f"{place}: is not there", "a folder", "The folder is not there.", None, source)


def _asked(name: str, asked: Sequence[tuple[str, str, Question]]) -> list[FitCheck]:
    answers = ask_all([question for _, _, question in asked])
    return [_judged(name, address, source, answer) for (address, source, _), answer in zip(asked, answers, strict=True)]


def _judged(name: str, address: str, source: str, answer: Answer) -> FitCheck:
    if answer.kind == "reached":
        return FitCheck(name, "ok", f"{address}: reached", source=source)
    why, hint = _MEANING[answer.kind]
    return FitCheck(name, "warn", f"{address}: {answer.detail}", "reached", f"{why} {_CACHED}", hint, source)


def _by_uv(config: PipConfig) -> FitCheck:
    """PyPI, whose address is uv's own business: uv is asked for one project."""
    command = ["pip", "compile", "-", "--no-deps", "--quiet", "--refresh", "--python", sys.executable, "--no-config"]
    changes = uv_environment() | {"UV_HTTP_TIMEOUT": "5", "UV_HTTP_CONNECT_TIMEOUT": "4", "UV_HTTP_RETRIES": "0"}
    if config.proxy is not None:
        changes |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), config.proxy)
    if config.cert is not None and os.path.isfile(config.cert) and "SSL_CERT_FILE" not in os.environ:  # noqa: PTH113
        changes["SSL_CERT_FILE"] = config.cert
    uv = uv_program()
    try:
        done = run([uv, *command], timeout_s=_UV_LIMIT_S, env=changes, cwd=uv.parent, stdin=_SOMETHING, check=False)
    except ProgramError as error:
        return FitCheck(
            "index", "warn", "PyPI: no answer", "reached", f"{error.message} {_CACHED}", _MEANING["time-out"][1]
        )
    if done.returncode == 0:
        return FitCheck("index", "ok", "PyPI: reached", source="uv, without an index in your configuration")
    said = [found[0] for line in redacted(done.stderr).splitlines() if (found := re.search(r"\w.*", line))]
    why = f"uv cannot reach it: {said[-1] if said else 'it does not say why'}. {_CACHED}"
    hint = "Check the network, proxies and certificates, or set a mirror as index-url of pip."
    return FitCheck("index", "warn", "PyPI: not reached", "reached", why, hint, "uv")


def _channels(names: Iterable[str], platform: str, settings: CondaSettings) -> list[FitCheck]:
    network = plan_network(names, settings, platform)
    if settings.offline:
        return [FitCheck("channel", "ok", "not asked: conda's configuration says offline", source=".condarc")]
    checks, asked = [], []
    for name, places in network.channels.items():
        mirrors = settings.mirrors.get(name, ())[:1] if name not in settings.custom_channels else ()
        named = [settings.channels().resolve(mirror) for mirror in mirrors]
        for url in [place.access for place in named or places]:
            folder = local_path(url)
            if folder is None:
                question = _channel_question(f"{url}/noarch/repodata.json", settings)
                asked.append((network.hide(f"{name} ({url})"), "the spec", question))
            else:
                checks.append(_local("channel", (folder / "noarch").exists(), f"{name} ({folder})", "the spec"))
    return [*checks, *_asked("channel", asked)]


def _channel_question(url: str, settings: CondaSettings) -> Question:
    plain, host, request = request_for(url, "*/*")
    request.method = "HEAD"  # repodata has up to 100 MB
    scheme = urlsplit(plain).scheme
    proxies = urllib.request.getproxies()
    configured = proxy_of(scheme, host, settings.proxy_servers)
    if scheme not in proxies and "all" not in proxies and configured is not None:
        proxies[scheme] = configured
    if urllib.request.proxy_bypass(host):
        proxies = {}
    handlers = (
        urllib.request.ProxyHandler(proxies),
        urllib.request.HTTPSHandler(context=_context(settings.ssl_verify)),
    )
    return Question(request, urllib.request.build_opener(*handlers), proxies.get(scheme))


def _context(verify: bool | str) -> ssl.SSLContext:  # noqa: FBT001 - conda's own setting has three kinds of values
    bundle = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")
    path = verify if isinstance(verify, str) and verify != "truststore" else bundle
    if path and os.path.isdir(path):  # noqa: PTH112 - text
        context = ssl.create_default_context(capath=path)
    else:
        context = ssl.create_default_context(cafile=path if path and os.path.isfile(path) else None)  # noqa: PTH113
    if verify is False:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
