// A source that keeps samples on a local disk after reading them once; see
// data/source/disk_cache/disk_cache.h.
#pragma once

#include <algorithm>
#include <memory>

#include "data/source/disk_cache/disk_cache.h"
#include "data/source/disk_cache/file_times.h"
#include "data/source/read_memory.h"
#include "data/source/source.h"

namespace tundish {

class CachedSource : public Source, public ReadMemory, public FileTimes {
 public:
  // Throws Error if the folder cannot be used.
  CachedSource(std::shared_ptr<const Source> source, const std::string& folder,
               std::uint64_t limit);

  DiskCacheCounts counts() const { return cache_->counts(); }

  std::uint64_t count() const override { return source_->count(); }
  const Schema& schema() const override { return source_->schema(); }
  SampleInfo info(std::uint64_t i) const override { return source_->info(i); }
  std::string key(std::uint64_t i) const override { return source_->key(i); }
  std::string path() const override { return source_->path(); }
  Where where(std::uint64_t i) const override { return source_->where(i); }
  const Source& part(std::uint64_t& i) const override { return source_->part(i); }
  std::uint64_t bytes(std::uint64_t i) const override { return source_->bytes(i); }
  std::uint64_t memory() const override { return source_->memory() + cache_->memory(); }
  std::uint64_t memory_while_reading() const override {
    return tundish::memory_while_reading(*source_);
  }
  void keep_at_most(std::uint64_t bytes) const override {
    tundish::keep_at_most(*source_, bytes - std::min(bytes, cache_->memory()));
  }
  bool sizes_known() const override { return source_->sizes_known(); }
  bool labels_known() const override { return source_->labels_known(); }
  bool random_access() const override { return source_->random_access(); }
  bool extent(std::uint64_t i, int field, Extent& out) const override {
    return source_->extent(i, field, out);
  }
  void read(Sample& out, std::uint64_t i, FieldSet fields) const override;
  using Source::read_original;
  void read_original(Sample& out, std::uint64_t i, FieldSet fields,
                     const Limits& limits) const override {
    source_->read_original(out, i, fields, limits);
  }
  const lanes::Tables* tables(std::uint64_t i) const override { return source_->tables(i); }
  void scan(const SampleSink& sink, const BadSink& bad) const override { source_->scan(sink, bad); }
  std::string fingerprint() const override { return source_->fingerprint(); }
  std::string file_times() const override { return tundish::file_times(*source_); }
  const std::vector<std::string>& warnings() const override { return source_->warnings(); }

 private:
  const std::shared_ptr<const Source> source_;
  const std::unique_ptr<DiskCache> cache_;
};

// Changes with the dataset: names, labels, sizes, fields, and the times of its files.
CacheId cache_id(const Source& source);

}  // namespace tundish
