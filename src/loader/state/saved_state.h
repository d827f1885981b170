// The state of a run as JSON: what Loader.state_dict() gives, and `tundish view --state` reads.
//
// {"format": 2, "version", "order_version", "random_version", "fingerprint", "seed", "epoch",
//  "position", "order", "run_config"}
//
// The fingerprint identifies what the state belongs to: data, order, seed and transforms. Not
// threads, prefetch, memory, rank, world size or batch size: these may change between runs. The run
// configuration holds what the next batch depends on besides that, so that it can be made again.
#pragma once

#include <cstdint>
#include <string>

#include "base/fields_json.h"
#include "data/source/source.h"
#include "loader/state/loader_options.h"

namespace tundish {

constexpr int kStateFormat = 2;
constexpr std::size_t kMaxStateBytes = 1 << 20;        // a state has some hundred
constexpr std::uint64_t kMaxEpoch = (1ull << 63) - 1;  // as in Python

// 32 hex digits
std::string fingerprint(const Source& source, const Order& order, const LoaderOptions& options);

// Options whose FieldInfo::saved is set, without those at their default. "given": lists of samples,
// weights or labels were given, which a state does not hold.
Json run_config_json(const LoaderOptions& options);

// What a state belongs to, of a loader that exists.
struct RunIdentity {
  std::string fingerprint;
  std::string order;  // in words
  std::uint64_t seed = 0;
  std::uint64_t positions = 0;  // of an epoch
  // Only to say in an error what differs.
  std::string transforms = {};  // JSON
  ImageMode mode = ImageMode::rgb;
  bool exif_orientation = false;
};

Json state_json(const RunIdentity& run, const LoaderOptions& options, std::uint64_t epoch,
                std::uint64_t position);

struct SavedState {
  std::string fingerprint, order;
  std::uint64_t epoch = 0, position = 0;
  LoaderOptions options;  // of the run configuration, and the seed
  bool given = false;
};

// Throws Error(wrong_state) for text that is not a state, a state of another version, and one whose
// numbers are impossible for a run.
SavedState read_state(const std::string& text);

// Throws Error(wrong_state) when that loader cannot go on from the state.
void check_state(const SavedState& state, const RunIdentity& run);

}  // namespace tundish
