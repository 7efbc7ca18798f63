"""Environment files of other tools as text: what they hold, and how they are written (docs/formats.md)."""
