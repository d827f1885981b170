// One call of pack() or pack_shards(): writes prepared samples to files in order and records the
// progress in the journal. One thread.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "data/pack/output_target.h"
#include "data/pack/write/appender.h"
#include "data/pack/write/checkpoint.h"
#include "data/pack/write/journal.h"
#include "data/pack/write/writer.h"

namespace tundish {

class PackRun {
 public:
  // `target`: path of the pack, or of the manifest if options.shard_bytes is set.
  PackRun(const std::string& target, const Source& source, const PackOptions& options);

  PackReport run();

 private:
  using Clock = std::chrono::steady_clock;

  // pack_run_resume.cpp
  void begin();  // resumes an earlier run, or starts over
  bool resume(std::string& why_not);
  bool restore_files();  // false: no part of the earlier run is usable
  bool is_published(const EndBlock& end) const;
  void count_block(const RowsBlock& block);
  void start_over();
  void choose_tables();
  std::string file_name() const;  // name of the current file
  void open_file();
  void reserve();  // reserves space for the current file
  void write_block(bool durable);
  void write_block_when_due();
  bool keep_what_is_good() noexcept;  // false: nothing was worth keeping, and no file is left

  // pack_run.cpp
  void records();
  void sample(Prepared& prepared);
  void hold_back(Prepared& prepared);
  void release_first();
  void record(Prepared& prepared);
  void count(const Row& row);
  void finish_file();
  void finish();
  void tell();
  Error nothing_left() const;
  std::string progress_kept() const;

  const Source& source_;
  const PackOptions& options_;
  const Schema& schema_;
  const bool sharded_;
  const std::uint64_t first_, end_;  // requested samples of the source
  std::uint64_t bytes_ = 0;          // bytes of all requested samples, if sizes are known

  OutputTarget target_;
  Journal journal_;
  PackIdentity identity_;
  std::shared_ptr<const lanes::Tables> tables_;  // second owner: the built-in tables
  std::vector<std::byte> compressed_tables_;
  std::uint64_t section_bytes_ = 0;  // upper bound for metadata and tables of a file
  std::unique_ptr<Appender> out_;    // empty: every file is finished
  std::vector<EndBlock> ends_;       // ends of finished files
  LanesReport file_lanes_;           // report of the current file
  PreprocessReport file_preprocess_;
  std::uint32_t alignment_ = 0;  // 0: undecided
  std::vector<Prepared> held_;   // records that wait for the alignment
  std::uint64_t held_bytes_ = 0;
  std::uint64_t next_sample_;             // every sample before it is in the rows
  std::atomic<std::uint64_t> before_{0};  // number of the next sample minus number of its record

  WireWriter pending_;  // rows since the last block
  std::uint64_t pending_rows_ = 0;
  std::uint64_t block_end_ = kHeadBytes;  // end of the records covered by blocks
  bool torn_ = false;                     // true while a record is partly written
  bool resuming_ = false;                 // true if the files belong to the earlier run
  Clock::time_point synced_;
  Clock::duration sync_cost_{};

  PackReport report_;
  PackProgress state_;
  Clock::time_point told_{};
};

}  // namespace tundish
