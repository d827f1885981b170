// The state of a run as JSON: what Loader.state_dict() gives, and `tundish replay` reads.
//
// {"format": 2, "version", "order_version", "random_version", "fingerprint", "seed", "epoch",
//  "position", "order", "run_config"}
//
// The fingerprint says what the state belongs to: data, order, seed and transforms. Not threads,
// prefetch, memory, rank, world size or batch size: these may change between runs. The run
// configuration holds what the next batch depends on besides that, so that it can be made again.
#pragma once

#include <cstdint>
#include <string>

#include "batch/loader_options.h"
#include "core/fields_json.h"

namespace tundish {

class Engine;
struct Order;
struct Recipe;

constexpr int kStateFormat = 2;
constexpr std::size_t kMaxStateBytes = 1 << 20;        // a state has some hundred
constexpr std::uint64_t kMaxEpoch = (1ull << 63) - 1;  // as in Python

std::string fingerprint(const Recipe& recipe, const Order& order);  // 32 hex digits

// Options whose FieldInfo::saved is set, without those at their default. "given": lists of samples,
// weights or labels were given, which a state does not hold.
Json run_config_json(const LoaderOptions& options);

Json state_json(const Engine& engine, std::uint64_t epoch, std::uint64_t position);

struct SavedState {
  std::string fingerprint, order;
  std::uint64_t epoch = 0, position = 0;
  LoaderOptions options;  // of the run configuration, and the seed
  bool given = false;
};

// Throws Error(wrong_state) for text that is no state, a state of another version, and one whose
// numbers cannot be those of a run.
SavedState read_state(const std::string& text);

// The same, and that the engine can go on from it. Throws Error(wrong_state).
SavedState read_state_for(const Engine& engine, const std::string& text);

}  // namespace tundish
