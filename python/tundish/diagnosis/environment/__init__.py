"""The Python part of `tundish env`. Its other checks are written in C++ (src/tools/environment)."""
