// Walks from scan to scan through the literal bytes of restore data.
#pragma once

#include <optional>

#include "codec/lanes/coefficients.h"
#include "codec/lanes/jpeg_codes.h"
#include "codec/lanes/jpeg_markers.h"

namespace tundish::lanes {

// State set by the markers so far.
struct MarkerState {
  std::optional<Frame> frame;
  CodeTables tables;
  int restart_interval = 0;
  ScanHeader scan;          // last scan header
  std::uint32_t scans = 0;  // including the current scan
  std::size_t at = 0;       // offset after the scan header
  const char* wrong = nullptr;
};

// Moves past the next scan header. Returns false if there is none, or after a fault (`wrong`).
// After success, the frame matches the coefficients.
bool next_scan(MarkerState& state, Bytes literal, const Coefficients& coefficients);

}  // namespace tundish::lanes
