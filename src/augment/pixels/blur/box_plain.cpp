#include "augment/pixels/blur/box_lanewise.h"

namespace tundish {
namespace {

struct PlainLanes {
  typedef std::uint16_t Words __attribute__((vector_size(16)));
  static constexpr int kLanes = 8;
  explicit PlainLanes(const Box& box) : box_(box) {}

  inline __attribute__((always_inline)) Words level(Words inside, Words ends) const {
    Words out;
    for (int k = 0; k < kLanes; ++k) out[k] = box_level(box_, inside[k], ends[k]);
    return out;
  }

 private:
  Box box_;
};

}  // namespace

const BoxRows kBoxRowsPlain = kBoxLanes<PlainLanes>;

}  // namespace tundish
