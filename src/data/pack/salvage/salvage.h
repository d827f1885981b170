// Finds the intact records of a damaged or torn pack. Uses the index where the index is intact.
// Where the index is lost, finds records by their checksums (scan.h), which include the record
// number.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/decode/decode.h"
#include "codec/lanes/tables.h"
#include "data/pack/byte_file.h"
#include "data/pack/format.h"
#include "data/source/source.h"

namespace tundish {

class Pack;

// The place of a record, and the facts known about the record.
struct FoundRecord {
  std::uint64_t number = 0;  // record number in the damaged pack, checked by its checksums
  std::uint64_t offset = 0;
  std::vector<std::uint64_t> lengths = {};  // per stored field
  std::uint64_t restore = 0;                // bytes of a lanes record's restore data
  SampleInfo info = {};
  std::string key = {};  // "record-000123" if the key is lost
  bool key_is_lost = false, label_is_lost = false;
};

struct LostRecords {
  std::uint64_t first = 0, count = 1;
  std::string reason;
};

enum class SalvageMethod : std::uint8_t { index, scan, journal };

struct Salvage {
  SalvageMethod method = SalvageMethod::index;
  Schema schema;
  std::shared_ptr<const lanes::Tables> tables;  // nullptr: lost or never present
  bool guessed_tables = false;                  // true if the tables are not from this file
  bool fields_are_lost = false;                 // true if the schema is a guess: one image
  std::vector<FoundRecord> records;             // ascending; bytes not checked yet
  std::vector<LostRecords> lost;                // records whose place is unknown
  std::vector<std::string> parts;               // damaged parts of the file, each with the reason
  std::uint64_t finished_shards = 0;            // shards before the unfinished one
  // Number of records before the damage; empty if unknown.
  std::optional<std::uint64_t> count;
};

// Limit of the bytes searched without success, so that a hostile file takes time in proportion to
// its size: `least` plus `per_byte` for each byte of the file.
struct SearchBudget {
  std::uint64_t least = 4 << 20;
  std::uint64_t per_byte = 64;
};

struct SalvageOptions {
  const Pack* like = nullptr;  // a pack with the same fields, classes and tables; nullptr: none
  std::function<void(std::uint64_t bytes, std::uint64_t all)> progress = {};
  Limits limits = {};  // limits for restored images
  SearchBudget search = {};
};

// Accepts any bytes. Throws Error: not_a_pack if no part of the file belongs to a pack,
// interrupted, and read errors. Takes some 150 bytes per record, and one record's bytes at a time.
Salvage find_records(const std::shared_ptr<const ByteFile>& file,
                     const SalvageOptions& options = {});

// Restores every image and reads its size from its header, if the index lacks the size or the
// tables are guessed. Records whose image cannot be restored move to the lost records.
void read_image_headers(Salvage& found, const std::shared_ptr<const ByteFile>& file,
                        const Limits& limits);

// Returns the records as a source whose samples can be copied (data/pack/stored_records.h). Reading
// a record checks it, and throws SampleError if it is damaged.
std::shared_ptr<const Source> salvaged_source(std::shared_ptr<const ByteFile> file, Salvage found);

}  // namespace tundish
