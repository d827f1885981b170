// Finds consecutive records without an index, by their checksums, which include the record number.
// docs/pack.md lists the data lost by such a scan.
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
  std::optional<std::uint64_t> records_end;  // where the metadata begin, if known
  std::function<void(std::uint64_t bytes, std::uint64_t all)> progress = {};
  // Where the search for record `first` starts; 0: behind the head.
  std::uint64_t begin = 0, first = 0;
  SearchBudget search = {};
  bool through_damage = true;  // false: stop at the first damaged record
};

struct ScanResult {
  std::vector<FoundRecord> records;  // number, offset, lengths and restore; ascending
  std::vector<LostRecords> lost;     // numbers between found records
  std::uint64_t end = 0;             // end of the last record
};

// Accepts any bytes. Takes a record if the checksum of each field fits its number, zeros fill the
// gap up to the next record, and the next record, if any, begins as an image does (or is damaged
// there). Behind a damaged record, the scan resumes with one of the 8 records after it.
// Throws Error(interrupted) and read errors.
ScanResult scan_records(const ByteFile& file, const RecordScan& scan);

}  // namespace tundish
