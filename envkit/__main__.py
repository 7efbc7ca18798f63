"""Run envkit as ``python -m envkit``."""

from __future__ import annotations

from envkit.cli.main import main

if __name__ == "__main__":
    main()
