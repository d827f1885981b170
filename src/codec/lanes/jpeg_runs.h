// Finds how an encoder other than libjpeg joined blocks to runs in a progressive AC scan.
#pragma once

#include "codec/lanes/jpeg_scan.h"

namespace tundish::lanes {

// Returns the blocks at which runs end in `data`, the entropy-coded bytes of the scan, although the
// runs could have continued. Empty if the data do not match the coefficients.
std::optional<OddRuns> find_runs(const ScanSource& source, Bytes data);

}  // namespace tundish::lanes
