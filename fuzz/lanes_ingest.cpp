// Any bytes as a JPEG file: refused with a reason, or taken apart. The reassembled file has
// the same coefficients, or there is a fault. (In a progressive file, libjpeg accepts values after
// the end of a band without a warning; we write such values elsewhere.)
// parser: src/codec/lanes/jpeg_*
#include <algorithm>

#include "codec/lanes/jpeg_file.h"
#include "codec/lanes/jpeg_markers.h"
#include "memory_meter.h"

namespace {

using namespace tundish::lanes;

constexpr JpegLimits kLimits{.max_pixels = 1 << 16, .max_scans = 20, .max_bytes = 1 << 20};

void check(bool claim) {
  if (!claim) __builtin_trap();
}

bool is_equal(const Coefficients& a, const Coefficients& b) {
  for (int c = 0; c < kMaxComponents; ++c) {
    if (a.blocks[c] != b.blocks[c] || a.quantization[c] != b.quantization[c]) return false;
  }
  return a.geometry.width == b.geometry.width && a.geometry.height == b.geometry.height &&
         a.geometry.sampling == b.geometry.sampling && a.color == b.color;
}

bool is_sequential(tundish::Bytes file) {
  for (std::size_t at = 0; const auto segment = segment_at(file, at); at = segment->end) {
    if (is_frame(segment->marker)) return segment->marker != kSof2;
  }
  return false;
}

// The limit of SECURITY.md for packing, plus the extra data of this target: the file once more, and
// the coefficients of the written file.
std::size_t promise(tundish::Bytes file) {
  constexpr std::size_t kContexts = 4 << 20;
  return 24 * kLimits.max_pixels + 24 * file.size() + 3 * kLimits.max_bytes + kContexts;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const tundish::Bytes file(reinterpret_cast<const std::byte*>(data), size);
  const tundish::MemoryMeter meter(promise(file));
  Coefficients coefficients, again;
  std::vector<std::byte> restore, written, restore_again, scratch;
  if (take_apart(coefficients, restore, file, kLimits) != Unfit::none) return 0;
  if (put_together(written, coefficients, restore, kLimits)) return 0;
  check(written.size() <= kLimits.max_bytes);
  const bool same = std::ranges::equal(written, file);
  check(restores(coefficients, restore, file, scratch) == same);
  restore_again = restore;
  const bool settled = settle(restore_again, coefficients, file, scratch);
  check(settled || !same);
  check(settled == restores(coefficients, restore_again, file, scratch));
  const Unfit unfit = take_apart(again, restore_again, written, kLimits);
  if (is_sequential(file)) check(unfit == Unfit::none && is_equal(coefficients, again));
  return 0;
}
