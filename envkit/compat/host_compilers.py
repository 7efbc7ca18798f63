"""Which host compilers a CUDA toolkit takes."""

from __future__ import annotations

from envkit.compat.tables import MAY_REFUSE, toolkit_row


def newest_gcc(release: str) -> int | None:
    """The newest major version of gcc that nvcc of a release takes; nvcc ends with an error for a newer one.

    None where that is not known well enough to switch compilers on its ground.
    Source: ``crt/host_config.h`` of each toolkit (``host_compilers`` in ``cuda_toolkits.yaml``).

    Args:
        release: of the toolkit, "11.3".
    """
    row = toolkit_row(release)
    compilers = row.get("host_compilers", {}) if row is not None else {}
    return int(compilers["gcc_max"]) if compilers.get("gcc_status") in MAY_REFUSE else None
