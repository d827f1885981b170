#include "codec/decode/webp/webp.h"

#include <doctest/doctest.h>
#include <webp/encode.h>

#include "base/testing.h"
#include "codec/decode/test_images.h"
#include "codec/decode/webp/webp_memory.h"

namespace tundish {
namespace {

struct WebpKind {
  bool lossless = false;
  bool alpha = false;
  float quality = 80;
};

ByteVector make_webp(int width, int height, const WebpKind& kind, std::uint64_t seed) {
  const int channels = kind.alpha ? 4 : 3;
  const std::vector<std::uint8_t> pixels = test_pixels(width, height, channels, seed);
  std::uint8_t* coded = nullptr;
  const int stride = width * channels;
  std::size_t bytes = 0;
  if (kind.lossless) {
    bytes = kind.alpha ? WebPEncodeLosslessRGBA(pixels.data(), width, height, stride, &coded)
                       : WebPEncodeLosslessRGB(pixels.data(), width, height, stride, &coded);
  } else {
    bytes = kind.alpha ? WebPEncodeRGBA(pixels.data(), width, height, stride, kind.quality, &coded)
                       : WebPEncodeRGB(pixels.data(), width, height, stride, kind.quality, &coded);
  }
  REQUIRE(bytes > 0);
  const auto* const first = reinterpret_cast<const std::byte*>(coded);
  ByteVector out(first, first + bytes);
  WebPFree(coded);
  return out;
}

ByteVector chunk(std::string_view type, const ByteVector& data) {
  ByteVector out = bytes_of(type);
  for (int i = 0; i < 4; ++i) out.push_back(std::byte(data.size() >> (8 * i) & 255));
  out.insert(out.end(), data.begin(), data.end());
  if (data.size() % 2 != 0) out.push_back(std::byte{0});
  return out;
}

ByteVector riff(const std::vector<ByteVector>& chunks) {
  ByteVector data = bytes_of("WEBP");
  for (const ByteVector& one : chunks) data.insert(data.end(), one.begin(), one.end());
  ByteVector out = bytes_of("RIFF");
  for (int i = 0; i < 4; ++i) out.push_back(std::byte(data.size() >> (8 * i) & 255));
  out.insert(out.end(), data.begin(), data.end());
  return out;
}

void put24(ByteVector& to, int value) {
  for (int i = 0; i < 3; ++i) to.push_back(std::byte(value >> (8 * i) & 255));
}

ByteVector extended(int flags, int width, int height) {
  ByteVector data = {std::byte(flags), std::byte{0}, std::byte{0}, std::byte{0}};
  put24(data, width - 1);
  put24(data, height - 1);
  return chunk("VP8X", data);
}

// Returns a frame of an animation, at an even position.
ByteVector frame(int x, int y, int width, int height, const ByteVector& simple_file) {
  ByteVector data;
  for (const int value : {x / 2, y / 2, width - 1, height - 1, 100}) put24(data, value);
  data.push_back(std::byte{0});
  data.insert(data.end(), simple_file.begin() + 12, simple_file.end());
  return chunk("ANMF", data);
}

Window whole(int width, int height) { return {0, 0, width, height}; }

}  // namespace

TEST_CASE("a lossless WebP has the pixels it was made of") {
  Random random({.seed = test_seed()}, 0);
  for (int round = 0; round < 8; ++round) {
    const int width = 1 + static_cast<int>(random.below(90));
    const int height = 1 + static_cast<int>(random.below(60));
    const std::uint64_t seed = random.next();
    const ByteVector bytes = make_webp(width, height, {.lossless = true}, seed);
    CHECK(decode_window(bytes, whole(width, height)) == test_pixels(width, height, 3, seed));
  }
}

TEST_CASE("a window of a WebP equals the same window of the whole, within the memory announced") {
  Random random({.seed = test_seed()}, 1);
  for (const bool lossless : {false, true}) {
    for (const bool alpha : {false, true}) {
      const int width = 1 + static_cast<int>(random.below(80));
      const int height = 1 + static_cast<int>(random.below(80));
      const ByteVector bytes = make_webp(width, height, {lossless, alpha}, random.next());
      const auto all = decode_window(bytes, whole(width, height));
      for (int i = 0; i < 6; ++i) {
        const Window window = random_window(random, width, height);
        CHECK(decode_window(bytes, window) == cut(all, width, window));
      }
    }
  }
}

TEST_CASE("libwebp gets no more memory than was announced") {
  CHECK(make_webp(40, 30, {}, 1).size() > 0);
  WebpFrame frame;
  const ByteVector bytes = make_webp(40, 30, {.lossless = true}, 1);
  REQUIRE_FALSE(find_webp_frame(frame, bytes));
  const WebpMemoryLimit limit(1000);  // far too little: the encoder must fail
  std::uint8_t* coded = nullptr;
  const std::vector<std::uint8_t> pixels(std::size_t{3} * 64 * 64);
  CHECK(WebPEncodeRGB(pixels.data(), 64, 64, 3 * 64, 80, &coded) == 0);
  CHECK(limit.was_reached());
  CHECK(limit.peak() <= 1000);
}

TEST_CASE("of an animation the first frame is shown on a black canvas") {
  const ByteVector first = make_webp(6, 4, {.lossless = true}, 5);
  const ByteVector second = make_webp(20, 10, {.lossless = true}, 6);
  const ByteVector animation = chunk("ANIM", ByteVector(6));
  const ByteVector file =
      riff({extended(2, 20, 10), animation, frame(4, 2, 6, 4, first), frame(0, 0, 20, 10, second)});
  const auto pixels = decode_window(file, whole(20, 10));
  const auto expected = test_pixels(6, 4, 3, 5);
  for (int y = 0; y < 10; ++y) {
    for (int x = 0; x < 20; ++x) {
      const bool inside = x >= 4 && x < 10 && y >= 2 && y < 6;
      for (int c = 0; c < 3; ++c) {
        const auto at = static_cast<std::size_t>((y * 20 + x) * 3 + c);
        const int value =
            inside ? expected[static_cast<std::size_t>(((y - 2) * 6 + x - 4) * 3 + c)] : 0;
        REQUIRE(pixels[at] == value);
      }
    }
  }
  CHECK(fault_of(riff({extended(2, 20, 10), frame(4, 2, 6, 4, first)})) ==
        ErrorCode::image_header);  // no ANIM
  CHECK(fault_of(riff({extended(2, 9, 10), animation, frame(4, 2, 6, 4, first)})) ==
        ErrorCode::image_header);  // beyond the canvas
  CHECK(fault_of(riff({extended(2, 20, 10), animation, frame(4, 2, 6, 5, first)})) ==
        ErrorCode::image_header);  // size differs
  CHECK(fault_of(riff({extended(2, 20, 10), animation})) == ErrorCode::image_header);
}

TEST_CASE("a WebP cut anywhere is a fault, and so are chunks that make no sense") {
  for (const bool lossless : {false, true}) {
    const ByteVector bytes = make_webp(30, 20, {.lossless = lossless}, 3);
    for (std::size_t size = 12; size < bytes.size(); size += 5) {
      CHECK(fault_of(Bytes(bytes).first(size)) == ErrorCode::image_cut_off);
    }
  }
  CHECK(fault_of(riff({chunk("EXIF", {})})) == ErrorCode::image_header);
  CHECK(fault_of(riff({chunk("VP8 ", ByteVector(20))})) == ErrorCode::image_header);
  CHECK(fault_of(riff({extended(0, 30, 20)})) == ErrorCode::image_header);
  CHECK(fault_of(riff({chunk("VP8X", ByteVector(4))})) == ErrorCode::image_header);
}

}  // namespace tundish
