// Schedule: maps each rank and step to positions of an epoch.
//
// Step k from a start position takes the positions [start + kWB, start + (k+1)WB) for the whole
// world; rank r takes the r-th slice. A global batch is therefore the same wherever W*B is the
// same, and one number locates a whole run. Every rank has the same number of steps.
#pragma once

#include <array>
#include <cstdint>

namespace tundish {

// How to treat the samples that do not fill a last global batch.
enum class Uneven : std::uint8_t {
  pad = 0,    // distributed; a few samples repeat so that every rank gets equally many
  drop = 1,   // omitted
  exact = 2,  // distributed without repeats; ranks differ by at most one sample, some may get none
};
constexpr std::array<const char*, 3> words(Uneven) { return {"pad", "drop", "exact"}; }

struct Schedule {
  std::uint64_t count = 0;  // samples; positions are 0 .. count-1
  std::uint32_t batch_size = 1;
  std::uint32_t rank = 0;
  std::uint32_t world_size = 1;
  Uneven uneven = Uneven::pad;
};

struct Step {
  std::uint64_t first = 0;  // this rank's positions: first .. first + size - 1
  std::uint32_t size = 0;
  std::uint64_t next = 0;  // the world's next start position; `count` at the end of the epoch
};

// Returns the number of steps from `start` to the end of the epoch.
std::uint64_t steps_from(const Schedule& schedule, std::uint64_t start);

// Returns the step that begins at the global position `start`. Requires steps_from(start) > 0.
Step step_at(const Schedule& schedule, std::uint64_t start);

}  // namespace tundish
