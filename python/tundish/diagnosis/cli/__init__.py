"""The verbs `tundish doctor` and `doctor compare`."""
