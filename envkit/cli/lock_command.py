"""``envkit lock``."""

from __future__ import annotations

import click

from envkit.cli.options import complete_spec, confirmer, driver_version, json_option, progress, yes_option
from envkit.cli.render import emit


@click.command("lock")
@click.argument("spec", metavar="SPEC", shell_complete=complete_spec)
@click.option("-p", "--platform", "platforms", multiple=True, help="Only for this platform; may be given again.")
@click.option("-o", "--output", metavar="FILE", help="Where the lock goes, instead of beside the spec.")
@click.option("--upgrade", is_flag=True, help="Take the newest versions that the spec allows.")
@click.option("--upgrade-package", "upgrade_packages", multiple=True, metavar="P", help="The same for one package.")
@click.option("--driver", metavar="V", help="Driver version of the target machine; for specs with installer: conda.")
@click.option("--trust-source", "trusted_hosts", multiple=True, metavar="HOST", help="A source's host that you trust.")
@yes_option
@json_option
def command(
    spec: str,
    *,
    platforms: tuple[str, ...],
    output: str | None,
    upgrade: bool,
    upgrade_packages: tuple[str, ...],
    driver: str | None,
    trusted_hosts: tuple[str, ...],
    yes: bool,
    as_json: bool,
) -> int:
    """Resolve a spec into a lock file: exactly which files, with hashes, per platform.

    SPEC is a file, whose lock goes beside it, or the name of a spec that ships, whose lock goes into this folder.
    """
    from envkit.cli.texts import lock_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.environments import prefix_from  # noqa: PLC0415
    from envkit.operations.lock import lock_spec  # noqa: PLC0415
    from envkit.operations.specs import find_spec  # noqa: PLC0415
    from envkit.operations.virtual_packages import Target  # noqa: PLC0415

    found = find_spec(spec)
    target = output if output is not None or not found.is_shipped else found.lock_path.name
    with progress(steps=2) as shown:
        result = lock_spec(
            found.path,
            platforms=platforms,
            output=None if target is None else prefix_from(target),
            upgrade=upgrade,
            upgrade_packages=upgrade_packages,
            spec=found.spec,
            target=Target(driver=driver_version(driver)),
            trusted_hosts=trusted_hosts,
            confirm=confirmer(yes=yes),
            progress=shown,
        )
    return emit(result, lambda: lock_lines(result), as_json=as_json)
