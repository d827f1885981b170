"""What `tundish env` asks Python. The rest of it is C++: src/environment."""
