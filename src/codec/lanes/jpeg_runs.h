// How another encoder than libjpeg joined blocks to runs in a progressive AC scan.
#pragma once

#include "codec/lanes/jpeg_scan.h"

namespace tundish::lanes {

// The blocks at which runs end in `data`, the entropy-coded bytes of the scan, although they could
// have gone on. Empty when the data are not of these coefficients.
std::optional<OddRuns> find_runs(const ScanSource& source, Bytes data);

}  // namespace tundish::lanes
