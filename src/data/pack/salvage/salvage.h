// The intact records of a damaged or torn pack. What the index says is used where the index is
// intact; where it is lost, records are found by their checksums (scan.h), which know their
// numbers.
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

// Where a record is, and what is known of it.
struct FoundRecord {
  std::uint64_t number = 0;  // in the damaged pack; its checksums hold it
  std::uint64_t offset = 0;
  std::vector<std::uint64_t> lengths = {};  // of each stored field
  std::uint64_t restore = 0;                // bytes of the restore data of a lanes record
  SampleInfo info = {};
  std::string key = {};  // "record-000123" when it is lost
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
  std::shared_ptr<const lanes::Tables> tables;  // nullptr: lost, or there were none
  bool guessed_tables = false;                  // they are not the file's own
  bool fields_are_lost = false;                 // the schema is a guess: one image
  std::vector<FoundRecord> records;             // ascending; their bytes are not checked yet
  std::vector<LostRecords> lost;                // records that have no place any more
  std::vector<std::string> parts;               // parts of the file that are damaged, and why
  std::uint64_t finished_shards = 0;            // before the one of an interrupted pack
  // Records there were; empty when nothing says it.
  std::optional<std::uint64_t> count;
};

// How many bytes may be searched in vain, so that a hostile file takes time in proportion to its
// size: so many, and so many more for each byte of the file.
struct SearchBudget {
  std::uint64_t least = 4 << 20;
  std::uint64_t per_byte = 64;
};

struct SalvageOptions {
  const Pack* like = nullptr;  // a pack with the same fields, classes and tables; nullptr: none
  std::function<void(std::uint64_t bytes, std::uint64_t all)> progress = {};
  Limits limits = {};  // of images that are restored
  SearchBudget search = {};
};

// Any bytes. Throws Error: not_a_pack when nothing in the file is a pack's, errors of reading, and
// interrupted. Takes some 150 bytes per record, and one record's bytes at a time.
Salvage find_records(const std::shared_ptr<const ByteFile>& file,
                     const SalvageOptions& options = {});

// Restores every image and takes its size from its header, where the index does not have it, or the
// tables are not those of the file. Records whose image cannot be restored become lost ones.
void read_image_headers(Salvage& found, const std::shared_ptr<const ByteFile>& file,
                        const Limits& limits);

// The records as a source whose samples can be copied (data/pack/stored_records.h). Reading a
// record checks it: SampleError when it is damaged.
std::shared_ptr<const Source> salvaged_source(std::shared_ptr<const ByteFile> file, Salvage found);

}  // namespace tundish
