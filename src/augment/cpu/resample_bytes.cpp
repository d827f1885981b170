#include <algorithm>

#include "augment/cpu/resample.h"
#include "augment/cpu/weights.h"

namespace tundish {
namespace {

std::uint64_t u64(int i) { return static_cast<std::uint64_t>(std::max(i, 0)); }

// Upper bound of the weights of one output: the inputs covered by the filter at this scale.
std::uint64_t taps_of(int in, int out, Filter filter) {
  const std::uint64_t scale = u64(in) / std::max<std::uint64_t>(u64(out), 1) + 1;
  return (filter == Filter::bicubic ? 4 : 2) * scale + 3;
}

}  // namespace

std::uint64_t Resample::bytes(const ResizeStep& step, Size image) {
  const Passes& passes = passes_of(cpu());
  const Window& crop = step.crop;
  const std::uint64_t wide = u64(step.keep.width), high = u64(step.keep.height);
  const std::uint64_t row = 3 * u64(crop.width);
  std::uint64_t sum = 0;
  // Padding above or below may copy any row, so all rows that are read are held.
  if (crop.y < 0 || crop.y + crop.height > image.height || crop.x < 0 ||
      crop.x + crop.width > image.width) {
    sum += 3 * u64(std::min(crop.width, image.width)) * u64(std::min(crop.height, image.height));
  }
  const std::uint64_t across = taps_of(crop.width, step.size.width, step.filter);
  const std::uint64_t down = taps_of(crop.height, step.size.height, step.filter);
  const auto rows = static_cast<std::uint64_t>(passes.rows);
  sum += (rows + 1) * (row + 3 * across + passes.row_slack);  // staged rows, and one padding row
  sum += 2 * (down / rows + 2) * slot_bytes(passes, step.keep.width);  // the ring
  sum += 3 * wide + 64;                                                // a finished row
  sum += wide * (96 + 32 * across) + high * (96 + 32 * down);          // weights, and their tables
  sum += sizeof(double) * kOutputsTogether * (across + down);          // work space for the weights
  return sum + sum / 4 + (4 << 10);  // buffers grow by an extra quarter, for later images
}

std::uint64_t Resample::held() const {
  std::uint64_t sum = 0;
  for (const Buffer* buffer :
       {&held_, &fill_, &staged_, &slot_memory_, &table_x_, &table_y_, &result_}) {
    sum += buffer->held();
  }
  for (const Taps* taps : {&taps_x_, &taps_y_}) {
    sum += sizeof(int) * (taps->first.capacity() + taps->used.capacity()) +
           sizeof(std::int32_t) * taps->weight.capacity() + sizeof(double) * taps->value.capacity();
  }
  return sum;
}

}  // namespace tundish
