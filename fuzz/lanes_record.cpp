// Any bytes as a lanes record with corrected checksums. Every instruction set returns the same
// pixels as the reference implementation, or refuses. A window equals that part of the image. Bytes
// after the record are its restore data: the file is restored or not, within the promised memory.
// An image over the limits allocates nothing.
// parser: src/codec/lanes/record.* src/codec/lanes/decode* src/codec/lanes/stored_tables.*
// parser: src/codec/lanes/transcode.*
#include <cstring>
#include <vector>

#include "base/crc32c.h"
#include "codec/lanes/decode.h"
#include "codec/lanes/transcode.h"
#include "memory_meter.h"

namespace {

using namespace tundish;

void check(bool claim) {
  if (!claim) __builtin_trap();
}

constexpr int kMaxPixels = 256 * 256;  // the reference is slow
constexpr lanes::JpegLimits kLimits{
    .max_pixels = kMaxPixels, .max_scans = 20, .max_bytes = 1 << 18};

struct Keep : StripSink {
  void push(const Strip& strip) override {
    for (int y = 0; y < strip.rows; ++y) {
      const std::uint8_t* row = strip.pixels + y * strip.stride;
      rgb.insert(rgb.end(), row, row + std::ptrdiff_t{3} * strip.width);
    }
  }
  std::vector<std::uint8_t> rgb;
};

// Writes correct checksums and moves the bytes after the record into `rest`. Returns false if the
// bytes cannot be a record.
bool repair(std::vector<std::byte>& bytes, std::vector<std::byte>& rest) {
  using namespace lanes;
  const auto size = read_size(bytes);
  if (!size || size->width == 0 || size->height == 0) return false;
  const auto kind = static_cast<unsigned>(bytes[2]);
  if ((kind & 7) >= kSamplings) return false;
  const Geometry geometry =
      make_geometry(size->width, size->height, static_cast<Sampling>(kind & 7));
  std::size_t at = 7;
  for (int c = 0; c < geometry.components; ++c) {
    if (at >= bytes.size()) return false;
    const auto code = static_cast<unsigned>(bytes[at]);
    at += code == 0 ? 65 : code == 201 ? 129 : 1;
  }
  const std::size_t index = at;
  at += 2 * static_cast<std::size_t>(geometry.units());
  if (at + 4 > bytes.size()) return false;
  const std::uint32_t head = mask_crc(crc32c(Bytes(bytes).first(at)));
  store(bytes.data() + at, head);
  at += 4;
  for (int y = 0; y < geometry.units_y; ++y) {
    std::size_t length = 0;
    for (int x = 0; x < geometry.units_x; ++x) {
      const auto unit = static_cast<std::size_t>(y * geometry.units_x + x);
      length += load<std::uint16_t>(bytes.data() + index + 2 * unit);
    }
    if (at + length + 4 > bytes.size()) return false;
    std::byte prefix[8];
    store(prefix, head);
    store(prefix + 4, static_cast<std::uint32_t>(y));
    store(bytes.data() + at + length,
          mask_crc(crc32c(Bytes(bytes).subspan(at, length), crc32c(prefix))));
    at += length + 4;
  }
  rest.assign(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end());
  bytes.resize(at);
  return true;
}

void restore(Bytes record, Bytes rest, const lanes::RecordSize& size) {
  static lanes::Decoder decoder;
  const bool fits = std::int64_t{size.width} * size.height <= kMaxPixels;
  const MemoryMeter meter(fits ? restore_promise(size.width, size.height,
                                                 record.size() + rest.size(), kLimits.max_bytes)
                               : 1 << 12);
  std::vector<std::byte> file;
  lanes::Coefficients image;
  auto fault = lanes::decode_within(image, record, lanes::builtin_tables(), decoder, kLimits);
  if (!fault) fault = lanes::restore_from(file, image, rest, kLimits);
  check(fits || (fault && fault->code == ErrorCode::image_too_large));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* first = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(first, first + size);
  const lanes::Tables& tables = lanes::builtin_tables();
  static lanes::Decoder slow(Cpu::scalar);
  std::vector<std::byte> rest;
  lanes::Coefficients unrepaired;
  lanes::decode_within(unrepaired, bytes, tables, slow, kLimits);  // coefficients or a fault
  if (!repair(bytes, rest)) return 0;
  const auto shape = lanes::read_size(bytes);
  restore(bytes, rest, *shape);
  if (std::int64_t{shape->width} * shape->height > kMaxPixels) return 0;
  const Window all{0, 0, shape->width, shape->height};
  Keep expected;
  const bool good = !slow.decode(expected, bytes, all, tables);
  for (const Cpu level : {Cpu::sse, Cpu::avx2, Cpu::avx512}) {
    if (level > best_cpu()) continue;
    lanes::Decoder decoder(level);
    Keep got;
    check(!decoder.decode(got, bytes, all, tables) == good);
    if (good) check(got.rgb == expected.rgb);
    const Window part{all.width / 3, all.height / 4, (all.width + 1) / 2, (all.height + 2) / 3};
    if (part.x + part.width > all.width || part.y + part.height > all.height) continue;
    Keep window;
    if (decoder.decode(window, bytes, part, tables) || !good) continue;
    for (int y = 0; y < part.height; ++y) {
      const std::ptrdiff_t from = (std::ptrdiff_t{part.y + y} * all.width + part.x) * 3;
      check(std::memcmp(window.rgb.data() + std::ptrdiff_t{3} * y * part.width,
                        expected.rgb.data() + from,
                        std::size_t{3} * static_cast<std::size_t>(part.width)) == 0);
    }
  }
  return 0;
}
