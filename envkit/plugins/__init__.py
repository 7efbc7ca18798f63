"""Plugins for other programs: envkit inside conda."""
