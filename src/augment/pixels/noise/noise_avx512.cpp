#include "augment/pixels/noise/noise_lanewise.h"

namespace tundish {

void add_noise_avx512(const NoisePixels& noise) { add_lanewise(noise); }

}  // namespace tundish
