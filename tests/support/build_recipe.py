"""Builds envkit's conda recipe: RECIPE CHANNEL PYTHON OUTPUT. A program of its own, since rattler-build has threads."""

from __future__ import annotations

import os
import sys

from rattler_build import PlatformConfig, RenderConfig, Stage0Recipe, VariantConfig


def main(recipe: str, channel: str, python: str, output: str) -> None:
    """Build every package of the recipe into the folder ``output``."""
    rendered = Stage0Recipe.from_file(recipe).render(
        VariantConfig({"python": [python]}), RenderConfig(platform=PlatformConfig(experimental=True))
    )
    for variant in rendered:
        for package in variant.run_build(channels=[channel], output_dir=output).packages:
            sys.stdout.write(f"{package}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # its threads may crash an interpreter that ends in order
