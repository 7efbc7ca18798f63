"""The work of envkit's plugin for conda: standard library and conda alone."""
