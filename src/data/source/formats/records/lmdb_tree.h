// The B+tree of an LMDB data file (64-bit, little-endian, data version 1): every key and the place
// of its value. Reads pages, writes nothing, takes no lock.
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

// Reads exactly out.size() bytes; false if the file ends before.
using ReadAt = std::function<bool(std::span<std::byte> out, std::uint64_t offset)>;

struct LmdbValues {
  StringTable keys;                    // in tree order
  std::vector<std::uint64_t> offsets;  // file offsets of the values
  std::vector<std::uint32_t> sizes;
  bool one_head = false;    // the other head is damaged, and may have been newer
  bool keys_ascend = true;  // keys strictly ascend by bytes, so no key repeats
};

// Returns true if the first bytes are the start of an LMDB data file.
bool starts_lmdb(Bytes first);

// Accepts any bytes. Memory: 12 bytes and the key per value, a bit per page. Faults: source_damaged
// (pages out of range, visited twice, or invalid for their kind),
// format_unsupported (sub-databases, DUPSORT, other versions). Exceptions of read_at pass through.
std::optional<Fault> walk_lmdb(LmdbValues& out, const ReadAt& read_at, std::uint64_t file_size);

}  // namespace tundish
