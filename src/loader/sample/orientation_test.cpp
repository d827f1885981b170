#include "loader/sample/orientation.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>

namespace tundish {
namespace {

// Returns a .npy image of two rows: a b c / d e f, each pixel one gray level.
std::vector<std::byte> letters() {
  std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }";
  header.resize(117, ' ');
  header += '\n';
  std::string file = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' +
                     header + "abcdef";
  std::vector<std::byte> bytes(file.size());
  std::memcpy(bytes.data(), file.data(), file.size());
  return bytes;
}

std::string upright(std::uint8_t orientation) {
  const std::vector<std::byte> bytes = letters();
  ImageHeader header;
  REQUIRE_FALSE(read_header(header, bytes));
  DecodeScratch scratch;
  std::vector<std::uint8_t> rgb;
  REQUIRE_FALSE(decode_upright(rgb, bytes, header, orientation, scratch, {}));
  std::string text;
  for (std::size_t i = 0; i < rgb.size(); i += 3) text += static_cast<char>(rgb[i]);
  return text;
}

}  // namespace

TEST_CASE("the eight EXIF orientations, row by row") {
  CHECK(upright(1) == "abcdef");
  CHECK(upright(2) == "cbafed");
  CHECK(upright(3) == "fedcba");
  CHECK(upright(4) == "defabc");
  CHECK(upright(5) == "adbecf");
  CHECK(upright(6) == "daebfc");
  CHECK(upright(7) == "fcebda");
  CHECK(upright(8) == "cfbead");
}

TEST_CASE("quarter turns exchange width and height") {
  CHECK(upright_size({3, 2}, 4) == Size{3, 2});
  CHECK(upright_size({3, 2}, 6) == Size{2, 3});
}

}  // namespace tundish
