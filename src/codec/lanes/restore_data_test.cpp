// Tests of stored restore data: docs/internals/lanes.md.
#include <doctest/doctest.h>

#include <algorithm>

#include "base/testing.h"
#include "codec/lanes/jpeg_maker.h"
#include "codec/lanes/transcode.h"

namespace tundish::lanes {
namespace {

std::array<Quantization, 3> counted_up() {
  std::array<Quantization, 3> out = {};
  std::uint16_t next = 1;
  for (Quantization& table : out) {
    for (std::uint16_t& step : table) step = next++;
  }
  return out;
}

ByteVector bytes(std::initializer_list<int> values) {
  ByteVector out;
  for (const int value : values) out.push_back(std::byte{static_cast<std::uint8_t>(value)});
  return out;
}

// A frame that expands to the whole dictionary once.
const ByteVector kAllOfIt = bytes(
    {0x60, 0x8d, 0x01, 0x4d, 0x00, 0x00, 0x08, 0x00, 0x01, 0x00, 0x89, 0x20, 0x55, 0x42, 0x08});
constexpr std::size_t kDictionaryBytes = 653;

ByteVector dictionary() {
  ByteVector out;
  REQUIRE_FALSE(expand_restore(out, kAllOfIt, counted_up().data(), 3));
  REQUIRE(out.size() == kDictionaryBytes);
  return out;
}

}  // namespace

TEST_CASE("the dictionary of restore data never changes: packs depend on it") {
  const ByteVector known = dictionary();
  std::vector<std::uint8_t> levels;
  for (const std::byte byte : known) levels.push_back(std::to_integer<std::uint8_t>(byte));
  CHECK(digest(levels) == 0x98c6ee503f78168fu);
}

TEST_CASE("the dictionary holds the Huffman tables of libjpeg") {
  const ByteVector known = dictionary(), file = make_jpeg({});
  const std::size_t tables = find_marker(file, 0xc4), scan = find_marker(file, 0xda);
  REQUIRE(scan - tables == 432);
  const auto begin = file.begin() + static_cast<std::ptrdiff_t>(tables);
  const auto end = file.begin() + static_cast<std::ptrdiff_t>(scan);
  CHECK(std::search(known.begin(), known.end(), begin, end) != known.end());
}

TEST_CASE("restore data come back, and those of a usual JPEG take a few dozen bytes") {
  Coefficients image;
  ByteVector restore, again;
  REQUIRE(take_apart(image, restore, make_jpeg({})) == Unfit::none);
  const ByteVector stored =
      compress_restore(restore, image.quantization, image.geometry.components);
  CHECK(stored.size() < 80);
  REQUIRE_FALSE(expand_restore(again, stored, image.quantization, image.geometry.components));
  CHECK(again == restore);
}

TEST_CASE("restore data that are cut, or larger than they may be, are a fault") {
  const auto quantization = counted_up();
  ByteVector out;
  for (std::size_t size = 0; size < kAllOfIt.size(); ++size) {
    const auto fault = expand_restore(out, Bytes(kAllOfIt).first(size), quantization.data(), 3);
    REQUIRE(fault);
    CHECK(fault->code == ErrorCode::compression_damaged);
  }
  const JpegLimits limits{.max_bytes = kDictionaryBytes - 1};
  CHECK(expand_restore(out, kAllOfIt, quantization.data(), 3, limits));
}

}  // namespace tundish::lanes
