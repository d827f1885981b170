// The bytes of a file of the disk cache: a head, records, and in a complete file an index.
//
//   head    "TND disk", version, zero, id of the dataset                            32 bytes
//   record  "TNDr", zero, checksum, number of the sample, its fields, bytes, those bytes
//           checksum: XXH3 of all bytes behind it in the record, seeded by the id
//           bytes: for each field in the set its size (8 bytes), then the fields
//   index   for each record: number of the sample, offset, bytes of the whole record
//   foot    "TND indx", count, checksum of the index                                 24 bytes
//
// Every function here accepts any bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/source/source.h"

namespace tundish {

// Identifies a dataset, its fields and the state of its files.
struct CacheId {
  std::uint64_t high = 0, low = 0;
  std::string hex() const;  // 32 digits
};

constexpr std::size_t kCacheHead = 32;
constexpr std::size_t kRecordHead = 40;
constexpr std::size_t kIndexEntry = 24;
constexpr std::size_t kIndexFoot = 24;
constexpr std::uint64_t kMaxCacheFile = 0xffff'ffff;  // bytes: a place stores 32 bits

struct RecordPlace {
  std::uint64_t sample = 0, offset = 0, bytes = 0;
  bool operator==(const RecordPlace&) const = default;
};

std::vector<std::byte> cache_head(const CacheId& id);
bool is_cache_head(Bytes bytes, const CacheId& id);  // `bytes`: the first kCacheHead bytes

// Replaces `out` by a record with these fields of the sample.
void make_record(std::vector<std::byte>& out, const CacheId& id, std::uint64_t number,
                 FieldSet fields, const Sample& sample);

// Returns the number of the sample and the size of a record, from its first kRecordHead bytes.
// Neither may be trusted before unpack_record().
std::optional<RecordPlace> read_record_head(Bytes head);

// Returns whether a whole record is unchanged since it was written, regardless of its contents.
bool is_intact(Bytes record, const CacheId& id);

// Unpacks the wanted fields of sample `number`. Returns false, with `out` in any state, if the
// record is damaged, belongs to another sample, or lacks a field.
bool unpack_record(Sample& out, Bytes record, const CacheId& id, std::uint64_t number,
                   FieldSet wanted, std::size_t field_count);

// Makes index and foot.
std::vector<std::byte> make_index(const std::vector<RecordPlace>& places, const CacheId& id);

// Returns the size of index and foot, from the foot; 0 if there is none.
std::uint64_t index_bytes(Bytes foot, std::uint64_t file_bytes);

// `bytes`: index and foot. Samples have numbers below `count`. Returns false on damage.
bool read_index(std::vector<RecordPlace>& out, Bytes bytes, std::uint64_t file_bytes,
                std::uint64_t count, const CacheId& id);

}  // namespace tundish
