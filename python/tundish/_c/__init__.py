"""The C interface, include/tundish.h, as Python sees it."""
