#include "cli/samples/font.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "augment/cpu/testing.h"

namespace tundish::cli {
namespace {

// Returns the rows of a letter, each followed by a bar.
std::string drawn(char letter) {
  std::string out;
  for (int y = 0; y < kGlyphHeight; ++y) {
    for (int x = 0; x < kGlyphWidth; ++x) out += glyph_pixel(letter, x, y) ? '#' : '.';
    out += '|';
  }
  return out;
}

}  // namespace

TEST_CASE("letters have the expected shapes") {
  CHECK(drawn('7') == "#####|....#|....#|...#.|..#..|.#...|#....|.....|");
  CHECK(drawn('S') == ".###.|#...#|#....|.###.|....#|#...#|.###.|.....|");
  CHECK(drawn('g') == ".....|.....|.###.|#..##|#..##|.##.#|....#|.###.|");
  CHECK(drawn(' ') == ".....|.....|.....|.....|.....|.....|.....|.....|");
}

TEST_CASE("letters that are not known look like a question mark") {
  CHECK(drawn('\n') == drawn('?'));
  CHECK(drawn('\x7f') == drawn('?'));
  CHECK(drawn('\xff') == drawn('?'));
}

TEST_CASE("every letter has its own shape, and no shape has changed") {
  std::set<std::string> shapes;
  std::vector<std::uint8_t> all;
  for (char letter = ' '; letter <= '~'; ++letter) {
    const std::string shape = drawn(letter);
    shapes.insert(shape);
    all.insert(all.end(), shape.begin(), shape.end());
  }
  CHECK(shapes.size() == 95);
  CHECK(digest(all) == 0xf62257c7d57f4b09u);
}

}  // namespace tundish::cli
