#include "data/order/schedule.h"

#include <algorithm>
#include <cassert>

namespace tundish {

std::uint64_t steps_from(const Schedule& schedule, std::uint64_t start) {
  if (start >= schedule.count) return 0;
  const std::uint64_t global = std::uint64_t{schedule.batch_size} * schedule.world_size;
  const std::uint64_t left = schedule.count - start;
  const bool partial = left % global != 0 && schedule.uneven != Uneven::drop;
  return left / global + (partial ? 1 : 0);
}

Step step_at(const Schedule& schedule, std::uint64_t start) {
  assert(steps_from(schedule, start) > 0);
  const std::uint64_t world = schedule.world_size, rank = schedule.rank;
  const std::uint64_t left = schedule.count - start;
  if (left >= schedule.batch_size * world) {
    std::uint64_t next = start + schedule.batch_size * world;
    if (steps_from(schedule, next) == 0) next = schedule.count;  // the remainder is dropped
    return {start + rank * schedule.batch_size, schedule.batch_size, next};
  }
  if (schedule.uneven == Uneven::pad) {
    const std::uint64_t share = (left + world - 1) / world;
    return {start + rank * share, static_cast<std::uint32_t>(share), schedule.count};
  }
  const std::uint64_t share = left / world, longer = left % world;
  return {start + rank * share + std::min(rank, longer),
          static_cast<std::uint32_t>(share + (rank < longer ? 1 : 0)), schedule.count};
}

}  // namespace tundish
