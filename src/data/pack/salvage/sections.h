// Finds the parts of a pack behind its records, with or without the tail.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/pack/byte_file.h"
#include "data/pack/format.h"
#include "data/pack/index.h"
#include "data/source/source.h"

namespace tundish {

// The intact parts. A lost part is empty, and `lost` has a sentence about it.
struct IntactParts {
  std::optional<Head> head;
  std::optional<std::uint64_t> records_end;      // where the metadata begin
  std::optional<Schema> schema;                  // from the metadata
  std::optional<std::vector<std::byte>> tables;  // compressed; no bytes: pack without tables
  std::optional<Index> index;
  std::optional<std::uint64_t> count;                          // number of records
  std::vector<std::optional<std::vector<std::string>>> names;  // per block of 1024; empty: lost
  std::vector<std::string> lost;

  const std::string* name(std::uint64_t record) const;  // nullptr if lost
};

// Accepts any bytes. `like`: schema for the index if the metadata are lost; may be null.
IntactParts read_intact_parts(const ByteFile& file, const Schema* like);

}  // namespace tundish
