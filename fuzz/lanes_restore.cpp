// Any restore data with the coefficients of a small image: bytes or a fault, within the promised
// memory. The data is either expanded, or compressed as stored.
// parser: src/codec/lanes/restore_* src/codec/lanes/jpeg_restore.*
// parser: src/codec/lanes/jpeg_put_together.*
#include "base/bytes.h"
#include "codec/lanes/jpeg_file.h"
#include "codec/lanes/transcode.h"
#include "memory_meter.h"

namespace {

using namespace tundish::lanes;
using tundish::Bytes;

constexpr JpegLimits kLimits{.max_pixels = 1 << 16, .max_scans = 20, .max_bytes = 1 << 18};
constexpr std::size_t kHead = 4;   // sampling, width, height, number of coefficients
constexpr std::size_t kValue = 6;  // component, place, block: u16, value: i16

void check(bool claim) {
  if (!claim) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  if (size < kHead || data[1] == 0 || data[2] == 0 || size < kHead + data[3] * kValue) return 0;
  Coefficients coefficients;
  coefficients.geometry =
      make_geometry(data[1], data[2], static_cast<Sampling>(data[0] % kSamplings));
  for (int c = 0; c < coefficients.geometry.components; ++c) {
    const Component& component = coefficients.geometry.component[c];
    coefficients.blocks[c].assign(static_cast<std::size_t>(component.blocks_x * component.blocks_y),
                                  Block{});
  }
  for (std::size_t i = 0; i < data[3]; ++i) {
    const std::byte* value = bytes.data() + kHead + i * kValue;
    Blocks& blocks =
        coefficients.blocks[std::to_integer<int>(value[0]) % coefficients.geometry.components];
    Block& block = blocks[tundish::load<std::uint16_t>(value + 2) % blocks.size()];
    block[std::to_integer<std::size_t>(value[1]) % 64] = tundish::load<std::int16_t>(value + 4);
  }
  const Bytes restore = bytes.subspan(kHead + data[3] * kValue);
  const tundish::MemoryMeter meter(
      tundish::restore_promise(data[1], data[2], size, kLimits.max_bytes));
  std::vector<std::byte> file;
  if (!put_together(file, coefficients, restore, kLimits)) check(file.size() <= kLimits.max_bytes);
  if (!restore_from(file, coefficients, restore, kLimits)) check(file.size() <= kLimits.max_bytes);
  return 0;
}
