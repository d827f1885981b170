"""Changes that `tundish doctor --apply` makes to a running script."""
