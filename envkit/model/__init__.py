"""Words of envkit as immutable values; no input or output."""
