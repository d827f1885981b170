// Restores elements whose bytes or bits were regrouped for better compression, and converts
// big-endian elements to little-endian. `out` and `in` have one size and do not overlap. Bytes
// behind the last whole element are copied. `element` is not 0.
#pragma once

#include <cstddef>

#include "data/source/chunks/decompress_chunk.h"

namespace tundish {

// HDF5's shuffle filter, numcodecs' Shuffle, Blosc: all first bytes, then all second bytes, etc.
void unshuffle_bytes(ByteSpan out, Bytes in, std::size_t element);
void unshuffle_bytes_reference(ByteSpan out, Bytes in, std::size_t element);

// Blosc's bit shuffle: the lowest bits of all first bytes come first, eight elements to a byte. A
// block whose number of elements is no multiple of 8 is stored unshuffled.
void unshuffle_bits(ByteSpan out, Bytes in, std::size_t element);
void unshuffle_bits_reference(ByteSpan out, Bytes in, std::size_t element);

// Swaps the byte order in place.
void swap_elements(ByteSpan bytes, std::size_t element);

}  // namespace tundish
