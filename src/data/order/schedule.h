// Schedule: which positions of an epoch a rank takes at which step.
//
// Step k from a start position takes the positions [start + kWB, start + (k+1)WB) of the whole
// world, rank r the r-th slice. So a global batch is the same wherever W*B is the same, and the
// place of a whole run is one number. Every rank has the same number of steps.
#pragma once

#include <array>
#include <cstdint>

namespace tundish {

// What becomes of the samples that do not fill a last global batch.
enum class Uneven : std::uint8_t {
  pad = 0,    // shared out, a few samples repeated so that every rank gets equally many
  drop = 1,   // left out
  exact = 2,  // shared out without repeats; ranks differ by at most one sample, maybe none
};
constexpr std::array<const char*, 3> words(Uneven) { return {"pad", "drop", "exact"}; }

struct Schedule {
  std::uint64_t count = 0;  // samples, so positions 0 .. count-1
  std::uint32_t batch_size = 1;
  std::uint32_t rank = 0;
  std::uint32_t world_size = 1;
  Uneven uneven = Uneven::pad;
};

struct Step {
  std::uint64_t first = 0;  // this rank's positions: first .. first + size - 1
  std::uint32_t size = 0;
  std::uint64_t next = 0;  // where the whole world goes on; `count` at the end of the epoch
};

// Steps from `start` to the end of the epoch.
std::uint64_t steps_from(const Schedule& schedule, std::uint64_t start);

// The step that begins at the global position `start`; steps_from(start) must not be 0.
Step step_at(const Schedule& schedule, std::uint64_t start);

}  // namespace tundish
