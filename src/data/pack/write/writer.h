// Packs any Source into .tnd files: many threads, bounded memory, the same bytes for any number of
// threads. Crash-safe: writes a hidden file beside the target with space reserved first, then syncs
// the file, renames it and syncs the directory. A killed or failed pack leaves the old target, the
// hidden file and a journal; the next pack of the target resumes there with the same bytes.
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
  std::uint64_t bytes = 0, bytes_total = 0;  // bytes of the source; total 0 if unknown
  std::uint64_t refused = 0;
};

// Tables of the lanes codec. automatic: train if samples can be read by number.
enum class LanesTables : std::uint8_t { automatic, builtin, train };

// How a pack begins when a hidden file of an earlier pack exists.
struct Resumption {
  std::uint64_t samples = 0, samples_total = 0;  // samples that need not be read again
  std::string why_not = {};                      // not empty: starts over for this reason
};

// One of `count` parts: samples from n * number / count to n * (number + 1) / count.
struct SourcePart {
  std::uint64_t number = 0, count = 1;
};

// A new option that changes the bytes of a pack must be added to add_options() in identity.cpp.
struct PackOptions {
  const Preprocessor* preprocessor = nullptr;  // nullptr: images stay unchanged
  int threads = 0;                             // 0: all usable CPUs
  std::uint64_t memory_bytes = 96ull << 20;    // budget for samples in flight
  bool replace = false;  // replace an existing file; else Error(output_exists)
  bool lanes = true;     // re-code JPEGs losslessly, so that they decode faster
  LanesTables tables = LanesTables::automatic;
  double max_growth = 1.10;     // keep a JPEG unchanged if it would grow by more
  bool strip_metadata = false;  // drop EXIF, ICC and comments of re-coded JPEGs
  // Copies records of packs unchanged, except lanes records whose pack has other tables than the
  // new pack (the tables of most records): these are coded again. Only for sources read by number.
  bool copy_records = false;
  Limits limits = {};
  std::function<void(const PackProgress&)> progress =
      {};                                   // called by the calling thread, ~10 times/s
  const std::atomic<bool>* stop = nullptr;  // set: Error(interrupted)
  std::string choice = {};                  // describes which samples of a larger source these are
  SourcePart shard = {};                    // pack only this part of the source
  std::uint64_t shard_bytes = 0;            // pack_shards(): maximum size of a file
  bool resume = true;                       // resume an interrupted pack of the target
  double checkpoint_seconds = 5;            // between durable checkpoints; 0: after every sample
  std::function<void(const Resumption&)> resumed = {};  // called if an earlier pack existed
};

// A sample that is not in the pack, and the reason. An image that cannot be decoded here is packed
// unchanged; only files that cannot be read, are empty or are no image are refused.
struct Refusal {
  std::uint64_t sample;
  std::string key;
  ErrorCode code;
  std::string text;  // the whole message
};

// Outcome of re-coding the JPEGs.
struct LanesReport {
  std::uint64_t images = 0;                  // number re-coded
  std::uint64_t jpeg_bytes = 0;              // size of the JPEGs before re-coding
  std::uint64_t record_bytes = 0;            // size of the lanes records
  std::uint64_t restore_bytes = 0;           // additional restore data
  std::uint64_t unfit[lanes::kUnfits] = {};  // JPEGs kept unchanged, by reason
  std::uint64_t trained_on = 0;              // images; 0 for built-in tables
};

// Packed samples whose labels have no name although the source names its classes.
struct UnnamedLabels {
  std::uint64_t samples = 0;
  std::int64_t first = 0;  // label of the first such sample
  std::string key = {};    // key of the first such sample
};

struct PackReport {
  std::uint64_t samples = 0;
  std::uint64_t copied = 0;  // records copied unchanged from other packs
  std::uint64_t source_bytes = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t kept_as_they_came = 0;  // codec unknown
  std::uint64_t samples_by_codec[16] = {};
  std::vector<Refusal> refused;
  std::vector<Refusal> doubtful;  // packed, but known to be broken: loading will fail
  UnnamedLabels unnamed_labels;
  std::string id;                  // hex; empty for several files
  std::uint64_t resumed_at = 0;    // samples done by an earlier, interrupted pack
  std::vector<std::string> files;  // files written, in order
  LanesReport lanes;               // without preprocessed images
  PreprocessReport preprocess;
};

// Blocks until the file is durable. Throws Error; then the target is unchanged (unless only the
// sync of the folder failed: then the target is the complete new file). Error(source_empty) if
// there is nothing to pack, Error(all_refused) if every sample was refused, Error(output_busy) if
// another process packs the same target.
PackReport pack(const std::string& target, const Source& source, const PackOptions& options = {});

// Packs into files of at most options.shard_bytes (one record at least), NAME-00000.tnd, ..., and
// writes a manifest NAME.tnds last. After a failure, finished files stay.
PackReport pack_shards(const std::string& target, const Source& source, const PackOptions& options);

}  // namespace tundish
