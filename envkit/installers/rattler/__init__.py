"""py-rattler as envkit's engine for conda packages: it runs in a child process, never in envkit's own."""
