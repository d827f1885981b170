#include "augment/pixels/chains/chain_mix.h"

#include "augment/pixels/chains/chain_ops.h"

namespace tundish {

void ChainMix::run(const PixelStep& step, std::vector<std::uint8_t>& rgb) {
  const std::size_t bytes = rgb.size();
  const auto weight = static_cast<float>(step.value[0]);
  if (step.op == PixelOp::mix_begin) {
    kept_ = rgb;
    sum_.resize(bytes);
  }
  const std::uint8_t* levels = rgb.data();
  float* sum = sum_.data();
  if (step.op == PixelOp::mix_begin) {
    for (std::size_t i = 0; i < bytes; ++i) sum[i] = mixed_part(levels[i], weight);
  } else if (step.op == PixelOp::mix_add) {
    for (std::size_t i = 0; i < bytes; ++i) sum[i] += mixed_part(levels[i], weight);
    rgb = kept_;
  } else {
    for (std::size_t i = 0; i < bytes; ++i) rgb[i] = mixed_level(sum[i]);
  }
}

std::uint64_t ChainMix::bytes(Size size) {
  return (sizeof(float) + 1) * 3 * static_cast<std::uint64_t>(size.width) *
         static_cast<std::uint64_t>(size.height);
}

}  // namespace tundish
