#include "data/source/disk_cache/cached_source.h"

#include <xxhash.h>

#include <thread>

#include "data/source/disk_cache/file_times.h"
#include "data/source/folder_entries.h"

namespace tundish {

CacheId cache_id(const Source& source) {
  const std::string text = source.fingerprint() + " " + file_times(source);
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return {hash.high64, hash.low64};
}

CachedSource::CachedSource(std::shared_ptr<const Source> source, const std::string& folder,
                           std::uint64_t limit)
    : source_(std::move(source)),
      cache_(std::make_unique<DiskCache>(folder, cache_id(*source_), limit, source_->count(),
                                         source_->schema().fields.size())) {
  // Two writes within one clock tick of the file system leave the same stamp. Reads after the tick
  // see the result of the last write.
  std::this_thread::sleep_for(kFileClockTick);
}

void CachedSource::read(Sample& out, std::uint64_t i, FieldSet fields) const {
  if (cache_->find(out, i, fields)) return;
  source_->read(out, i, fields);
  if (!tundish::was_missing(*source_, i)) cache_->keep(i, fields, out);
}

}  // namespace tundish
