"""`tundish pack`: JPEGs re-coded losslessly, smaller and quicker to decode. More work than the others do."""

from .tundish_keep import main

if __name__ == "__main__":
    main("lanes")
