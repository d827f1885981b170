#include "data/source/disk_cache/cache_record.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <bit>
#include <cstring>
#include <string_view>

namespace tundish {
namespace {

constexpr std::string_view kFileMark = "TND disk";
constexpr std::string_view kIndexMark = "TND indx";
constexpr std::uint32_t kRecordMark = 0x72444e54;  // "TNDr"
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kChecked = 16;  // offset in a record where its checksum starts to apply

std::uint64_t checksum_of(Bytes bytes, const CacheId& id) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), id.low ^ std::rotl(id.high, 32));
}

FieldSet all_fields(std::size_t count) {
  return count >= kMaxFields ? kAllFields : (FieldSet{1} << count) - 1;
}

}  // namespace

std::string CacheId::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

std::vector<std::byte> cache_head(const CacheId& id) {
  std::vector<std::byte> out(kCacheHead);
  std::memcpy(out.data(), kFileMark.data(), kFileMark.size());
  store(out.data() + 8, kVersion);
  store(out.data() + 16, id.high);
  store(out.data() + 24, id.low);
  return out;
}

bool is_cache_head(Bytes bytes, const CacheId& id) {
  const std::vector<std::byte> wanted = cache_head(id);
  return bytes.size() >= kCacheHead && std::memcmp(bytes.data(), wanted.data(), kCacheHead) == 0;
}

void make_record(std::vector<std::byte>& out, const CacheId& id, std::uint64_t number,
                 FieldSet fields, const Sample& sample) {
  fields &= all_fields(sample.fields.size());
  out.resize(kRecordHead);
  for (std::size_t f = 0; f < sample.fields.size(); ++f) {
    if ((fields >> f & 1) == 0) continue;
    out.resize(out.size() + 8);
    store(out.data() + out.size() - 8, std::uint64_t{sample.fields[f].size()});
  }
  for (std::size_t f = 0; f < sample.fields.size(); ++f) {
    if ((fields >> f & 1) == 0) continue;
    out.insert(out.end(), sample.fields[f].begin(), sample.fields[f].end());
  }
  store(out.data(), kRecordMark);
  store(out.data() + 4, std::uint32_t{0});
  store(out.data() + 16, number);
  store(out.data() + 24, fields);
  store(out.data() + 32, std::uint64_t{out.size() - kRecordHead});
  store(out.data() + 8, checksum_of(Bytes(out).subspan(kChecked), id));
}

std::optional<RecordPlace> read_record_head(Bytes head) {
  if (head.size() < kRecordHead || load<std::uint32_t>(head.data()) != kRecordMark) return {};
  if (load<std::uint32_t>(head.data() + 4) != 0) return {};
  const std::uint64_t bytes = load<std::uint64_t>(head.data() + 32);
  if (bytes > kMaxCacheFile - kRecordHead) return {};
  return RecordPlace{load<std::uint64_t>(head.data() + 16), 0, kRecordHead + bytes};
}

bool is_intact(Bytes record, const CacheId& id) {
  const std::optional<RecordPlace> place = read_record_head(record);
  return place && place->bytes == record.size() &&
         load<std::uint64_t>(record.data() + 8) == checksum_of(record.subspan(kChecked), id);
}

bool unpack_record(Sample& out, Bytes record, const CacheId& id, std::uint64_t number,
                   FieldSet wanted, std::size_t field_count) {
  if (!is_intact(record, id) || read_record_head(record)->sample != number) return false;
  const FieldSet fields = load<std::uint64_t>(record.data() + 24);
  wanted &= all_fields(field_count);
  if ((fields & ~all_fields(field_count)) != 0 || (wanted & ~fields) != 0) return false;
  const std::size_t sizes = 8 * static_cast<std::size_t>(std::popcount(fields));
  Bytes left = record.subspan(kRecordHead);
  if (left.size() < sizes) return false;
  const std::byte* size_at = left.data();
  left = left.subspan(sizes);
  out.fields.resize(field_count);
  for (std::size_t f = 0; f < field_count; ++f) {
    out.fields[f].clear();
    if ((fields >> f & 1) == 0) continue;
    const std::uint64_t size = load<std::uint64_t>(size_at);
    size_at += 8;
    if (size > left.size()) return false;
    const Bytes field = left.first(size);
    left = left.subspan(size);
    if ((wanted >> f & 1) != 0) out.fields[f].assign(field.begin(), field.end());
  }
  return left.empty();
}

std::vector<std::byte> make_index(const std::vector<RecordPlace>& places, const CacheId& id) {
  std::vector<std::byte> out(places.size() * kIndexEntry + kIndexFoot);
  std::byte* at = out.data();
  for (const RecordPlace& place : places) {
    store(at, place.sample);
    store(at + 8, place.offset);
    store(at + 16, place.bytes);
    at += kIndexEntry;
  }
  std::memcpy(at, kIndexMark.data(), kIndexMark.size());
  store(at + 8, std::uint64_t{places.size()});
  store(at + 16, checksum_of(Bytes(out).first(out.size() - 8), id));
  return out;
}

std::uint64_t index_bytes(Bytes foot, std::uint64_t file_bytes) {
  if (foot.size() != kIndexFoot || file_bytes > kMaxCacheFile) return 0;
  if (std::memcmp(foot.data(), kIndexMark.data(), kIndexMark.size()) != 0) return 0;
  const std::uint64_t count = load<std::uint64_t>(foot.data() + 8);
  // Every entry has a record: this bounds the memory that a forged count can request.
  if (count > file_bytes / (kRecordHead + kIndexEntry)) return 0;
  const std::uint64_t bytes = count * kIndexEntry + kIndexFoot;
  return bytes + kCacheHead <= file_bytes ? bytes : 0;
}

bool read_index(std::vector<RecordPlace>& out, Bytes bytes, std::uint64_t file_bytes,
                std::uint64_t count, const CacheId& id) {
  out.clear();
  if (bytes.size() < kIndexFoot) return false;
  const Bytes foot = bytes.last(kIndexFoot);
  if (index_bytes(foot, file_bytes) != bytes.size()) return false;
  if (load<std::uint64_t>(foot.data() + 16) != checksum_of(bytes.first(bytes.size() - 8), id)) {
    return false;
  }
  const std::uint64_t end = file_bytes - bytes.size();  // end of the records
  const std::size_t entries = (bytes.size() - kIndexFoot) / kIndexEntry;
  out.reserve(entries);
  for (std::size_t n = 0; n < entries; ++n) {
    const std::byte* at = bytes.data() + n * kIndexEntry;
    const RecordPlace place{load<std::uint64_t>(at), load<std::uint64_t>(at + 8),
                            load<std::uint64_t>(at + 16)};
    if (place.sample >= count || place.offset < kCacheHead || place.offset > end ||
        place.bytes < kRecordHead || place.bytes > end - place.offset) {
      return false;
    }
    out.push_back(place);
  }
  return true;
}

}  // namespace tundish
