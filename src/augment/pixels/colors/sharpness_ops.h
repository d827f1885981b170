// Pillow 12's filter SMOOTH. Shared by CPU and GPU.
#pragma once

#include "base/host_device.h"

namespace tundish {

// `sum`: five times a level plus its eight neighbors. Divides the sum by 13 and rounds to nearest;
// the quotient is never halfway between integers, so Pillow's floats give the same result.
TUNDISH_HOST_DEVICE int smoothed(int sum) { return (sum + 6) / 13; }

}  // namespace tundish
