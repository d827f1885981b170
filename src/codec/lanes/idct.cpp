#include "codec/lanes/idct.h"

#include <emmintrin.h>

#include <algorithm>

#include "codec/lanes/sample_arithmetic.h"

namespace tundish::lanes {
namespace {

void transform_column(std::int32_t out[8], const std::int16_t* column) {
  std::int32_t in[8];
  for (int i = 0; i < 8; ++i) in[i] = column[8 * i];
  idct_pass(out, in, kColumnStart);
  for (int i = 0; i < 8; ++i) out[i] >>= kColumnShift;
}

bool fits(std::int32_t value) { return value >= INT16_MIN && value <= INT16_MAX; }

// True if the pairs that libjpeg-turbo adds before multiplying fit into 16 bits.
bool sums_fit(const std::int32_t in[8]) {
  return fits(in[0] + in[4]) && fits(in[0] - in[4]) && fits(in[7] + in[3]) && fits(in[5] + in[1]);
}

bool sums_fit(const Block& block, const Quantization& quantization) {
  std::int16_t coefficients[64];
  for (std::size_t i = 0; i < 64; ++i) {
    const std::int32_t product = block[i] * std::int32_t{quantization[i]};
    if (!fits(product)) return false;
    coefficients[i] = static_cast<std::int16_t>(product);
  }
  std::int32_t half[8][8];
  for (int x = 0; x < 8; ++x) {
    std::int32_t in[8], sums[8];
    for (int y = 0; y < 8; ++y) in[y] = coefficients[8 * y + x];
    if (!sums_fit(in)) return false;
    transform_column(sums, coefficients + x);
    for (int y = 0; y < 8; ++y) {
      if (!fits(sums[y])) return false;
      half[y][x] = sums[y];
    }
  }
  return std::all_of(half, half + 8, [](const std::int32_t* row) { return sums_fit(row); });
}

// A fast test that accepts nearly all blocks. `total` is the sum of the dequantized magnitudes: no
// sum of a pair between the passes exceeds 4 * 1.3871 * total + 2, and no other sum exceeds total.
constexpr int kSmall = 5900;

struct SmallQuantizers {
  alignas(16) std::int16_t value[64];  // values above kSmall are stored as kSmall + 1
};

SmallQuantizers small_quantizers(const Quantization& quantization) {
  SmallQuantizers out;
  for (std::size_t i = 0; i < 64; ++i) {
    out.value[i] = static_cast<std::int16_t>(std::min<int>(quantization[i], kSmall + 1));
  }
  return out;
}

bool is_small(const Block& block, const SmallQuantizers& quantizers) {
  const __m128i most = _mm_set1_epi16(kSmall + 1);
  __m128i sums = _mm_setzero_si128();
  for (int i = 0; i < 64; i += 8) {
    const __m128i value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block.data() + i));
    const __m128i negative = _mm_subs_epi16(_mm_setzero_si128(), value);
    const __m128i magnitude = _mm_min_epi16(_mm_max_epi16(value, negative), most);
    const auto* from = reinterpret_cast<const __m128i*>(quantizers.value + i);
    sums = _mm_add_epi32(sums, _mm_madd_epi16(magnitude, _mm_load_si128(from)));
  }
  alignas(16) std::uint32_t total[4];  // each at most 16 * (kSmall + 1)^2 < 2^30
  _mm_store_si128(reinterpret_cast<__m128i*>(total), sums);
  return total[0] + total[1] + total[2] + total[3] <= kSmall;
}

}  // namespace

void idct(std::uint8_t* out, std::ptrdiff_t stride, const std::int16_t* coefficients) {
  std::int16_t half[64];
  std::int32_t sums[8];
  for (int x = 0; x < 8; ++x) {
    transform_column(sums, coefficients + x);
    for (int y = 0; y < 8; ++y) half[8 * y + x] = static_cast<std::int16_t>(sums[y]);
  }
  for (int y = 0; y < 8; ++y) {
    const std::int32_t in[8] = {half[8 * y],     half[8 * y + 1], half[8 * y + 2], half[8 * y + 3],
                                half[8 * y + 4], half[8 * y + 5], half[8 * y + 6], half[8 * y + 7]};
    idct_pass(sums, in, kRowStart);
    for (int x = 0; x < 8; ++x) {
      out[y * stride + x] = static_cast<std::uint8_t>(std::clamp(sums[x] >> kRowShift, 0, 255));
    }
  }
}

bool is_exact(const Block& block, const Quantization& quantization) {
  return is_small(block, small_quantizers(quantization)) || sums_fit(block, quantization);
}

bool is_exact(const Coefficients& image) {
  for (int c = 0; c < image.geometry.components; ++c) {
    const SmallQuantizers small = small_quantizers(image.quantization[c]);
    for (const Block& block : image.blocks[c]) {
      if (!is_small(block, small) && !sums_fit(block, image.quantization[c])) return false;
    }
  }
  return true;
}

}  // namespace tundish::lanes
