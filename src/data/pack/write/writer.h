// Packs any Source into .tnd files: many threads, bounded memory, the same bytes for any number of
// threads. Crash-safe: written to a hidden file beside the target, space reserved first, fsync,
// rename, fsync of the directory. A pack that is killed or fails leaves the old state, the hidden
// file and a journal; the next pack of the same target goes on there and gives the same bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "codec/decode/decode.h"
#include "codec/lanes/jpeg_file.h"
#include "data/pack/write/preprocess.h"
#include "data/source/source.h"

namespace tundish {

struct PackProgress {
  std::uint64_t samples = 0, samples_total = 0;
  std::uint64_t bytes = 0, bytes_total = 0;  // of the source; total 0 where not known
  std::uint64_t refused = 0;
};

// What the lanes codec is coded with. automatic: train where samples can be read by number.
enum class LanesTables : std::uint8_t { automatic, builtin, train };

// How a pack begins when a hidden file of an earlier one was there.
struct Resumption {
  std::uint64_t samples = 0, samples_total = 0;  // samples that need not be read again
  std::string why_not = {};                      // not empty: it starts over, for this reason
};

// One part of so many: samples from n * number / count to n * (number + 1) / count.
struct SourcePart {
  std::uint64_t number = 0, count = 1;
};

// A new option that changes the bytes of a pack must be in add_options() of identity.cpp.
struct PackOptions {
  const Preprocessor* preprocessor = nullptr;  // of every image; nullptr: they stay as they are
  int threads = 0;                             // 0: as many as the process may use
  std::uint64_t memory_bytes = 96ull << 20;    // samples in flight
  bool replace = false;  // an existing file: replace it, or Error(output_exists)
  bool lanes = true;     // re-code JPEGs without loss, so that they decode faster
  LanesTables tables = LanesTables::automatic;
  double max_growth = 1.10;     // a JPEG that would grow by more stays as it is
  bool strip_metadata = false;  // drop EXIF, ICC and comments of re-coded JPEGs
  // Records of packs are taken as they are, but lanes records whose pack has other tables than the
  // new one (those that most records have): these are coded again. For sources read by number.
  bool copy_records = false;
  Limits limits = {};
  std::function<void(const PackProgress&)> progress =
      {};                                   // called by the calling thread, ~10 times/s
  const std::atomic<bool>* stop = nullptr;  // set: Error(interrupted)
  std::string choice = {};                  // which samples of a larger source these are, in words
  SourcePart shard = {};                    // pack only this part of the source
  std::uint64_t shard_bytes = 0;            // pack_shards(): the most that a file may have
  bool resume = true;                       // go on where an earlier pack of the target stopped
  double checkpoint_seconds = 5;            // between durable checkpoints; 0: after every sample
  std::function<void(const Resumption&)> resumed = {};  // called when an earlier pack was there
};

// A sample that is not in the pack, and why. What is an image but cannot be decoded here is
// packed as it came; refused are only files that cannot be read, are empty or are no image.
struct Refusal {
  std::uint64_t sample;
  std::string key;
  ErrorCode code;
  std::string text;  // the whole message
};

// What became of the JPEGs.
struct LanesReport {
  std::uint64_t images = 0;                  // re-coded
  std::uint64_t jpeg_bytes = 0;              // of the JPEGs, before
  std::uint64_t record_bytes = 0;            // of the lanes records, after
  std::uint64_t restore_bytes = 0;           // restore data, in addition
  std::uint64_t unfit[lanes::kUnfits] = {};  // JPEGs kept as they came, by reason
  std::uint64_t trained_on = 0;              // images; 0 for built-in tables
};

// Labels that have no name, of samples that are packed, although the source names its classes.
struct UnnamedLabels {
  std::uint64_t samples = 0;
  std::int64_t first = 0;  // label of the first of them
  std::string key = {};    // its key
};

struct PackReport {
  std::uint64_t samples = 0;
  std::uint64_t copied = 0;  // of them, records of other packs as they were there
  std::uint64_t source_bytes = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t kept_as_they_came = 0;  // codec unknown
  std::uint64_t samples_by_codec[16] = {};
  std::vector<Refusal> refused;
  std::vector<Refusal> doubtful;  // packed, but known to be broken: loading will fail
  UnnamedLabels unnamed_labels;
  std::string id;                  // hex; empty for several files
  std::uint64_t resumed_at = 0;    // samples that an earlier, interrupted pack had done
  std::vector<std::string> files;  // what was written, in order
  LanesReport lanes;               // without the images that were preprocessed
  PreprocessReport preprocess;
};

// Blocks until the file is durable. Throws Error; then the target is as it was before (only when
// fsync of the folder fails is it already the new, complete file). Error(source_empty) when
// there is nothing to pack, Error(all_refused) when nothing is left, Error(output_busy) while
// another process packs the same target.
PackReport pack(const std::string& target, const Source& source, const PackOptions& options = {});

// The same into files of at most options.shard_bytes (one record at least), NAME-00000.tnd, ...,
// and a manifest NAME.tnds, which is written last. Files that are finished stay finished.
PackReport pack_shards(const std::string& target, const Source& source, const PackOptions& options);

}  // namespace tundish
