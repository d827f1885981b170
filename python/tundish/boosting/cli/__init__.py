"""The verb `tundish boost`."""
