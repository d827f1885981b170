// Any bytes as a record and as the index of a disk cache: the written data, or a refusal. Checksums
// are corrected first, as an attacker would do.
// parser: src/data/source/disk_cache/cache_record.*
#include <xxhash.h>

#include <bit>
#include <cstdlib>

#include "data/source/disk_cache/cache_record.h"

namespace {

using namespace tundish;

constexpr CacheId kId{1, 2};
constexpr std::uint64_t kNumber = 7, kCount = 10;
constexpr std::size_t kFields = 3;

void require(bool claim) {
  if (!claim) std::abort();
}

std::uint64_t checksum(Bytes bytes) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), kId.low ^ std::rotl(kId.high, 32));
}

void try_record(Bytes record) {
  const std::optional<RecordPlace> place = read_record_head(record);
  if (place) require(place->bytes >= kRecordHead && place->bytes <= kMaxCacheFile);
  for (FieldSet wanted = 0; wanted < FieldSet{1} << kFields; ++wanted) {
    Sample sample;
    if (!unpack_record(sample, record, kId, kNumber, wanted, kFields)) continue;
    require(is_intact(record, kId) && sample.fields.size() == kFields);
    if (load<std::uint64_t>(record.data() + 24) != wanted) continue;
    std::vector<std::byte> again;
    make_record(again, kId, kNumber, wanted, sample);
    require(again.size() == record.size());
    require(std::memcmp(again.data(), record.data(), again.size()) == 0);
  }
}

void try_index(Bytes index) {
  const std::uint64_t file_bytes = kCacheHead + 4096 + index.size();
  std::vector<RecordPlace> places;
  if (!read_index(places, index, file_bytes, kCount, kId)) return;
  for (const RecordPlace& place : places) {
    require(place.sample < kCount && place.bytes >= kRecordHead);
    require(place.offset >= kCacheHead && place.offset + place.bytes <= kCacheHead + 4096);
  }
  const std::vector<std::byte> again = make_index(places, kId);
  require(again.size() == index.size());
  require(std::memcmp(again.data(), index.data(), again.size()) == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* first = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(first, first + size);
  try_record(bytes);
  try_index(bytes);
  if (size >= 24) {
    store(bytes.data() + size - 8, checksum(Bytes(bytes).first(size - 8)));
    try_index(bytes);
  }
  if (size >= kRecordHead) {
    bytes.assign(first, first + size);
    store(bytes.data() + 8, checksum(Bytes(bytes).subspan(16)));
    try_record(bytes);
  }
  return 0;
}
