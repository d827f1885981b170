// The B+tree of an LMDB data file (64-bit, little-endian, data version 1): every key and where its
// value is. Reads pages, writes nothing, takes no lock.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "data/source/string_table.h"

namespace tundish {

// Reads exactly out.size() bytes; false when the file ends before.
using ReadAt = std::function<bool(std::span<std::byte> out, std::uint64_t offset)>;

struct LmdbValues {
  StringTable keys;                    // in the order of the tree
  std::vector<std::uint64_t> offsets;  // of the values, in the file
  std::vector<std::uint32_t> sizes;
  bool one_head = false;    // the other one is damaged, and may have been the newer one
  bool keys_ascend = true;  // each key is after the one before, byte by byte: then no key is twice
};

// Whether the first bytes are those of an LMDB data file.
bool starts_lmdb(Bytes first);

// Any bytes. Memory: 12 bytes and the key for each value that the file holds, a bit for each page.
// Faults: source_damaged (pages out of range, met twice, or not as a page of their kind is),
// format_unsupported (sub-databases, DUPSORT, other versions). A throw of read_at passes through.
std::optional<Fault> walk_lmdb(LmdbValues& out, const ReadAt& read_at, std::uint64_t file_size);

}  // namespace tundish
