"""Python bindings of the C interface in include/tundish.h."""
