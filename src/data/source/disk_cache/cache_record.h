// The bytes of a file of the disk cache: a head, records, and once the file is complete an index.
//
//   head    "TND disk", version, zero, id of the data set                            32 bytes
//   record  "TNDr", zero, checksum, number of the sample, its fields, bytes, those bytes
//           checksum: XXH3 of all that follows it in the record, seeded by the id
//           bytes: of each field in the set its size (8 bytes), then the fields
//   index   for each record: number of the sample, offset, bytes of the whole record
//   foot    "TND indx", how many, checksum of the index                              24 bytes
//
// Every function here takes any bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/source/source.h"

namespace tundish {

// Of a data set, its fields and the state of its files.
struct CacheId {
  std::uint64_t high = 0, low = 0;
  std::string hex() const;  // 32 digits
};

constexpr std::size_t kCacheHead = 32;
constexpr std::size_t kRecordHead = 40;
constexpr std::size_t kIndexEntry = 24;
constexpr std::size_t kIndexFoot = 24;
constexpr std::uint64_t kMaxCacheFile = 0xffff'ffff;  // bytes: a place has 32 bits

struct RecordPlace {
  std::uint64_t sample = 0, offset = 0, bytes = 0;
  bool operator==(const RecordPlace&) const = default;
};

std::vector<std::byte> cache_head(const CacheId& id);
bool is_cache_head(Bytes bytes, const CacheId& id);  // the first kCacheHead bytes

// Replaces `out` by a record of these fields of the sample.
void make_record(std::vector<std::byte>& out, const CacheId& id, std::uint64_t number,
                 FieldSet fields, const Sample& sample);

// The number of the sample and the size of a record, from its first kRecordHead bytes; nothing of
// it is trusted before unpack_record().
std::optional<RecordPlace> read_record_head(Bytes head);

// Whether a whole record is as it was written, whatever it holds.
bool is_intact(Bytes record, const CacheId& id);

// The wanted fields of sample `number`. False, with `out` in any state: the record is damaged, is
// of another sample, or lacks a field.
bool unpack_record(Sample& out, Bytes record, const CacheId& id, std::uint64_t number,
                   FieldSet wanted, std::size_t field_count);

// Index and foot.
std::vector<std::byte> make_index(const std::vector<RecordPlace>& places, const CacheId& id);

// How many bytes index and foot take, from the foot; 0: there is none.
std::uint64_t index_bytes(Bytes foot, std::uint64_t file_bytes);

// `bytes`: index and foot. Samples have numbers below `count`. False: it is damaged.
bool read_index(std::vector<RecordPlace>& out, Bytes bytes, std::uint64_t file_bytes,
                std::uint64_t count, const CacheId& id);

}  // namespace tundish
