// From scan to scan through the literal bytes of restore data.
#pragma once

#include <optional>

#include "codec/lanes/coefficients.h"
#include "codec/lanes/jpeg_codes.h"
#include "codec/lanes/jpeg_markers.h"

namespace tundish::lanes {

// What the markers so far have said.
struct MarkerState {
  std::optional<Frame> frame;
  CodeTables tables;
  int restart_interval = 0;
  ScanHeader scan;          // the last one
  std::uint32_t scans = 0;  // with this one
  std::size_t at = 0;       // after its header
  const char* wrong = nullptr;
};

// Moves past the next scan header; false when there is none, or after a fault: `wrong`.
// The frame is then one of these coefficients.
bool next_scan(MarkerState& state, Bytes literal, const Coefficients& coefficients);

}  // namespace tundish::lanes
