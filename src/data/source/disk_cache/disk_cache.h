// Samples of one dataset kept on a local disk, for sources that are slow to read. Shared by the
// processes of a machine, and by later runs, even after a crash.
//
// Never fails a run after construction. A record that cannot be read, or that differs from what was
// written, is a miss. A record that cannot be written is skipped.
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
  std::uint64_t damaged = 0;  // records that differ from what was written; counted as misses
  std::uint64_t bytes = 0;    // size of the samples in known files
};

class DiskCache {
 public:
  // `count` samples of `field_count` fields; `limit` bytes for the whole folder. Throws Error if
  // the folder cannot be used.
  DiskCache(const std::string& root, const CacheId& id, std::uint64_t limit, std::uint64_t count,
            std::size_t field_count);
  ~DiskCache();  // completes the file being filled
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  bool find(Sample& out, std::uint64_t number, FieldSet fields);
  void keep(std::uint64_t number, FieldSet fields, const Sample& sample);
  DiskCacheCounts counts() const;
  std::uint64_t memory() const;  // approximate bytes

 private:
  struct Place {
    std::uint32_t file = 0;  // 0: no record; otherwise index in files_ + 1
    std::uint32_t offset = 0, bytes = 0;
  };

  // A file being filled.
  struct Filling {
    File file;
    std::uint64_t bytes = 0, end = 0;  // allowed size; end of the records
    std::uint32_t number = 0;          // index in files_ + 1
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

  mutable std::mutex places_mutex_;  // guards the next three members
  std::vector<Place> places_;        // indexed by sample number
  std::vector<std::string> files_;   // paths
  std::uint64_t bytes_ = 0;

  std::mutex look_mutex_;  // guards the next two members
  std::set<std::string> seen_;
  std::atomic<std::uint64_t> look_again_ns_ = 0;

  CacheFolder folder_;      // add_file() is guarded by write_mutex_
  std::mutex write_mutex_;  // guards the next two members; locked before places_mutex_
  std::optional<Filling> filling_;
  std::uint64_t try_again_ns_ = 0;
  std::atomic<bool> broken_ = false;  // a write failed: nothing more is written

  std::atomic<std::uint64_t> hits_ = 0, misses_ = 0, damaged_ = 0;
};

}  // namespace tundish
