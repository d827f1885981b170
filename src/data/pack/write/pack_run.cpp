#include "data/pack/write/pack_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/pack/manifest.h"
#include "data/pack/metadata.h"
#include "data/pack/write/prepare.h"
#include "data/pack/write/preparers.h"
#include "data/pack/write/provenance.h"
#include "data/source/unknown_count.h"

namespace tundish {
namespace {

constexpr auto kProgressEvery = std::chrono::milliseconds(100);
constexpr std::uint64_t kFirstRecords = 64;  // records examined if sizes are unknown

std::uint32_t alignment_for(std::uint64_t bytes, std::uint64_t records) {
  return records > 0 && bytes / records < kSmallRecord ? 8 : 64;
}

std::uint64_t cut(std::uint64_t samples, std::uint64_t number, std::uint64_t count) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(samples) * number / count);
}

// Embeds a message in another one: keeps its reason after a colon, drops its fix.
std::string without_fix(std::string text) {
  constexpr std::string_view kWhy = "\n  why: ", kFix = "\n  fix: ";
  if (const std::size_t at = text.rfind(kFix); at != std::string::npos) text.resize(at);
  if (const std::size_t at = text.find(kWhy); at != std::string::npos) {
    text.replace(at, kWhy.size(), ": ");
  }
  return text;
}

}  // namespace

PackRun::PackRun(const std::string& target, const Source& source, const PackOptions& options)
    : source_(source),
      options_(options),
      schema_(source.schema()),
      sharded_(options.shard_bytes > 0),
      first_(cut(source.count(), options.shard.number, options.shard.count)),
      end_(cut(source.count(), options.shard.number + 1, options.shard.count)),
      target_(target, options.replace),
      journal_(target_, options.resume),
      next_sample_(first_),
      synced_(Clock::now()) {
  if (count_known(source)) {
    state_.samples_total = end_ - first_;
  } else if (options.shard.count > 1) {
    throw Error(ErrorCode::argument, {.file = source.path()},
                "parts of it can be packed only when its number of samples is known");
  }
  if (!source.sizes_known()) return;
  // All files of a dataset share one alignment, so count the whole source.
  std::uint64_t all = 0;
  for (std::uint64_t i = 0; i < source.count(); ++i) {
    all += source.bytes(i);
    if (i >= first_ && i < end_) bytes_ += source.bytes(i);
  }
  alignment_ = alignment_for(all, source.count());
  state_.bytes_total = bytes_;
}

PackReport PackRun::run() {
  try {
    begin();
    if (out_) records();
    if (report_.samples == 0) {
      journal_.rewind({});  // no progress to keep
      throw nothing_left();
    }
    finish();
  } catch (const Error& error) {
    if (!keep_what_is_good()) throw;
    const std::string reason = error.reason() + (error.reason().empty() ? "" : "; ");
    throw Error(error.code(), error.where(), reason + progress_kept());
  } catch (...) {
    keep_what_is_good();
    throw;
  }
  return std::move(report_);
}

void PackRun::records() {
  before_ = next_sample_ - out_->records();
  OrderedQueue queue(options_.memory_bytes, next_sample_);
  const Preparers preparers(queue, source_, {next_sample_, end_, before_}, options_, tables_.get());
  while (!queue.done()) {
    if (options_.stop && *options_.stop) {
      throw Error(ErrorCode::interrupted, {.file = target_.path()}, "");
    }
    std::optional<Prepared> prepared = queue.take(kProgressEvery);
    if (prepared) {
      const std::uint64_t bytes = prepared->bytes;
      sample(*prepared);
      queue.release(bytes);
    }
    write_block_when_due();
    tell();
  }
  if (alignment_ == 0) release_first();
  told_ = {};
  tell();
}

void PackRun::sample(Prepared& prepared) {
  ++state_.samples;
  state_.bytes += source_.sizes_known() ? source_.bytes(prepared.number) : prepared.bytes;
  state_.refused += prepared.refusal.has_value();
  if (alignment_ != 0) {
    record(prepared);
  } else {
    hold_back(prepared);
  }
}

// If sizes are unknown, the first records wait until their sizes determine the alignment.
void PackRun::hold_back(Prepared& prepared) {
  held_bytes_ += prepared.bytes;
  held_.push_back(std::move(prepared));
  // Beyond these bytes, the mean of kFirstRecords records cannot be below kSmallRecord.
  const auto records = static_cast<std::uint64_t>(std::count_if(
      held_.begin(), held_.end(), [](const Prepared& held) { return !held.refusal; }));
  if (records == kFirstRecords || held_bytes_ >= kFirstRecords * kSmallRecord) release_first();
}

