#include "augment/pixels/blur/box_simd.h"

namespace tundish {
namespace {

struct BaselineLanes {
  typedef std::uint16_t Words __attribute__((vector_size(16)));
  static constexpr int kLanes = 8;
  explicit BaselineLanes(const Box& box) : box_(box) {}

  inline __attribute__((always_inline)) Words level(Words inside, Words ends) const {
    Words out;
    for (int k = 0; k < kLanes; ++k) out[k] = box_level(box_, inside[k], ends[k]);
    return out;
  }

 private:
  Box box_;
};

}  // namespace

const BoxRows kBoxRowsBaseline = kBoxLanes<BaselineLanes>;

}  // namespace tundish
