// The resumable state of a PackRun: saved for the next run, restored from the previous run.
#include <fmt/format.h>

#include <algorithm>

#include "codec/lanes/tables.h"
#include "data/pack/copy/copy_record.h"
#include "data/pack/index.h"
#include "data/pack/manifest.h"
#include "data/pack/metadata.h"
#include "data/pack/write/make_tables.h"
#include "data/pack/write/pack_run.h"
#include "data/pack/write/shard_names.h"

namespace tundish {
namespace {

// Writes a block after this much data in the file or in the rows, to limit the loss after a kill.
constexpr std::uint64_t kBlockDataBytes = 1 << 20;
constexpr std::uint64_t kBlockRowBytes = 256 << 10;
// Durable checkpoints take at most one part in kSyncShare of the time.
constexpr int kSyncShare = 20;
constexpr std::uint64_t kMaxProvenance = 3000;  // limit of the counts in the metadata

}  // namespace

void PackRun::begin() {
  resuming_ = true;
  identity_ = identity_of(source_, options_);
  std::string why_not;
  const bool resumed = resume(why_not);
  resuming_ = false;
  if (resumed) {
    reserve();
  } else {
    start_over();
  }
  section_bytes_ = metadata_json(schema_).size() + kMaxProvenance + compressed_tables_.size();
  state_.samples = next_sample_ - first_;
  state_.refused = report_.refused.size();
  for (std::uint64_t i = first_; source_.sizes_known() && i < next_sample_; ++i) {
    state_.bytes += source_.bytes(i);
  }
  report_.resumed_at = state_.samples;
  if (options_.resumed && (resumed || !why_not.empty())) {
    options_.resumed({state_.samples, state_.samples_total, why_not});
  }
}

bool PackRun::resume(std::string& why_not) {
  std::vector<std::byte> payload;
  if (!journal_.next(payload)) return false;
  const auto start = decode_start(payload);
  why_not = start ? first_difference(start->identity, identity_) : "its journal is damaged";
  if (!why_not.empty()) return false;
  if (!start->tables.empty()) {
    auto tables = std::make_shared<lanes::Tables>();
    if (const auto fault = lanes::expand_tables(*tables, start->tables)) {
      why_not = "its journal is damaged: " + fault->reason;
      return false;
    }
    tables_ = std::move(tables);
    compressed_tables_ = start->tables;
  }
  report_.lanes.trained_on = start->trained_on;
  if (restore_files()) return true;
  if (out_->file().had_contents()) why_not = "its contents are damaged";
  return false;
}

bool PackRun::restore_files() {
  struct Block {
    Journal::Place place;  // place before the block
    std::vector<std::byte> payload;
  };
  std::vector<Block> blocks;  // blocks of the unfinished file
  const std::size_t stored = stored_fields(schema_);
  for (Block block;;) {
    block.place = journal_.place();
    if (!journal_.next(block.payload)) break;
    const auto end = decode_end(block.payload);
    if (!end) {
      blocks.push_back(block);
      continue;
    }
    if (!is_published(*end)) {
      journal_.rewind(block.place);
      break;
    }
    for (const Block& rows : blocks) {
      if (const auto decoded = decode_rows(rows.payload, stored)) count_block(*decoded);
    }
    blocks.clear();
    report_.files.push_back(file_name());
    report_.file_bytes += end->file_bytes;
    ends_.push_back(*end);
    file_lanes_ = {};
    file_preprocess_ = {};
  }
  // Killed before the manifest was written: all files are complete.
  if (!ends_.empty() && blocks.empty() && next_sample_ == end_) return true;
  open_file();
  for (const Block& block : blocks) {
    if (options_.stop && *options_.stop) {
      throw Error(ErrorCode::interrupted, {.file = target_.path()}, "");
    }
    const auto rows = decode_rows(block.payload, stored);
    if (rows) out_->set_alignment(rows->alignment);
    if (!rows || rows->shard != ends_.size() ||
        !out_->restore(rows->rows, rows->end, rows->digest)) {
      journal_.rewind(block.place);
      break;
    }
    count_block(*rows);
    block_end_ = rows->end;
  }
  if (alignment_ != 0) out_->set_alignment(alignment_);
  return next_sample_ > first_;
}

// Detects a removed or replaced shard: this shard and all following shards are packed again.
bool PackRun::is_published(const EndBlock& end) const {
  if (!sharded_ || end.shard != ends_.size()) return false;
  try {
    const Shard found = describe_shard(file_name());
    return found.bytes == end.file_bytes && found.records == end.records && found.id == hex(end.id);
  } catch (const Error&) {
    return false;
  }
}

void PackRun::count_block(const RowsBlock& block) {
  for (const Row& row : block.rows) {
    count(row);
    if (!source_.sizes_known()) state_.bytes += row.stored_bytes();
  }
  next_sample_ = block.next_sample;
  alignment_ = block.alignment;
}

void PackRun::start_over() {
  report_ = {};
  journal_.rewind({});
  open_file();
  out_->file().set_size(0);
  reserve();
  choose_tables();
  journal_.append(encode_start({identity_, compressed_tables_, report_.lanes.trained_on}));
}

void PackRun::choose_tables() {
  tables_.reset();
  compressed_tables_.clear();
  if (!options_.lanes || schema_.find(FieldType::image) < 0) return;
  if (options_.copy_records) {
    tables_ = most_used_tables(source_);
    if (tables_) compressed_tables_ = lanes::compress_tables(*tables_);
    if (tables_ || is_all_records(source_)) return;
  }
  // Samples the whole source, even if only a part is packed: all shards need equal tables.
  tables_ = make_tables(report_.lanes.trained_on, source_, options_);
  compressed_tables_ = lanes::compress_tables(*tables_);
}

std::string PackRun::file_name() const {
  return sharded_ ? shard_name(target_.path(), ends_.size()) : target_.path();
}

void PackRun::open_file() {
  const std::string leaf = target_.hidden_name("partial") + journal_.suffix();
  out_.reset();
  out_ = std::make_unique<Appender>(file_name(), options_.replace, leaf, schema_);
  block_end_ = kHeadBytes;
  if (alignment_ != 0) out_->set_alignment(alignment_);
}

void PackRun::reserve() {
  // The sizes of preprocessed images are unknown.
  if (!out_ || !source_.sizes_known() || options_.preprocessor) return;
  if (sharded_) {
    std::uint64_t left = 0;
    for (std::uint64_t i = next_sample_; i < end_; ++i) left += source_.bytes(i);
    out_->file().reserve(std::min(left, options_.shard_bytes));
  } else {
    out_->reserve(end_ - first_, bytes_, options_.lanes);
  }
}

void PackRun::write_block(bool durable) {
  out_->flush();
  if (durable) out_->file().sync();
  if (pending_rows_ > 0) {
    const RowsBlock block{.shard = ends_.size(),
                          .next_sample = next_sample_,
                          .alignment = out_->alignment(),
                          .end = out_->at(),
                          .digest = out_->digest(),
                          .rows = {}};
    journal_.append(encode_rows(block, pending_.bytes(), pending_rows_));
    block_end_ = block.end;
    pending_.clear();
    pending_rows_ = 0;
  }
  if (durable) journal_.sync();
}

void PackRun::write_block_when_due() {
  if (alignment_ == 0 || pending_rows_ == 0) return;
  const Clock::time_point now = Clock::now();
  const auto wait =
      std::max<Clock::duration>(std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(options_.checkpoint_seconds)),
                                kSyncShare * sync_cost_);
  if (options_.checkpoint_seconds <= 0 || now - synced_ >= wait) {
    write_block(true);
    synced_ = Clock::now();
    sync_cost_ = synced_ - now;
  } else if (out_->at() - block_end_ >= kBlockDataBytes ||
             pending_.bytes().size() >= kBlockRowBytes) {
    write_block(false);
  }
}

bool PackRun::keep_what_is_good() noexcept {
  try {
    if (resuming_ && !journal_.is_blank()) return true;  // unchanged since the earlier run
    if (out_ && out_->file().is_published() && !sharded_) {
      journal_.remove();
      return false;  // only the sync of the folder failed
    }
    if (out_ && alignment_ != 0 && !torn_ && !out_->is_sealed()) write_block(true);
  } catch (...) {
    // The earlier blocks are valid.
  }
  try {
    const bool worth = journal_.place().blocks > 1;
    if (out_ && worth) out_->file().set_size(block_end_);
    if (out_ && !worth) out_->file().discard();
    if (!worth) journal_.remove();
    return worth;
  } catch (...) {
    return true;  // the next run checks what is left
  }
}

}  // namespace tundish
