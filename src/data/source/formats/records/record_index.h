// Places, labels and sizes of the records of a data file: 24 bytes per record. Stored beside the
// data file (side_index.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "data/source/side_index.h"
#include "data/source/string_table.h"

namespace tundish {

struct RecordIndex {
  std::vector<std::uint64_t> offsets;  // offsets of the stored bytes
  std::vector<std::uint32_t> lengths;  // sizes of the stored bytes; kTooLong for more than fit
  std::vector<std::int64_t> labels;
  std::vector<std::uint32_t> bytes;  // size of all fields as read; 0 for an unreadable record
  StringTable names;                 // one per record, or none
  std::string note;                  // other findings of the format

  static constexpr std::uint32_t kTooLong = ~std::uint32_t{0};
  static constexpr std::uint64_t kBytesPerRecord = 24;  // memory, without names
  std::size_t size() const { return offsets.size(); }
  std::uint64_t memory() const { return kBytesPerRecord * size() + names.memory(); }
  void add(std::uint64_t offset, std::uint64_t length, std::int64_t label,
           std::uint64_t read_bytes);
};

inline constexpr std::uint64_t kMaxRecords = 50'000'000;

// The indexed file. `settings` contains all other inputs of the index (options, schema).
struct IndexedFile {
  std::string path;
  FileStamp stamp;
  std::string_view format;
  std::string settings;
};

// Returns empty if no index fits, or if the index has places outside the file or names that are
// not clean.
std::optional<RecordIndex> load_record_index(const IndexedFile& file);
void save_record_index(const IndexedFile& file, const RecordIndex& index) noexcept;

// Accepts any bytes. For the functions above, tests and fuzzers.
std::vector<std::byte> encode_record_index(const std::string& settings, const RecordIndex& index);
std::optional<RecordIndex> decode_record_index(Bytes bytes, const std::string& settings,
                                               std::uint64_t file_size);

}  // namespace tundish
