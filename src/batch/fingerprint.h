// What a saved state belongs to: data, order, seed and transforms. Not threads, prefetch, memory,
// rank, world size or batch size: these may change between runs.
#pragma once

#include <string>

#include "batch/order.h"
#include "batch/sample.h"

namespace tundish {

std::string fingerprint(const Recipe& recipe, const Order& order);  // 32 hex digits

}  // namespace tundish
