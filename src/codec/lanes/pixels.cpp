// The scalar code, and the choice of the implementation.
#include "codec/lanes/pixels.h"

#include "codec/lanes/coefficients.h"
#include "codec/lanes/idct.h"
#include "codec/lanes/sample_arithmetic.h"

namespace tundish::lanes {
namespace scalar {

void order_quantization(QuantizationOrder* out, const std::uint16_t* natural) {
  for (int i = 0; i < 64; ++i) out->value[i] = static_cast<std::int16_t>(natural[i]);
}

// Multiplies coefficients by quantizers and keeps 16 bits of each product. `escape` is the first
// one at or after the block's first value.
static void expand(std::int16_t* out, const UnitValues& unit, int block, const Escape* escape,
                   const QuantizationOrder& quantization) {
  for (int i = 0; i < 64; ++i) out[i] = 0;
  out[0] = static_cast<std::int16_t>(unit.dc[block] * quantization.value[0]);
  int position = unit.start[block];
  for (std::uint64_t rest = unit.mask[block]; rest != 0; rest &= rest - 1, ++position) {
    const int at = kZigzag[__builtin_ctzll(rest)];
    const bool escaped = escape->position == position;
    const int value = escaped ? escape->value : unit.value[position];
    if (escaped) ++escape;
    out[at] = static_cast<std::int16_t>(value * quantization.value[at]);
  }
}

void render_unit(const UnitTask& task) {
  const UnitValues& unit = *task.unit;
  const Escape* escape = unit.escape;
  int block = 0;
  for (int c = 0; c < task.components; ++c) {
    const ComponentTask& part = task.component[c];
    for (int y = 0; y < part.down; ++y) {
      for (int i = 0; i < part.across; ++i, ++block) {
        const int x = y % 2 == 0 ? i : part.across - 1 - i;
        if (x >= part.x0 && x < part.x1 && y >= part.y0 && y < part.y1) {
          std::int16_t coefficients[64];
          expand(coefficients, unit, block, escape, *part.quantization);
          idct(part.out + (y - part.y0) * kBlock * part.stride + (x - part.x0) * kBlock,
               part.stride, coefficients);
        }
        while (escape->position < unit.start[block + 1]) ++escape;
      }
    }
  }
}

void gray_row(const RowTask& task) {
  for (int x = 0; x < task.width; ++x) {
    for (int c = 0; c < 3; ++c) task.rgb[3 * x + c] = task.plane[0][x];
  }
}

// Returns chroma `c` at pixel x of the row.
static int chroma_at(const RowTask& task, Upsampling upsampling, int c, int x) {
  const std::uint8_t* row = task.plane[c];
  const std::uint8_t* beside = task.beside[c];
  const int near = x / 2;
  const int far = x % 2 == 0 ? near - 1 : near + 1;
  switch (upsampling) {
    case Upsampling::smooth_wide:
      return smooth(row[near], row[far], x % 2 == 1);
    case Upsampling::smooth_high:
      return smooth(row[x], beside[x], task.lower);
    case Upsampling::smooth_both: {
      const int near_sum = 3 * row[near] + beside[near];
      const int far_sum = 3 * row[far] + beside[far];
      return smooth_sums(near_sum, far_sum, x % 2 == 1);
    }
    case Upsampling::repeat:
      return row[x / task.repeat];
    case Upsampling::none:
      break;
  }
  return row[x];
}

static std::uint8_t clip(int level) {
  return static_cast<std::uint8_t>(level < 0 ? 0 : level > 255 ? 255 : level);
}

void color_row(const RowTask& task, Upsampling upsampling, Color color) {
  for (int x = 0; x < task.width; ++x) {
    const int first = task.plane[0][x];
    const int second = chroma_at(task, upsampling, 1, x);
    const int third = chroma_at(task, upsampling, 2, x);
    std::uint8_t* rgb = task.rgb + 3 * x;
    if (color == Color::rgb) {
      rgb[0] = clip(first);
      rgb[1] = clip(second);
      rgb[2] = clip(third);
    } else {
      const int luma = scaled_luma(first), blue = second - 128, red = third - 128;
      rgb[0] = clip(red_of(luma, red));
      rgb[1] = clip(green_of(luma, blue, red));
      rgb[2] = clip(blue_of(luma, blue));
    }
  }
}

}  // namespace scalar

const Pixels& pixels_of(Cpu cpu) {
  static constexpr Pixels kScalar = {scalar::order_quantization, scalar::render_unit,
                                     scalar::gray_row, scalar::color_row};
  static constexpr Pixels kSse = {sse::order_quantization, sse::render_unit, sse::gray_row,
                                  sse::color_row};
  static constexpr Pixels kAvx2 = {avx2::order_quantization, avx2::render_unit, avx2::gray_row,
                                   avx2::color_row};
  static constexpr Pixels kAvx512 = {avx512::order_quantization, avx512::render_unit,
                                     avx512::gray_row, avx512::color_row};
  switch (cpu) {
    case Cpu::avx512:
      return kAvx512;
    case Cpu::avx2:
      return kAvx2;
    case Cpu::sse:
      return kSse;
    case Cpu::scalar:
      break;
  }
  return kScalar;
}

}  // namespace tundish::lanes
