// Records without an index: found one after the other by their checksums, which hold the record's
// number. See docs/edit-packs.md for what is lost then.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "data/pack/byte_file.h"
#include "data/pack/salvage/salvage.h"
#include "data/source/source.h"

namespace tundish {

struct RecordScan {
  const Schema& schema;
  std::uint64_t alignment = 64;
  std::optional<std::uint64_t> records_end;  // where the metadata begin, when it is known
  std::function<void(std::uint64_t bytes, std::uint64_t all)> progress = {};
  // Where record `first` is looked for; 0: behind the head.
  std::uint64_t begin = 0, first = 0;
  SearchBudget search = {};
  bool through_damage = true;  // false: the first damaged record ends the scan
};

struct ScanResult {
  std::vector<FoundRecord> records;  // number, offset, lengths and restore; ascending
  std::vector<LostRecords> lost;     // numbers between records that were found
  std::uint64_t end = 0;             // of the last record
};

// Any bytes. A record is taken when the checksum of each of its fields fits its number, zeros fill
// the gap up to the next record, and the next record, if any, begins as an image does (or is
// damaged there). Behind a damaged record the scan goes on with the next of the 8 records after it.
// Throws Error(interrupted) and errors of reading.
ScanResult scan_records(const ByteFile& file, const RecordScan& scan);

}  // namespace tundish
