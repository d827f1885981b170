// Elements whose bytes or bits were regrouped so that they compress better, put back in order; and
// elements turned from big-endian to little-endian. `out` and `in` have one size and do not
// overlap. What is left after the last whole element is copied. `element` is not 0.
#pragma once

#include <cstddef>

#include "data/source/chunks/decompress_chunk.h"

namespace tundish {

// HDF5's shuffle filter, numcodecs' Shuffle, Blosc: first all first bytes, then all second bytes.
void unshuffle_bytes(ByteSpan out, Bytes in, std::size_t element);
void unshuffle_bytes_reference(ByteSpan out, Bytes in, std::size_t element);

// Blosc's bit shuffle: first the lowest bits of all first bytes, eight elements to a byte. A block
// whose number of elements is no multiple of 8 is stored as it is.
void unshuffle_bits(ByteSpan out, Bytes in, std::size_t element);
void unshuffle_bits_reference(ByteSpan out, Bytes in, std::size_t element);

// The other byte order, in place.
void swap_elements(ByteSpan bytes, std::size_t element);

}  // namespace tundish
