// Where the arrays of an HDF5 file are, as the helper process found it with libhdf5: written by the
// program, read by the library, which trusts nothing in it. Little-endian:
//   "TNDHDF52", number of arrays (32 bits), for each array: name (length in 32 bits, bytes),
//   four bytes (element, kind, axes, number of filters), a 64-bit side for every axis, the
//   same for the chunks, for each filter its id and first value (32 bits each), the fill value,
//   number of stored chunks (64 bits), for each its number in C order, offset and bytes (64 bits
//   each) and filter mask (32 bits); number of data sets that are left out (32 bits), for each its
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
  std::uint64_t offset = 0;  // in the file
  std::uint64_t bytes = 0;
  std::uint32_t mask = 0;  // bit f: filter f was left out
};

struct Hdf5Filter {
  std::uint32_t id = 0;     // as HDF5 numbers filters
  std::uint32_t value = 0;  // the first of its values
};

enum class Hdf5Kind : std::uint8_t {
  little_endian,
  big_endian,
  references,  // byte strings: (N, 2) of uint64, which are a reference to the heap (hdf5_heap.h)
  texts,       // the same of texts
};

inline constexpr const char* kHdf5Classes = "classes";  // texts: the names of the classes
inline constexpr const char* kHdf5Keys = "key";  // texts: names of samples, written by `convert`

struct Hdf5Array {
  std::string name;
  ChunkGrid grid;
  Hdf5Kind kind = Hdf5Kind::little_endian;
  std::vector<Hdf5Filter> filters;  // in the order of writing
  std::vector<Hdf5Chunk> chunks;    // sorted by number
};

// A data set that is not read although it has numbers.
struct Hdf5Omission {
  std::string name;
  std::string reason;
  bool is_elsewhere = false;  // the values are in other files
};

struct Hdf5Description {
  std::vector<Hdf5Array> arrays = {};
  std::vector<Hdf5Omission> omissions = {};
};

std::vector<std::byte> write_hdf5_index(const Hdf5Description& description);

// Any bytes. Grids are checked, chunks are sorted and inside of the file.
std::optional<Fault> read_hdf5_index(Hdf5Description& out, Bytes index, std::uint64_t file_size);

// The steps that undo the filters of one chunk; format_unsupported names a filter that is unknown.
std::optional<Fault> hdf5_steps(std::vector<ChunkStep>& out, const Hdf5Array& array,
                                std::uint32_t mask);

}  // namespace tundish
