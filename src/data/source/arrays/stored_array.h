// An array with one element, row or picture per sample, where it lies in a file: what .npy, .npz,
// .safetensors, .pth, CIFAR and MNIST files have in common. Nothing is read before a sample is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/array_type.h"
#include "base/error.h"
#include "data/source/arrays/byte_store.h"

namespace tundish {

// The whole array, before it is known which axis counts the samples.
struct ArrayLayout {
  ArrayType type;
  std::vector<std::uint64_t> steps;  // bytes between neighbors along each axis
  bool big_endian = false;
};

// Steps of elements without gaps. Empty when they do not fit into 64 bits.
std::optional<std::vector<std::uint64_t>> c_order_steps(const ArrayType& type);
std::optional<std::vector<std::uint64_t>> fortran_order_steps(const ArrayType& type);

// Bytes from the first to behind the last element. Empty over 64 bits; 0 without elements.
std::optional<std::uint64_t> layout_span(const ArrayLayout& layout);

struct StoredArray {
  // Samples that lie at equal distances.
  struct Piece {
    SharedStore store;
    std::uint64_t offset = 0;  // of its first sample
    std::uint64_t first = 0;   // that sample's number
  };

  std::string name;
  ArrayType type = {};                    // of one sample
  std::uint64_t count = 0;                // of samples
  std::uint64_t sample_step = 0;          // bytes from a sample to the next, in a piece
  std::vector<std::uint64_t> steps = {};  // inside a sample; empty: its elements are in C order
  bool big_endian = false;
  std::vector<Piece> pieces = {};  // ascending by `first`

  std::uint64_t sample_bytes() const { return *array_bytes(type); }  // place_array() checked it
  // Bytes from the first to the last element of a sample; more than sample_bytes() where others
  // lie between.
  std::uint64_t sample_span() const;
  const Piece& piece_of(std::uint64_t i) const;
  std::uint64_t offset_of(std::uint64_t i) const;              // in that piece's store
  bool plain() const { return steps.empty() && !big_endian; }  // read as it lies in the store
};

// Most samples of a data set.
inline constexpr std::uint64_t kMaxSamples = 50'000'000;

// `axis` counts the samples, from the end when it is negative. Faults (source_damaged with the text
// of `format`): elements outside of the store, sizes over 64 bits; format_unsupported: no such
// axis, over kMaxSamples, a sample over Limits::max_bytes or without elements of its own.
std::optional<Fault> place_array(StoredArray& out, const char* format, const ArrayLayout& layout,
                                 SharedStore store, std::uint64_t offset, std::int64_t axis);

// The samples of `more` follow those of `out`. False when they differ in type or steps.
bool append_array(StoredArray& out, const StoredArray& more);

// A sample in C order, little-endian. Any thread. Throws Error.
void read_array(std::vector<std::byte>& out, const StoredArray& array, std::uint64_t i);

// Reads the array into memory when the elements of a sample lie so far apart that reading one
// sample would read many others. `left` is what may still be taken, and becomes less. Throws Error:
// format_unsupported when it is not enough.
void gather_scattered(StoredArray& array, const char* format, std::uint64_t& left);

}  // namespace tundish
