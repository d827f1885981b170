"""Prints the codec tables of a pack as C++ code, for src/codec/lanes/builtin_tables.inc.

tundish pack photos/ -o photos.tnd --lanes-tables train
python tools/builtin_tables.py photos.tnd > src/codec/lanes/builtin_tables.inc
"""

import struct
import sys


def main() -> None:
    with open(sys.argv[1], "rb") as file:
        pack = file.read()
    offset, size = struct.unpack_from("<QQ", pack, len(pack) - 136 + 40)
    tables = pack[offset : offset + size - 4]
    for at in range(0, len(tables), 24):
        print("".join(f"{byte}," for byte in tables[at : at + 24]))


if __name__ == "__main__":
    main()
