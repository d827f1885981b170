// For tests: forges an index beside a file of records, with valid checksums but other labels.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "data/source/formats/records/record_index.h"
#include "data/source/side_index.h"

namespace tundish {

// Adds 1 to the label of the first record. Version 1 is the version in record_index.cpp.
inline void forge_first_label(const std::string& path, std::string_view format) {
  const FileStamp stamp = stamp_of(path);
  auto payload = load_side_index(path, stamp, format, 1);
  REQUIRE(payload);
  std::size_t at = 8 + static_cast<std::size_t>(load<std::uint64_t>(payload->data()));
  const auto count = static_cast<std::size_t>(load<std::uint64_t>(payload->data() + at));
  at += 8 + count * (sizeof(std::uint64_t) + sizeof(std::uint32_t));  // offsets, lengths
  store(payload->data() + at, load<std::int64_t>(payload->data() + at) + 1);
  save_side_index(path, stamp, format, 1, *payload);
}

}  // namespace tundish
