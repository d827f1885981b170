// One call of pack() or pack_shards(): what comes out of the handover goes to files in order, and
// the journal says how far it came. One thread.
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
  // `target`: the pack, or with options.shard_bytes the manifest.
  PackRun(const std::string& target, const Source& source, const PackOptions& options);

  PackReport run();

 private:
  using Clock = std::chrono::steady_clock;

  // pack_run_resume.cpp
  void begin();  // goes on where an earlier run stopped, or starts over
  bool resume(std::string& why_not);
  bool restore_files();  // false: nothing of the earlier run can be used
  bool is_published(const EndBlock& end) const;
  void count_block(const RowsBlock& block);
  void start_over();
  void choose_tables();
  std::string file_name() const;  // of the file that is written now
  void open_file();
  void reserve();  // space for the file that is written now
  void write_block(bool durable);
  void write_block_when_due();
  bool keep_what_is_good() noexcept;  // false: nothing was worth keeping, and nothing is left

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
  const std::uint64_t first_, end_;  // samples of the source that are wanted
  std::uint64_t bytes_ = 0;          // of all wanted samples, where sizes are known

  OutputTarget target_;
  Journal journal_;
  PackIdentity identity_;
  std::shared_ptr<const lanes::Tables> tables_;  // second owner: the built-in ones
  std::vector<std::byte> compressed_tables_;
  std::uint64_t section_bytes_ = 0;  // at most, of metadata and tables of a file
  std::unique_ptr<Appender> out_;    // empty: every file is finished
  std::vector<EndBlock> ends_;       // of finished files
  LanesReport file_lanes_;           // of the file that is written now
  PreprocessReport file_preprocess_;
  std::uint32_t alignment_ = 0;  // 0: not decided
  std::vector<Prepared> held_;   // until the alignment is decided
  std::uint64_t held_bytes_ = 0;
  std::uint64_t next_sample_;             // every sample before it is in the rows
  std::atomic<std::uint64_t> before_{0};  // number of the next sample - number of its record

  WireWriter pending_;  // rows since the last block
  std::uint64_t pending_rows_ = 0;
  std::uint64_t block_end_ = kHeadBytes;  // of the records that blocks cover
  bool torn_ = false;                     // a record is partly written
  bool resuming_ = false;                 // the files are those of the earlier run
  Clock::time_point synced_;
  Clock::duration sync_cost_{};

  PackReport report_;
  PackProgress state_;
  Clock::time_point told_{};
};

}  // namespace tundish
