#include "codec/decode/raw.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "base/testing.h"
#include "codec/decode/join_planes.h"
#include "codec/decode/npy.h"

namespace tundish {
namespace {

// Keeps the requested window.
class Keep : public StripSink {
 public:
  explicit Keep(Window window)
      : window_(window), pixels_(static_cast<std::size_t>(3 * window.width * window.height)) {}
  void push(const Strip& strip) override {
    for (int y = 0; y < strip.rows; ++y) {
      const std::uint8_t* from = strip.pixels + y * strip.stride + 3 * (window_.x - strip.x);
      const int row = strip.y + y - window_.y;
      std::memcpy(pixels_.data() + 3 * row * window_.width, from,
                  static_cast<std::size_t>(3 * window_.width));
      for (int x = 0; x < window_.width; ++x) {
        alpha_.push_back(alpha_of(strip, y, x + window_.x - strip.x));
      }
    }
  }
  std::uint8_t at(int x, int y, int c) const {
    return pixels_[static_cast<std::size_t>(3 * (y * window_.width + x) + c)];
  }
  std::uint8_t alpha(int x, int y) const {
    return alpha_[static_cast<std::size_t>(y * window_.width + x)];
  }

 private:
  Window window_;
  std::vector<std::uint8_t> pixels_, alpha_;
};

TEST_CASE("planes are joined to the same rows by every instruction set") {
  Random random({.seed = test_seed()}, 0);
  for (int width = 0; width < 70; ++width) {
    std::vector<std::uint8_t> planes(3 * static_cast<std::size_t>(width) + 1);
    for (std::uint8_t& level : planes) level = static_cast<std::uint8_t>(random.next() >> 56);
    const std::uint8_t *red = planes.data(), *green = red + width, *blue = green + width;
    std::vector<std::uint8_t> plain(planes.size(), 7), fast(planes.size(), 7);
    join_planes(plain.data(), red, green, blue, width, Cpu::scalar);
    join_planes(fast.data(), red, green, blue, width);
    CHECK(plain == fast);
    CHECK(plain.back() == 7);
    for (int x = 0; x < width; ++x) {
      CHECK(plain[static_cast<std::size_t>(3 * x + 1)] == green[x]);
    }
  }
}

TEST_CASE("raw pixels of every layout are those at their places") {
  Random random({.seed = test_seed()}, 0);
  for (int round = 0; round < 60; ++round) {
    const int width = 1 + static_cast<int>(random.below(40));
    const int height = 1 + static_cast<int>(random.below(60));
    const int channels = std::array{1, 3, 4}[random.below(3)];
    const bool first = random.below(2) == 0;
    const auto w = static_cast<std::uint64_t>(width), h = static_cast<std::uint64_t>(height),
               c = static_cast<std::uint64_t>(channels);
    const ArrayType type{ArrayElement::uint8, first ? std::vector<std::uint64_t>{c, h, w}
                                                    : std::vector<std::uint64_t>{h, w, c}};
    std::vector<std::byte> bytes(*array_bytes(type));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next() >> 56);

    ImageHeader header;
    REQUIRE_FALSE(read_raw_header(header, type, first, bytes));
    CHECK(header.width == w);
    CHECK(header.height == h);
    header.keep_alpha = true;
    Window window;
    window.x = static_cast<int>(random.below(w));
    window.y = static_cast<int>(random.below(h));
    window.width = 1 + static_cast<int>(random.below(w - static_cast<std::uint64_t>(window.x)));
    window.height = 1 + static_cast<int>(random.below(h - static_cast<std::uint64_t>(window.y)));
    Keep kept(window);
    DecodeScratch scratch;
    REQUIRE_FALSE(decode(kept, bytes, header, window, scratch));

    for (int y = 0; y < window.height; ++y) {
      for (int x = 0; x < window.width; ++x) {
        const auto element = [&](int channel) {
          const int at_y = y + window.y, at_x = x + window.x;
          const int at = first ? (channel * height + at_y) * width + at_x
                               : (at_y * width + at_x) * channels + channel;
          return std::to_integer<int>(bytes[static_cast<std::size_t>(at)]);
        };
        for (int channel = 0; channel < 3; ++channel) {
          REQUIRE(kept.at(x, y, channel) == element(channels == 1 ? 0 : channel));
        }
        REQUIRE(kept.alpha(x, y) == (channels == 4 ? element(3) : 255));
      }
    }
  }
}

TEST_CASE("16-bit grays keep both bytes, and are no RGB") {
  const ArrayType type{ArrayElement::uint16, {1, 2}};
  const std::vector<std::byte> bytes = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  ImageHeader header;
  REQUIRE_FALSE(read_raw_header(header, type, false, bytes));
  CHECK(header.gray16);
  const Window all{.width = 2, .height = 1};
  DecodeScratch scratch;
  Keep kept(all);
  CHECK(decode(kept, bytes, header, all, scratch)->code == ErrorCode::image_kind);
  header.keep16 = true;
  REQUIRE_FALSE(decode(kept, bytes, header, all, scratch));
  CHECK(kept.at(0, 0, 0) == 1);
  CHECK(kept.at(0, 0, 1) == 2);
  CHECK(kept.at(1, 0, 0) == 3);
  CHECK(kept.at(1, 0, 1) == 4);
}

TEST_CASE("arrays that are no pictures are refused with their type") {
  ImageHeader header;
  const std::vector<std::byte> bytes(24);
  const auto refused = [&](ArrayElement element, std::vector<std::uint64_t> shape) {
    const auto fault = read_raw_header(header, {element, std::move(shape)}, false, bytes);
    return fault && fault->code == ErrorCode::image_kind;
  };
  CHECK(refused(ArrayElement::float32, {2, 3}));
  CHECK(refused(ArrayElement::uint8, {24}));
  CHECK(refused(ArrayElement::uint8, {2, 6, 2}));
  CHECK(refused(ArrayElement::uint16, {2, 2, 3}));
  CHECK(refused(ArrayElement::uint8, {1, 1, 1, 24}));
  const auto fault = read_raw_header(header, {ArrayElement::uint8, {5, 5}}, false, bytes);
  REQUIRE(fault);
  CHECK(fault->code == ErrorCode::image_cut_off);
}

TEST_CASE("a head and its elements are a .npy file") {
  for (const ArrayType& type :
       {ArrayType{ArrayElement::uint8, {4, 5, 3}}, ArrayType{ArrayElement::float64, {7}},
        ArrayType{ArrayElement::int32, {}}, ArrayType{ArrayElement::float16, {1, 2, 3, 4, 5}}}) {
    const std::string head = npy_head(type);
    CHECK(head.size() % 64 == 0);
    std::vector<std::byte> file(head.size() + *array_bytes(type));
    std::memcpy(file.data(), head.data(), head.size());
    CHECK_FALSE(check_npy(file));
    file.pop_back();
    CHECK(check_npy(file));
  }
}

}  // namespace
}  // namespace tundish
