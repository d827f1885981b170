// The state of a run as JSON: written by Loader.state_dict(), read by `tundish view --state`.
//
// {"format": 2, "version", "order_version", "random_version", "fingerprint", "seed", "epoch",
//  "position", "order", "run_config"}
//
// The fingerprint identifies the run: data, order, seed and transforms. It excludes threads,
// prefetch, memory, rank, world size and batch size: these may change between runs. The run
// configuration holds all other options that determine the next batch, so it can be replayed.
#pragma once

#include <cstdint>
#include <string>

#include "base/fields_json.h"
#include "data/source/source.h"
#include "loader/state/loader_options.h"

namespace tundish {

constexpr int kStateFormat = 2;
constexpr std::size_t kMaxStateBytes = 1 << 20;        // a state has a few hundred bytes
constexpr std::uint64_t kMaxEpoch = (1ull << 63) - 1;  // same limit as in Python

// Returns 32 hex digits.
std::string fingerprint(const Source& source, const Order& order, const LoaderOptions& options);

// Returns the options whose FieldInfo::saved is set and whose value is not the default. "given":
// lists of samples, weights or labels were given, which a state does not hold.
Json run_config_json(const LoaderOptions& options);

// Identity of a run, taken from an existing loader.
struct RunIdentity {
  std::string fingerprint;
  std::string order;  // human-readable
  std::uint64_t seed = 0;
  std::uint64_t positions = 0;  // per epoch
  // Used only in error messages that explain a difference.
  std::string transforms = {};  // JSON
  ImageMode mode = ImageMode::rgb;
  bool exif_orientation = false;
};

Json state_json(const RunIdentity& run, const LoaderOptions& options, std::uint64_t epoch,
                std::uint64_t position);

struct SavedState {
  std::string fingerprint, order;
  std::uint64_t epoch = 0, position = 0;
  LoaderOptions options;  // options of the run configuration, and the seed
  bool given = false;
};

// Throws Error(wrong_state) for text that is not a state, for a state of another version, and for
// numbers that are impossible in a run.
SavedState read_state(const std::string& text);

// Throws Error(wrong_state) if that loader cannot resume from the state.
void check_state(const SavedState& state, const RunIdentity& run);

}  // namespace tundish
