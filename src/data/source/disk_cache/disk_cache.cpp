#include "data/source/disk_cache/disk_cache.h"

#include <algorithm>

#include "base/clock.h"

namespace tundish {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kLookEvery = 2 * kSecond;  // interval of looking for files of others
constexpr std::uint64_t kTryEvery = 10 * kSecond;  // interval of retries after there was no room
constexpr std::uint64_t kLeastFile = 1ull << 20;   // minimum file size, if the limit allows
constexpr std::uint64_t kMostFile = 256ull << 20;  // maximum loss when the machine fails
constexpr std::uint64_t kFilesOfLimit = 64;

std::uint64_t usual_bytes(std::uint64_t limit) {
  return std::clamp(limit / kFilesOfLimit, kLeastFile, kMostFile);
}

}  // namespace

DiskCache::DiskCache(const std::string& root, const CacheId& id, std::uint64_t limit,
                     std::uint64_t count, std::size_t field_count)
    : id_(id),
      limit_(limit),
      count_(count),
      field_count_(field_count),
      places_(count),
      folder_(root, id, limit) {
  look_for_files();
}

DiskCache::~DiskCache() {
  if (filling_) complete(*filling_);
}

std::uint64_t DiskCache::memory() const { return count_ * sizeof(Place); }

DiskCacheCounts DiskCache::counts() const {
  const std::lock_guard lock(places_mutex_);
  return {hits_.load(), misses_.load(), damaged_.load(), bytes_};
}

