"""`tundish pack`: re-codes JPEGs losslessly. They get smaller and faster to decode, but packing is slower."""

from .tundish_keep import main

if __name__ == "__main__":
    main("lanes")
