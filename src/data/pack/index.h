// The index: facts about every record, known without reading the record. One column per fact.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/pack/byte_file.h"
#include "data/pack/format.h"
#include "data/source/source.h"

namespace tundish {

struct Index {
  std::vector<std::vector<std::uint64_t>> length;  // per stored field: [column][record]
  std::vector<std::int64_t> label;
  std::vector<std::uint64_t> names_bytes;  // per block of names, with its checksum
  std::vector<std::uint32_t> width, height;
  std::vector<std::uint8_t> codec, orientation;
  // Bytes of a lanes record's restore data, which follow its fields. 0 means no such piece, as for
  // other codecs. Empty in a pack without lanes.
  std::vector<std::uint64_t> restore;

  std::uint64_t count() const { return label.size(); }
  SampleInfo info(std::uint64_t i) const;
  bool is_lanes(std::uint64_t i) const {
    return !restore.empty() && codec[i] == static_cast<std::uint8_t>(Codec::lanes);
  }
};

// Returns the column of Index::length for each field; -1 for the label, which has no bytes.
std::vector<int> columns_of(const Schema& schema);
std::size_t stored_fields(const Schema& schema);

// Returns the bytes of the section, with its checksum; empty on overflow.
std::optional<std::uint64_t> index_bytes(std::uint64_t count, std::size_t stored, bool lanes);

// Reads a section of exactly index_bytes(count, stored, lanes) bytes. Returns index_damaged on a
// wrong checksum or an impossible value. Requires that the section is inside the file.
std::optional<Fault> read_index(Index& out, const ByteFile& file, std::uint64_t offset,
                                std::uint64_t count, std::size_t stored, bool lanes);

// Passes the section to `part` piece by piece, in file order, for a writer.
void for_each_column(const Index& index, const std::function<void(Bytes)>& part);

// Returns the first byte of every record and, at the end, the end of the last record. Empty if the
// lengths do not add up, in 64 bits, to records that end at or before `limit`.
std::optional<std::vector<std::uint64_t>> record_offsets(const Index& index,
                                                         std::uint64_t alignment,
                                                         std::uint64_t limit);

}  // namespace tundish
