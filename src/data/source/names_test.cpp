#include "data/source/names.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace tundish {
namespace {

// Reference implementation: converts whole strings to code points, then compares vectors.
std::vector<std::uint32_t> code_points(const std::string& text) {
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t k) -> std::uint32_t {
      return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0;
    };
    const auto follows = [&](std::size_t k) { return (byte(k) & 0xc0) == 0x80; };
    const std::uint32_t two = (byte(0) & 0x1f) << 6 | (byte(1) & 0x3f);
    const std::uint32_t three = (byte(0) & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
    const std::uint32_t four =
        (byte(0) & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
    if (byte(0) < 0x80) {
      out.push_back(byte(0));
      i += 1;
    } else if ((byte(0) & 0xe0) == 0xc0 && follows(1) && two >= 0x80) {
      out.push_back(two);
      i += 2;
    } else if ((byte(0) & 0xf0) == 0xe0 && follows(1) && follows(2) && three >= 0x800 &&
               (three < 0xd800 || three > 0xdfff)) {
      out.push_back(three);
      i += 3;
    } else if ((byte(0) & 0xf8) == 0xf0 && follows(1) && follows(2) && follows(3) &&
               four >= 0x10000 && four <= 0x10ffff) {
      out.push_back(four);
      i += 4;
    } else {
      out.push_back(0xdc00 + byte(0));
      i += 1;
    }
  }
  return out;
}

}  // namespace

TEST_CASE("names sort as Python sorts them, whatever bytes they hold") {
  CHECK(name_before("a-b", "a/b"));
  CHECK(name_before("B", "a"));
  CHECK(name_before("a", "ab"));
  CHECK_FALSE(name_before("a", "a"));
  CHECK(name_before("\xc3\xa4", "\xff"));              // U+00E4 before U+DCFF
  CHECK(name_before("\xc3\xa4", "\xc3"));              // although it is longer
  CHECK(name_before("\xff", "\xee\x80\x80"));          // U+DCFF before U+E000
  CHECK(name_before("\xed\x9f\xbf", "\xed\xa0\x80"));  // U+D7FF before an escaped surrogate

  const std::vector<std::string> pieces = {"a",    "b",    "/",        "\x7f",         "\x80",
                                           "\xbf", "\xc2", "\xc3\xa4", "\xe0\xa0\x80", "\xe2\x82",
                                           "\xed", "\xa0", "\xee",     "\xf0\x90",     "\xf4\x90",
                                           "\xff"};
  Random random({.seed = 1}, 0);
  for (int round = 0; round < 20'000; ++round) {
    std::string a, b;
    for (std::uint64_t n = random.below(5); n > 0; --n) a += pieces[random.below(pieces.size())];
    if (random.below(2) != 0) b = a;
    for (std::uint64_t n = random.below(4); n > 0; --n) a += pieces[random.below(pieces.size())];
    for (std::uint64_t n = random.below(4); n > 0; --n) b += pieces[random.below(pieces.size())];
    REQUIRE(name_before(a, b) == (code_points(a) < code_points(b)));
  }
}

TEST_CASE("image endings are recognized in any case") {
  for (const char* name : {"a.jpg", "a.JPEG", "a.PnG", "a.ppm", "a.bmp", "a.pgm", "a.tif", "a.TIFF",
                           "a.webp", "a.npy", ".jpg", "a.b.jpg"}) {
    CHECK(has_image_ending(name));
  }
  for (const char* name : {"", "a", "jpg", "a.txt", "a.jpg.part", "a.jpgx", "a.gif"}) {
    CHECK_FALSE(has_image_ending(name));
  }
}

TEST_CASE("paths are cleaned as text, without the file system") {
  CHECK(clean_path("a/b.jpg") == "a/b.jpg");
  CHECK(clean_path("./a//./b.jpg") == "a/b.jpg");
  CHECK(clean_path("a/../b.jpg") == "b.jpg");
  CHECK(clean_path("../a/../../b") == "../../b");
  CHECK(clean_path("/../a/") == "/a");
  CHECK(clean_path("/") == "/");
  CHECK(clean_path(".") == "");
  CHECK(clean_path("...") == "...");
}

TEST_CASE("names of samples are relative and clean") {
  for (const char* good : {"a", "a/b.jpg", "...", "a..b/..c", "\xff"}) CHECK(is_clean_key(good));
  for (const char* bad : {"", ".", "..", "/a", "../a", "a/../b", "a//b", "a/", "./a"}) {
    CHECK_FALSE(is_clean_key(bad));
  }
  CHECK_FALSE(is_clean_key(std::string_view("a\0b", 3)));
  CHECK(is_clean_key(std::string(kMaxKeyBytes, 'a')));
  CHECK_FALSE(is_clean_key(std::string(kMaxKeyBytes + 1, 'a')));
}

TEST_CASE("a path of a million parts is cleaned in one pass") {  // copying all parts would be slow
  std::string path;
  for (int i = 0; i < 1'000'000; ++i) path += "a/";
  CHECK(clean_path(path) == path.substr(0, path.size() - 1));
  CHECK(clean_path('/' + path) == '/' + path.substr(0, path.size() - 1));
}

TEST_CASE("valid UTF-8 is distinguished from other bytes") {
  CHECK(is_utf8(""));
  CHECK(is_utf8("a\xc3\xa4\xf0\x9f\x98\x80"));
  CHECK_FALSE(is_utf8("a\xc3"));
  CHECK_FALSE(is_utf8("\xed\xb2\x80"));
}

}  // namespace tundish
