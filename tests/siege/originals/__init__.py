"""Random files of each format and their samples, written and read by the original library."""
