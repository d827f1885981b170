#include "codec/decode/orientation/exif.h"

#include <doctest/doctest.h>

#include <string>

#include "base/random.h"
#include "codec/decode/test_images.h"

namespace tundish {
namespace {

using namespace std::string_literals;

// One directory with one entry: orientation, SHORT, 1, 6.
const std::string kBig = "MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0"s;
const std::string kLittle = "II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0"s;

int orientation(const std::string& tiff) { return exif_orientation(bytes_of(tiff)).value_or(1); }

std::string with(std::string text, std::size_t at, char value) {
  text[at] = value;
  return text;
}

}  // namespace

TEST_CASE("orientation is read in both byte orders") {
  CHECK(orientation(kBig) == 6);
  CHECK(orientation(kLittle) == 6);
}

TEST_CASE("damaged EXIF data mean orientation 1") {
  CHECK(orientation("") == 1);
  CHECK(orientation(with(kLittle, 0, 'X')) == 1);      // no byte order
  CHECK(orientation(with(kLittle, 2, '+')) == 1);      // no TIFF
  CHECK(orientation(with(kLittle, 4, '\x7f')) == 1);   // directory outside
  CHECK(orientation(with(kLittle, 7, '\xff')) == 1);   // directory far outside
  CHECK(orientation(with(kLittle, 12, '\x02')) == 1);  // type is text
  CHECK(orientation(with(kLittle, 14, '\x03')) == 1);  // three values, outside
  CHECK(orientation(with(kLittle, 18, '\x09')) == 1);  // no such orientation
  CHECK(orientation(with(kLittle, 18, '\0')) == 1);
  for (std::size_t size = 0; size < kLittle.size(); ++size) {
    CHECK(orientation(kLittle.substr(0, size)) == 1);
  }
}

// Expected values are the output of Pillow 12.3's getexif().
TEST_CASE("only numbers of an entry count, and the last of several entries") {
  CHECK(orientation(with(kLittle, 14, '\x02')) == 6);  // the first of two values
  for (const char type : {'\x03', '\x04', '\x06', '\x08', '\x09', '\x0d'}) {
    CHECK(orientation(with(kLittle, 12, type)) == 6);
  }
  CHECK(orientation(with(kLittle, 12, '\x01')) == 1);  // bytes
  const std::string entry = kLittle.substr(10);
  const std::string second = with(entry, 8, '\x03');
  CHECK(orientation(with(kLittle + second, 8, '\x02')) == 3);
  const std::string outside = with(with(second, 2, '\x05'), 9, '\x7f');  // a rational number
  CHECK(orientation(with(kLittle + outside, 8, '\x02')) == 6);
  CHECK(orientation(with(kLittle + with(second, 2, '\x0e'), 8, '\x02')) == 6);  // no such type
}

TEST_CASE("a tag without a value that makes sense is not a missing tag") {
  CHECK(exif_orientation(bytes_of(with(kLittle, 18, '\x09'))).has_value());
  CHECK_FALSE(exif_orientation(bytes_of(with(kLittle, 10, '\x13'))).has_value());
  CHECK_FALSE(exif_orientation(bytes_of("")).has_value());
}

TEST_CASE("the orientation of an XMP packet is an attribute or an element") {
  const auto value = [](const std::string& text) { return xmp_orientation(bytes_of(text)); };
  CHECK(value("<rdf:Description tiff:Orientation=\"6\"/>") == 6);
  CHECK(value("<tiff:Orientation>8</tiff:Orientation>") == 8);
  CHECK(value("tiff:Orientation tiff:Orientation=\"3\" tiff:Orientation=\"6\"") == 3);
  CHECK(value("tiff:Orientation=\"9\"") == 1);
  for (const char* text : {"", "tiff:Orientation", "tiff:Orientation=\"", "tiff:Orientation>x"}) {
    CHECK_FALSE(value(text).has_value());
  }
}

TEST_CASE("any bytes give an orientation from 1 to 8") {
  Random random({.seed = 3}, 0);
  for (int i = 0; i < 20000; ++i) {
    std::string tiff = random.below(2) != 0 ? kBig : kLittle;
    for (std::uint64_t n = random.below(4); n > 0; --n) {
      tiff[random.below(tiff.size())] = static_cast<char>(random.below(256));
    }
    const int value = orientation(tiff);
    CHECK((value >= 1 && value <= 8));
  }
}

}  // namespace tundish
