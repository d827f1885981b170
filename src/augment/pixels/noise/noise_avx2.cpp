#include "augment/pixels/noise/noise_simd.h"

namespace tundish {

void add_noise_avx2(const NoisePixels& noise) { add_simd(noise); }

}  // namespace tundish
