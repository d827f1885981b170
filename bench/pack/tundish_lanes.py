"""`tundish pack`: JPEGs re-coded losslessly, smaller and faster to decode, with more work."""

from .tundish_keep import main

if __name__ == "__main__":
    main("lanes")