void PackRun::release_first() {
  const auto records = static_cast<std::uint64_t>(std::count_if(
      held_.begin(), held_.end(), [](const Prepared& held) { return !held.refusal; }));
  alignment_ = alignment_for(held_bytes_, records);
  out_->set_alignment(alignment_);
  for (Prepared& prepared : held_) record(prepared);
  held_ = {};
}

void PackRun::record(Prepared& prepared) {
  const Row row = take_row(prepared, schema_);
  if (!row.refusal) {
    if (sharded_ && out_->records() > 0 &&
        out_->bytes_with(row, section_bytes_) > options_.shard_bytes) {
      finish_file();
      open_file();
      reserve();
    }
    const std::uint64_t number = out_->records();
    // Checksums include the record's number, which changes after a refusal or in a new file.
    if (number != prepared.record) compute_checksums(prepared, schema_, number);
    torn_ = true;
    out_->add(prepared, row);
    torn_ = false;
  }
  next_sample_ = row.number + 1;
  before_ = next_sample_ - out_->records();
  encode_row(pending_, row);
  ++pending_rows_;
  count(row);
}

void PackRun::count(const Row& row) {
  count_row(report_, row, schema_);
  count_lanes(file_lanes_, row, schema_);
  if (!options_.preprocessor) return;
  count_preprocessed(report_.preprocess, row, schema_);
  count_preprocessed(file_preprocess_, row, schema_);
}

// Writes the rows to the journal first, so that a pack killed here recovers its records.
void PackRun::finish_file() {
  write_block(false);
  const std::uint64_t records = out_->records();
  file_lanes_.trained_on = report_.lanes.trained_on;
  const std::string preprocess =
      options_.preprocessor ? preprocess_json(*options_.preprocessor, file_preprocess_) : "";
  const SealedPack sealed = out_->seal(
      metadata_json(schema_, provenance_of_lanes(file_lanes_), preprocess), tables_.get());
  ends_.push_back({ends_.size(), records, sealed.file_bytes, sealed.id});
  if (sharded_) {
    journal_.append(encode_end(ends_.back()));
    journal_.sync();
  }
  // Set before the file is visible, because nothing may fail afterwards.
  report_.file_bytes += sealed.file_bytes;
  report_.id = sharded_ ? "" : hex(sealed.id);
  report_.files.push_back(out_->file().path());
  out_->file().publish();
  out_.reset();
  file_lanes_ = {};
  file_preprocess_ = {};
}

void PackRun::finish() {
  // The interrupted run had read every sample, which is known only after the end of the scan.
  if (out_ && out_->records() == 0 && !ends_.empty()) {
    out_->file().discard();
    out_.reset();
  }
  if (out_) finish_file();
  if (sharded_) {
    Manifest manifest;
    for (const EndBlock& end : ends_) {
      const std::string& path = report_.files[end.shard];
      const std::size_t slash = path.rfind('/');
      manifest.shards.push_back({slash == std::string::npos ? path : path.substr(slash + 1),
                                 end.records, end.file_bytes, hex(end.id)});
    }
    write_manifest(target_.path(), manifest, options_.replace);
  }
  journal_.remove();
}

void PackRun::tell() {
  const Clock::time_point now = Clock::now();
  if (!options_.progress || now - told_ < kProgressEvery) return;
  told_ = now;
  options_.progress(state_);
}

Error PackRun::nothing_left() const {
  const std::vector<Refusal>& refused = report_.refused;
  const Where where{.file = source_.path()};
  if (refused.empty()) return Error(ErrorCode::source_empty, where, "there are no samples");
  const std::string first = without_fix(refused[0].text);
  return Error(ErrorCode::all_refused, where,
               refused.size() == 1 ? "its only sample was refused: " + first
                                   : fmt::format("all {} samples were refused; the first: {}",
                                                 with_commas(refused.size()), first));
}

std::string PackRun::progress_kept() const {
  const std::string of = count_known(source_) ? " of " + with_commas(end_ - first_) : "";
  return fmt::format("{}{} samples are packed and kept; the same command goes on from there",
                     with_commas(next_sample_ - first_), of);
}

}  // namespace tundish
