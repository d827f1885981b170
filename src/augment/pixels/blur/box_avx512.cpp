#include <immintrin.h>

#include "augment/pixels/blur/box_simd.h"

namespace tundish {
namespace {

// box_level() in 16-bit lanes. With w = high * 2^16 + low, the upper half of inside * w + ends * p
// is the sum of the low products' upper halves, their carry, and the high products.
class Avx512Lanes {
 public:
  typedef std::uint16_t Words __attribute__((vector_size(512 / 8)));
  static constexpr int kLanes = 512 / 16;

  explicit Avx512Lanes(const Box& box) : halves_(box) {}

  inline __attribute__((always_inline)) Words level(Words inside, Words ends) const {
    const Words low = inside * halves_.whole_low;
    const Words sum = low + ends * halves_.part_low;
    Words upper = multiply_high(inside, halves_.whole_low);
    upper += multiply_high(ends, halves_.part_low);
    upper += inside * halves_.whole_high + ends * halves_.part_high;
    upper += static_cast<std::uint16_t>(1 << 7);  // rounds
    upper -= (Words)(sum < low);                  // the carry; true is -1
    return upper >> 8;
  }

 private:
  static inline __attribute__((always_inline)) Words multiply_high(Words a, std::uint16_t b) {
    return (Words)_mm512_mulhi_epu16((__m512i)a, _mm512_set1_epi16(static_cast<short>(b)));
  }

  BoxHalves halves_;
};

}  // namespace

const BoxRows kBoxRowsAvx512 = kBoxLanes<Avx512Lanes>;

}  // namespace tundish
