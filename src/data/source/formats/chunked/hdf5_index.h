// Locations of the arrays in an HDF5 file, found by the helper process with libhdf5: written by the
// program, read by the library, which verifies all content. Little-endian:
//   "TNDHDF52", number of arrays (32 bits), for each array: name (length in 32 bits, bytes),
//   four bytes (element, kind, axes, number of filters), a 64-bit side for every axis, the
//   same for the chunks, for each filter its id and first value (32 bits each), the fill value,
//   number of stored chunks (64 bits), for each its number in C order, offset and bytes (64 bits
//   each) and filter mask (32 bits); number of omitted datasets (32 bits), for each its
//   name and the reason (length in 32 bits, bytes), and whether its values are in other files (8
//   bits).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/source/chunks/chunk_grid.h"
#include "data/source/chunks/chunk_steps.h"

namespace tundish {

struct Hdf5Chunk {
  std::uint64_t number = 0;  // in C order of chunk coordinates
  std::uint64_t offset = 0;  // file offset
  std::uint64_t bytes = 0;
  std::uint32_t mask = 0;  // bit f set: filter f was skipped
};

struct Hdf5Filter {
  std::uint32_t id = 0;     // HDF5's filter number
  std::uint32_t value = 0;  // first value of the filter
};

enum class Hdf5Kind : std::uint8_t {
  little_endian,
  big_endian,
  references,  // byte strings: (N, 2) of uint64, each a heap reference (hdf5_heap.h)
  texts,       // references to texts
};

inline constexpr const char* kHdf5Classes = "classes";  // texts: the names of the classes
inline constexpr const char* kHdf5Keys = "key";  // texts: names of samples, written by `convert`

struct Hdf5Array {
  std::string name;
  ChunkGrid grid;
  Hdf5Kind kind = Hdf5Kind::little_endian;
  std::vector<Hdf5Filter> filters;  // in writing order
  std::vector<Hdf5Chunk> chunks;    // sorted by number
};

// A numeric dataset that is not read.
struct Hdf5Omission {
  std::string name;
  std::string reason;
  bool is_elsewhere = false;  // true if the values are in other files
};

struct Hdf5Description {
  std::vector<Hdf5Array> arrays = {};
  std::vector<Hdf5Omission> omissions = {};
};

std::vector<std::byte> write_hdf5_index(const Hdf5Description& description);

// Accepts any bytes. Checks grids; chunks are sorted and inside the file.
std::optional<Fault> read_hdf5_index(Hdf5Description& out, Bytes index, std::uint64_t file_size);

// Returns the steps that undo the filters of a chunk; format_unsupported names an unknown filter.
std::optional<Fault> hdf5_steps(std::vector<ChunkStep>& out, const Hdf5Array& array,
                                std::uint32_t mask);

}  // namespace tundish
