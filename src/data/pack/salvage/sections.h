// The parts of a pack behind its records, found with the help of the tail or without it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/pack/byte_file.h"
#include "data/pack/format.h"
#include "data/pack/index.h"
#include "data/source/source.h"

namespace tundish {

// What is intact. A part that is lost is empty, and `lost` has a sentence about it.
struct IntactParts {
  std::optional<Head> head;
  std::optional<std::uint64_t> records_end;      // where the metadata begin
  std::optional<Schema> schema;                  // of the metadata
  std::optional<std::vector<std::byte>> tables;  // compressed; no bytes: the pack has none
  std::optional<Index> index;
  std::optional<std::uint64_t> count;                          // of records
  std::vector<std::optional<std::vector<std::string>>> names;  // by block of 1024; empty: lost
  std::vector<std::string> lost;

  const std::string* name(std::uint64_t record) const;  // nullptr: lost
};

// Any bytes. `like`: the schema to read the index with when the metadata are lost; may be null.
IntactParts read_intact_parts(const ByteFile& file, const Schema* like);

}  // namespace tundish
