"""Probes: what this machine and an environment on it say about themselves."""
