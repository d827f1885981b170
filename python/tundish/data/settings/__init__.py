"""The arguments of a Loader: values, checks and defaults."""
