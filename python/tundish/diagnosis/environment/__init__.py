"""What `tundish doctor --env` asks Python. The rest of it is C++: src/environment."""
