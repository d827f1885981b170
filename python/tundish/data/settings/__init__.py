"""The arguments of a Loader: their values, checks and defaults."""
