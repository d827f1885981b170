// Pillow 12's filter SMOOTH. CPU and GPU share this.
#pragma once

#include "base/host_device.h"

namespace tundish {

// `sum`: of a level and its eight neighbors, and four times the level again. The sum over 13, to
// the nearest: never half way between two, so that Pillow's floats come to the same.
TUNDISH_HOST_DEVICE int smoothed(int sum) { return (sum + 6) / 13; }

}  // namespace tundish
