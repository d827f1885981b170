#include "codec/decode/bmp/bmp.h"

#include <doctest/doctest.h>

#include <string>

#include "base/testing.h"
#include "codec/decode/test_images.h"

namespace tundish {
namespace {

using namespace std::string_literals;

using Pixels = std::vector<std::uint8_t>;

void put(std::string& to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i, value >>= 8) to += static_cast<char>(value & 255);
}

struct BmpKind {
  int width = 2, height = 2, bits = 24, compression = 0, colors = 0;
  std::string after_header = {};  // masks
  std::string palette = {};
  std::string pixels = {};
};

ByteVector make_bmp(const BmpKind& kind) {
  std::string out = "BM";
  put(out, 0, 8);
  put(out, 14 + 40 + kind.after_header.size() + kind.palette.size(), 4);
  put(out, 40, 4);
  put(out, static_cast<std::uint32_t>(kind.width), 4);
  put(out, static_cast<std::uint32_t>(kind.height), 4);
  put(out, 1, 2);
  put(out, static_cast<std::uint64_t>(kind.bits), 2);
  put(out, static_cast<std::uint64_t>(kind.compression), 4);
  put(out, 0, 12);
  put(out, static_cast<std::uint64_t>(kind.colors), 4);
  put(out, 0, 4);
  return bytes_of(out + kind.after_header + kind.palette + kind.pixels);
}

Pixels decode_all(const BmpKind& kind) {
  const int height = kind.height < 0 ? -kind.height : kind.height;
  return decode_window(make_bmp(kind), {0, 0, kind.width, height});
}

const std::string kTwoColors = "\x03\x02\x01\0\x06\x05\x04\0"s;  // blue comes first

}  // namespace

// Expected values are the output of Pillow 12.3's convert("RGB");
// tests/pixels/test_image_formats.py compares many more files with Pillow.
TEST_CASE("rows of a BMP come from the bottom, or from the top when the height is negative") {
  const std::string pixels = "\x03\x02\x01\x06\x05\x04\0\0\x09\x08\x07\x0c\x0b\x0a\0\0"s;
  CHECK(decode_all({.pixels = pixels}) == Pixels{7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6});
  CHECK(decode_all({.height = -2, .pixels = pixels}) ==
        Pixels{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
}

TEST_CASE("BMPs of few bits have a palette, and 16 bits are scaled to 8") {
  CHECK(decode_all({.height = 1, .bits = 1, .palette = kTwoColors, .pixels = "\x40\0\0\0"s}) ==
        Pixels{1, 2, 3, 4, 5, 6});
  CHECK(
      decode_all(
          {.height = 1, .bits = 4, .colors = 2, .palette = kTwoColors, .pixels = "\x10\0\0\0"s}) ==
      Pixels{4, 5, 6, 1, 2, 3});
  CHECK(decode_all({.height = 1,
                    .bits = 8,
                    .colors = 2,
                    .palette = kTwoColors,
                    .pixels = "\x01\x07\0\0"s}) == Pixels{4, 5, 6, 0, 0, 0});  // 7: missing
  CHECK(decode_all({.height = 1, .bits = 16, .pixels = "\x1f\x7c\xe0\x03"s}) ==
        Pixels{255, 0, 255, 0, 255, 0});
  CHECK(decode_all({.height = 1,
                    .bits = 16,
                    .compression = 3,
                    .after_header = "\0\xf8\0\0\xe0\x07\0\0\x1f\0\0\0"s,
                    .pixels = "\x1f\xf8\xe0\x07"s}) == Pixels{255, 0, 255, 0, 255, 0});
}

TEST_CASE("a run-length coded BMP: runs, literals, ends of rows, and a move") {
  BmpKind kind{.width = 4,
               .height = 3,
               .bits = 8,
               .compression = 1,
               .colors = 2,
               .palette = kTwoColors,
               .pixels =
                   "\x02\x01\0\0"s                  // 1 1 0 0
                   "\0\x03\x01\0\x01\0\0\0"s        // 1 0 1 and the rest
                   "\0\x02\x01\0\x03\x01\0\x01"s};  // 0, then 1 1 1
  const auto level = [](const Pixels& pixels) {
    std::string out;
    for (std::size_t i = 0; i < pixels.size(); i += 3) out += pixels[i] == 4 ? '1' : '0';
    return out;
  };
  CHECK(level(decode_all(kind)) ==
        "0111"
        "1010"
        "1100");
  kind.pixels = "\x02\x01\0\x01"s;  // ends too early
  CHECK(fault_of(make_bmp(kind)) == ErrorCode::image_cut_off);
  kind.compression = 2;
  kind.pixels = "\x04\x10\0\0\x04\x01\0\0\x04\x11\0\0"s;
  CHECK(level(decode_all(kind)) ==
        "1111"
        "0101"
        "1010");
}

TEST_CASE("a window of a BMP equals the same window of the whole") {
  Random random({.seed = test_seed()}, 0);
  const std::string masks = "\0\0\xff\0\0\xff\0\0\xff\0\0\0"s;
  for (const int bits : {1, 4, 8, 16, 24, 32}) {
    BmpKind kind{.width = 1 + static_cast<int>(random.below(40)),
                 .height = 1 + static_cast<int>(random.below(40)),
                 .bits = bits,
                 .compression = bits == 32 ? 3 : 0,
                 .after_header = bits == 32 ? masks : ""};
    for (int i = 0; bits <= 8 && i < 4 << bits; ++i) {
      kind.palette += static_cast<char>(random.below(256));
    }
    const int stride = (kind.width * bits + 31) / 32 * 4;
    for (int i = 0; i < stride * kind.height; ++i) {
      kind.pixels += static_cast<char>(random.below(256));
    }
    const Pixels all = decode_all(kind);
    for (int i = 0; i < 6; ++i) {
      const Window window = random_window(random, kind.width, kind.height);
      CHECK(decode_window(make_bmp(kind), window) == cut(all, kind.width, window));
    }
  }
}

TEST_CASE("a BMP that is cut off or of an unknown kind has a fault with a reason") {
  const ByteVector good = make_bmp({.pixels = std::string(16, '\1')});
  CHECK(fault_of(good) == ErrorCode::none);
  for (std::size_t size = 18; size < good.size() - 2; ++size) {
    CHECK(fault_of(Bytes(good).first(size)) == ErrorCode::image_cut_off);
  }
  const std::string pixels(64, '\1');
  CHECK(fault_of(make_bmp({.bits = 2, .pixels = pixels})) == ErrorCode::codec_unsupported);
  CHECK(fault_of(make_bmp({.compression = 4, .pixels = pixels})) == ErrorCode::codec_unsupported);
  CHECK(fault_of(make_bmp({.compression = 1, .pixels = pixels})) == ErrorCode::codec_unsupported);
  CHECK(fault_of(make_bmp({.bits = 16,
                           .compression = 3,
                           .after_header = std::string(12, '\1'),
                           .pixels = pixels})) == ErrorCode::codec_unsupported);
  CHECK(fault_of(make_bmp({.bits = 8, .colors = 70'000, .pixels = pixels})) ==
        ErrorCode::image_header);
  CHECK(fault_of(make_bmp({.width = 0, .pixels = pixels})) == ErrorCode::image_header);
  CHECK(fault_of(make_bmp({.width = 1 << 30, .height = 1 << 22, .pixels = pixels})) ==
        ErrorCode::image_too_large);
}

}  // namespace tundish
