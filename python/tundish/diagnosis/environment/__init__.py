"""Python part of `tundish env`. The other checks are C++: src/tools/environment."""
