// An array with one element, row or picture per sample, stored in a file. Shared by .npy, .npz,
// .safetensors, .pth, CIFAR and MNIST files. A sample is read only when requested.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/array_type.h"
#include "base/error.h"
#include "data/source/arrays/byte_store.h"

namespace tundish {

// The whole array, before the sample axis is chosen.
struct ArrayLayout {
  ArrayType type;
  std::vector<std::uint64_t> steps;  // bytes between neighbors along each axis
  bool big_endian = false;
};

// Returns the steps of elements without gaps. Empty if they do not fit into 64 bits.
std::optional<std::vector<std::uint64_t>> c_order_steps(const ArrayType& type);
std::optional<std::vector<std::uint64_t>> fortran_order_steps(const ArrayType& type);

// Returns the bytes from the first to behind the last element. Empty over 64 bits; 0 if none.
std::optional<std::uint64_t> layout_span(const ArrayLayout& layout);

struct StoredArray {
  // Samples at equal distances.
  struct Piece {
    SharedStore store;
    std::uint64_t offset = 0;  // offset of the first sample
    std::uint64_t first = 0;   // number of the first sample
  };

  std::string name;
  ArrayType type = {};                    // type of one sample
  std::uint64_t count = 0;                // number of samples
  std::uint64_t sample_step = 0;          // bytes between consecutive samples of a piece
  std::vector<std::uint64_t> steps = {};  // inside a sample; empty: elements in C order
  bool big_endian = false;
  std::vector<Piece> pieces = {};  // ascending by `first`

  std::uint64_t sample_bytes() const { return *array_bytes(type); }  // place_array() checked it
  // Returns the bytes from the first to the last element of a sample; more than sample_bytes() if
  // other elements lie between.
  std::uint64_t sample_span() const;
  const Piece& piece_of(std::uint64_t i) const;
  std::uint64_t offset_of(std::uint64_t i) const;              // in the store of that piece
  bool plain() const { return steps.empty() && !big_endian; }  // stored bytes need no conversion
};

// Maximum number of samples in a dataset.
inline constexpr std::uint64_t kMaxSamples = 50'000'000;

// `axis` is the sample axis, counted from the end if negative. Faults: source_damaged with the text
// of `format` for elements outside of the store or sizes over 64 bits; format_unsupported for a
// missing axis, over kMaxSamples, a sample over Limits::max_bytes, or one without its own elements.
std::optional<Fault> place_array(StoredArray& out, const char* format, const ArrayLayout& layout,
                                 SharedStore store, std::uint64_t offset, std::int64_t axis);

// Appends the samples of `more` to `out`. Returns false if they differ in type or steps.
bool append_array(StoredArray& out, const StoredArray& more);

// Reads a sample in C order, little-endian. Any thread. Throws Error.
void read_array(std::vector<std::byte>& out, const StoredArray& array, std::uint64_t i);

// Reads the array into memory if the elements of a sample lie so far apart that reading one sample
// would read many others. Subtracts the bytes from `left`, the remaining budget. Throws Error:
// format_unsupported if the budget is too small.
void gather_scattered(StoredArray& array, const char* format, std::uint64_t& left);

}  // namespace tundish