bool DiskCache::find(Sample& out, std::uint64_t number, FieldSet fields) {
  bool looked = false;
  for (;;) {
    Place place;
    std::string path;
    {
      const std::lock_guard lock(places_mutex_);
      place = places_[number];
      if (place.file > 0) path = files_[place.file - 1];
    }
    if (place.file > 0) {
      if (read(out, place, path, number, fields)) {
        hits_.fetch_add(1, std::memory_order_relaxed);
        return true;
      }
      if (is_moved(number, place, path)) continue;
      break;
    }
    if (looked || now_ns() < look_again_ns_.load(std::memory_order_relaxed)) break;
    looked = true;
    look_for_files();
  }
  misses_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

bool DiskCache::read(Sample& out, const Place& place, const std::string& path, std::uint64_t number,
                     FieldSet fields) {
  thread_local std::vector<std::byte> record;
  try {
    const File file = File::open(path);
    record.resize(place.bytes);
    if (file.read_at(record, place.offset) == record.size()) {
      if (unpack_record(out, record, id_, number, fields, field_count_)) return true;
      if (is_intact(record, id_)) return false;  // the record has other fields
    }
    damaged_.fetch_add(1, std::memory_order_relaxed);
  } catch (const Error&) {  // removed by another process, or disk failure
  }
  return false;
}

// Returns true if another read may succeed: meanwhile, the file may have got its final name, or the
// sample another place. Otherwise forgets the sample.
bool DiskCache::is_moved(std::uint64_t number, const Place& place, const std::string& path) {
  const std::lock_guard lock(places_mutex_);
  Place& now = places_[number];
  if (now.file == 0) return false;
  if (now.file != place.file || now.offset != place.offset || files_[now.file - 1] != path) {
    return true;
  }
  bytes_ -= now.bytes;
  now = {};
  return false;
}

// --- files of other processes and of earlier runs ------------------------------------------------

void DiskCache::look_for_files() {
  const std::unique_lock lock(look_mutex_, std::try_to_lock);
  if (!lock) return;  // another thread checks
  look_again_ns_.store(now_ns() + kLookEvery, std::memory_order_relaxed);
  for (const std::string& path : folder_.complete_files()) {
    if (seen_.insert(path).second) take_file(path);
  }
}

void DiskCache::take_file(const std::string& path) {
  std::vector<RecordPlace> found;
  try {
    const File file = File::open(path);
    const std::uint64_t size = file.size();
    std::vector<std::byte> bytes(kCacheHead);
    const bool known = file.read_at(bytes, 0) == bytes.size() && is_cache_head(bytes, id_);
    bytes.resize(kIndexFoot);
    if (known && size >= kCacheHead + kIndexFoot &&
        file.read_at(bytes, size - kIndexFoot) == bytes.size()) {
      bytes.resize(index_bytes(bytes, size));
      if (!bytes.empty() && file.read_at(bytes, size - bytes.size()) == bytes.size() &&
          read_index(found, bytes, size, count_, id_)) {
        return add_places(path, found);
      }
    }
  } catch (const Error&) {  // removed meanwhile, or unreadable
    return;
  }
  damaged_.fetch_add(1, std::memory_order_relaxed);
  folder_.remove(path);  // the file only wastes room
}

void DiskCache::add_places(const std::string& path, const std::vector<RecordPlace>& places) {
  const std::lock_guard lock(places_mutex_);
  files_.push_back(path);
  const auto number = static_cast<std::uint32_t>(files_.size());
  for (const RecordPlace& place : places) {
    Place& now = places_[place.sample];
    if (now.file > 0) continue;
    now = {number, static_cast<std::uint32_t>(place.offset),
           static_cast<std::uint32_t>(place.bytes)};
    bytes_ += place.bytes;
  }
}

// --- writing -------------------------------------------------------------------------------------

void DiskCache::keep(std::uint64_t number, FieldSet fields, const Sample& sample) {
  if (broken_.load(std::memory_order_relaxed)) return;
  thread_local std::vector<std::byte> record;
  make_record(record, id_, number, fields, sample);
  std::optional<Filling> full;
  try {
    const std::lock_guard lock(write_mutex_);
    write(number, record, full);
  } catch (const Error&) {
    broken_.store(true, std::memory_order_relaxed);
  }
  if (full) complete(*full);  // outside the lock, while other threads write
}

// Throws Error.
void DiskCache::write(std::uint64_t number, Bytes record, std::optional<Filling>& full) {
  if (!has_room(record.size(), full)) return;
  Filling& filling = *filling_;
  filling.file.write_at(record, filling.end);
  filling.written.push_back({number, filling.end, record.size()});
  const Place place{filling.number, static_cast<std::uint32_t>(filling.end),
                    static_cast<std::uint32_t>(record.size())};
  filling.end += record.size();
  const std::lock_guard lock(places_mutex_);
  Place& now = places_[number];
  bytes_ += place.bytes;
  bytes_ -= now.bytes;
  now = place;
}

// Returns true if filling_ has room for a record and its entry in the index. Moves a full file to
// `full`. Throws Error.
bool DiskCache::has_room(std::uint64_t record_bytes, std::optional<Filling>& full) {
  const std::uint64_t more = record_bytes + kIndexEntry;
  if (filling_) {
    const std::uint64_t index = filling_->written.size() * kIndexEntry + kIndexFoot;
    if (filling_->end + more + index <= filling_->bytes) return true;
    full = std::move(filling_);
    filling_.reset();
  }
  const std::uint64_t least = kCacheHead + more + kIndexFoot;
  if (now_ns() < try_again_ns_ || least > std::min(limit_, kMaxCacheFile)) return false;
  std::optional<File> file = folder_.add_file(std::max(usual_bytes(limit_), least), least);
  if (!file) {
    try_again_ns_ = now_ns() + kTryEvery;
    return false;
  }
  const std::uint64_t bytes = file->size();
  const std::lock_guard lock(places_mutex_);
  files_.push_back(file->path());
  filling_ =
      Filling{std::move(*file), bytes, kCacheHead, static_cast<std::uint32_t>(files_.size())};
  return true;
}

void DiskCache::complete(Filling& full) {
  try {
    const std::string path = folder_.complete(full.file, full.end, full.written);
    const std::lock_guard lock(places_mutex_);
    files_[full.number - 1] = path;
  } catch (const Error&) {
    broken_.store(true, std::memory_order_relaxed);
    folder_.remove(full.file.path());
  }
}

}  // namespace tundish
