// Samples of one data set kept on a local disk, for sources that are slow to read. Processes on the
// same machine share them; so do runs that come later, whatever became of those before.
//
// It never fails a run once it is made: what cannot be read, or is not exactly what was written, is
// not here; what cannot be written is left out.
//
// Thread safety: any method may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "data/source/disk_cache/cache_folder.h"

namespace tundish {

struct DiskCacheCounts {
  std::uint64_t hits = 0, misses = 0;
  std::uint64_t damaged = 0;  // records that were not what was written; they count as misses
  std::uint64_t bytes = 0;    // of the samples in known files
};

class DiskCache {
 public:
  // `count` samples of `field_count` fields; `limit` bytes for the whole folder. Throws Error when
  // the folder cannot be used.
  DiskCache(const std::string& root, const CacheId& id, std::uint64_t limit, std::uint64_t count,
            std::size_t field_count);
  ~DiskCache();  // completes the file that it was filling
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  bool find(Sample& out, std::uint64_t number, FieldSet fields);
  void keep(std::uint64_t number, FieldSet fields, const Sample& sample);
  DiskCacheCounts counts() const;
  std::uint64_t memory() const;  // bytes, about

 private:
  struct Place {
    std::uint32_t file = 0;  // 0: not here; else number in files_ + 1
    std::uint32_t offset = 0, bytes = 0;
  };

  // A file that is being filled.
  struct Filling {
    File file;
    std::uint64_t bytes = 0, end = 0;  // that it may have; of its records
    std::uint32_t number = 0;          // in files_, + 1
    std::vector<RecordPlace> written = {};
  };

  bool read(Sample& out, const Place& place, const std::string& path, std::uint64_t number,
            FieldSet fields);
  bool is_moved(std::uint64_t number, const Place& place, const std::string& path);
  void look_for_files();
  void take_file(const std::string& path);
  void write(std::uint64_t number, Bytes record, std::optional<Filling>& full);
  bool has_room(std::uint64_t record_bytes, std::optional<Filling>& full);
  void complete(Filling& full);
  void add_places(const std::string& path, const std::vector<RecordPlace>& places);

  const CacheId id_;
  const std::uint64_t limit_, count_;
  const std::size_t field_count_;

  mutable std::mutex places_mutex_;  // guards the next three
  std::vector<Place> places_;        // by number of the sample
  std::vector<std::string> files_;   // paths
  std::uint64_t bytes_ = 0;

  std::mutex look_mutex_;  // guards the next two
  std::set<std::string> seen_;
  std::atomic<std::uint64_t> look_again_ns_ = 0;

  CacheFolder folder_;      // its add_file() is guarded by the next one
  std::mutex write_mutex_;  // guards the next two; taken before places_mutex_
  std::optional<Filling> filling_;
  std::uint64_t try_again_ns_ = 0;
  std::atomic<bool> broken_ = false;  // the disk refuses: nothing is written any more

  std::atomic<std::uint64_t> hits_ = 0, misses_ = 0, damaged_ = 0;
};

}  // namespace tundish
