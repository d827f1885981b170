// JPEGs that do not become lanes records, and all kinds of damage.
#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

#include "base/testing.h"
#include "codec/lanes/jpeg_file.h"
#include "codec/lanes/jpeg_maker.h"

namespace tundish::lanes {
namespace {

Unfit unfit_of(const ByteVector& file, const JpegLimits& limits = {}) {
  Coefficients coefficients;
  ByteVector restore;
  return take_apart(coefficients, restore, file, limits);
}

void set(ByteVector& file, std::size_t at, int value) {
  file.at(at) = std::byte{static_cast<std::uint8_t>(value)};
}

ByteVector first(const ByteVector& bytes, std::size_t count) {
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count)};
}

constexpr JpegLimits kSmall{.max_pixels = 1 << 20, .max_scans = 50, .max_bytes = 1 << 20};

// Checks the guarantees of jpeg_file.h for coefficients that take_apart() accepted.
void check_promised(const Coefficients& coefficients) {
  const Geometry& geometry = coefficients.geometry;
  const auto pixels =
      static_cast<std::uint64_t>(geometry.width) * static_cast<std::uint64_t>(geometry.height);
  REQUIRE(pixels > 0);
  REQUIRE(pixels <= kSmall.max_pixels);
  for (int c = 0; c < geometry.components; ++c) {
    const Component& component = geometry.component[c];
    REQUIRE(std::ssize(coefficients.blocks[c]) == component.blocks_x * component.blocks_y);
    for (const Block& block : coefficients.blocks[c]) {
      const auto [least, most] = std::minmax_element(block.begin(), block.end());
      REQUIRE(*least >= -kMaxAc);
      REQUIRE(*most <= kMaxAc);
    }
  }
}

struct Outcomes {
  int refused = 0, unsettled = 0, given_back = 0;
};

// For any bytes, take_apart() returns a reason, or coefficients that satisfy the guarantees and
// reproduce the file once settled.
void try_bytes(const ByteVector& file, Outcomes& seen) {
  Coefficients coefficients;
  ByteVector restore, again, scratch;
  const Unfit unfit = take_apart(coefficients, restore, file, kSmall);
  REQUIRE(unfit < Unfit::not_restorable);  // callers set the later reasons
  if (unfit != Unfit::none) {
    ++seen.refused;
    return;
  }
  check_promised(coefficients);
  if (!settle(restore, coefficients, file, scratch)) {
    ++seen.unsettled;
    return;
  }
  REQUIRE_FALSE(put_together(again, coefficients, restore, kSmall));
  REQUIRE(again == file);
  ++seen.given_back;
}

// Any restore data and coefficients yield bytes within the limit, or a fault with its reason and
// position. Returns true for bytes.
bool gives_bytes(const Coefficients& coefficients, const ByteVector& restore) {
  ByteVector file;
  const auto fault = put_together(file, coefficients, restore, kSmall);
  if (!fault) {
    REQUIRE(file.size() <= kSmall.max_bytes);
    return true;
  }
  REQUIRE(fault->code == ErrorCode::image_damaged);
  REQUIRE_FALSE(fault->reason.empty());
  REQUIRE(fault->offset <= restore.size());
  return false;
}

void flip_bit(ByteVector& bytes, Random& random) {
  bytes[random.below(bytes.size())] ^= std::byte{static_cast<std::uint8_t>(1u << random.below(8))};
}

}  // namespace

TEST_CASE("a JPEG of another kind is refused with the reason") {
  using Space = JpegKind::Space;
  CHECK(unfit_of(make_jpeg({.space = Space::cmyk})) == Unfit::cmyk);
  CHECK(unfit_of(make_jpeg({.space = Space::two})) == Unfit::sampling);
  CHECK(unfit_of(make_jpeg({.arithmetic = true})) == Unfit::arithmetic);
  CHECK(unfit_of(make_jpeg({.arithmetic = true, .progressive = true})) == Unfit::arithmetic);
  CHECK(unfit_of(make_jpeg({.h = {1, 2, 2}, .v = {1, 1, 1}})) == Unfit::sampling);
  CHECK(unfit_of(make_jpeg({.h = {2, 1, 2}, .v = {1, 1, 1}})) == Unfit::sampling);
  CHECK(unfit_of(make_jpeg({.h = {4, 1, 1}, .v = {2, 1, 1}})) == Unfit::sampling);
  CHECK(unfit_of(make_jpeg({.h = {3, 1, 1}, .v = {1, 1, 1}})) == Unfit::sampling);

  const ByteVector plain = make_jpeg({});
  const std::size_t frame = find_marker(plain, 0xc0);
  ByteVector file = plain;
  set(file, frame + 4, 12);
  CHECK(unfit_of(file) == Unfit::precision);
  for (const int marker : {0xc3, 0xc5, 0xc6, 0xc7, 0xcb, 0xcd, 0xce, 0xcf}) {
    file = plain;
    set(file, frame + 1, marker);
    CHECK(unfit_of(file) == Unfit::lossless_or_hierarchical);
  }

  CHECK(unfit_of({}) == Unfit::not_jpeg);
  CHECK(unfit_of(ByteVector(1000)) == Unfit::not_jpeg);
  CHECK(unfit_of(first(plain, 1)) == Unfit::not_jpeg);
}

TEST_CASE("limits are checked before memory is taken") {
  const ByteVector file = make_jpeg({.width = 40, .height = 30, .progressive = true});
  CHECK(unfit_of(file, {.max_pixels = 1199}) == Unfit::too_large);
  CHECK(unfit_of(file, {.max_pixels = 1200}) == Unfit::none);
  CHECK(unfit_of(file, {.max_scans = 9}) == Unfit::too_large);
  CHECK(unfit_of(file, {.max_scans = 10}) == Unfit::none);
  CHECK(unfit_of(file, {.max_bytes = file.size() - 1}) == Unfit::too_large);

  ByteVector huge = make_jpeg({});
  const std::size_t frame = find_marker(huge, 0xc0);
  for (std::size_t i = 5; i < 9; ++i) set(huge, frame + i, 0xff);
  CHECK(unfit_of(huge) == Unfit::too_large);
  CHECK(unfit_of(huge, {.max_pixels = 1ull << 40}) == Unfit::corrupt);  // more blocks than bits
}

TEST_CASE("corrupt data are refused") {
  const ByteVector plain = make_jpeg({.width = 64, .height = 64, .restart_rows = 1});
  const std::size_t frame = find_marker(plain, 0xc0);
  const std::size_t tables = find_marker(plain, 0xc4);
  const std::size_t scan = find_marker(plain, 0xda);
  const std::size_t restart = find_marker(plain, 0xd0);
  ByteVector file = plain;
  SUBCASE("cut off in the data") { file.resize(scan + 200); }
  SUBCASE("cut off in the header") { file.resize(tables + 10); }
  SUBCASE("no scan") {
    file.resize(scan);
    file.insert(file.end(), {std::byte{0xff}, std::byte{0xd9}});
  }
  SUBCASE("a wrong restart marker") { set(file, restart + 1, 0xd3); }
  SUBCASE("no restart marker") {
    file.erase(file.begin() + static_cast<std::ptrdiff_t>(restart),
               file.begin() + static_cast<std::ptrdiff_t>(restart) + 2);
  }
  SUBCASE("bytes before a marker") { file.insert(file.end() - 2, 30, std::byte{5}); }
  SUBCASE("a quantizer of zero") { set(file, find_marker(file, 0xdb) + 5, 0); }
  SUBCASE("no width") { set(file, frame + 8, 0); }
  SUBCASE("no height") { set(file, frame + 6, 0); }
  SUBCASE("two frames") {
    const ByteVector again(plain.begin() + static_cast<std::ptrdiff_t>(frame),
                           plain.begin() + static_cast<std::ptrdiff_t>(frame) + 19);
    file.insert(file.begin() + static_cast<std::ptrdiff_t>(frame), again.begin(), again.end());
  }
  SUBCASE("a table that is no code") {
    for (std::size_t i = 5; i < 10; ++i) set(file, tables + i, 9);
  }
  SUBCASE("a scan of unknown components") { set(file, scan + 5, 77); }
  CHECK(unfit_of(file) == Unfit::corrupt);
}

TEST_CASE("missing scans are refused") {
  for (const bool progressive : {true, false}) {
    const ByteVector whole = make_jpeg({.progressive = progressive, .interleaved = progressive});
    std::size_t scan = find_marker(whole, 0xda);
    const std::size_t second = find_marker(whole, 0xda, scan + 2);
    ByteVector file = first(whole, second);
    // The first scan is followed by the tables of the second one, if any.
    file.insert(file.end(), {std::byte{0xff}, std::byte{0xd9}});
    CHECK(unfit_of(file) == Unfit::incomplete);
  }
}

TEST_CASE("coefficients that a record cannot hold are refused") {
  // Uses our own writer for a file whose tables have codes for large values.
  Coefficients coefficients;
  ByteVector restore;
  const ByteVector gray = make_jpeg({.width = 8,
                                     .height = 8,
                                     .space = JpegKind::Space::gray,
                                     .picture = JpegKind::Picture::flat});
  REQUIRE(take_apart(coefficients, restore, gray) == Unfit::none);
  const std::size_t ac = find_marker(restore, 0xc4, find_marker(restore, 0xc4) + 2);
  Block& block = coefficients.blocks[0][0];
  const auto judge = [&](std::int16_t value, int size) {
    set(restore, ac + 21, size);  // the first symbol of the table
    block[1] = value;
    ByteVector file;
    REQUIRE_FALSE(put_together(file, coefficients, restore));
    return unfit_of(file);
  };
  CHECK(judge(2047, 11) == Unfit::none);
  CHECK(judge(-2047, 11) == Unfit::none);
  CHECK(judge(2048, 12) == Unfit::range);
  CHECK(judge(-2048, 12) == Unfit::range);
}

TEST_CASE("a coefficient without a code is a fault") {
  Coefficients coefficients;
  ByteVector restore, file;
  for (const bool progressive : {false, true}) {
    REQUIRE(take_apart(
                coefficients, restore,
                make_jpeg({.optimized = true, .progressive = progressive, .interleaved = true})) ==
            Unfit::none);
    for (const int value : {-32768, -20000, 20000, 32767}) {
      for (const std::size_t place : {0u, 1u, 63u}) {
        Coefficients other = coefficients;
        other.blocks[0][1][place] = static_cast<std::int16_t>(value);
        const auto fault = put_together(file, other, restore);
        REQUIRE(fault);
        CHECK(fault->code == ErrorCode::image_damaged);
      }
    }
  }
}

TEST_CASE("restore data of another image are a fault") {
  Coefficients coefficients, other;
  ByteVector restore, other_restore, file;
  REQUIRE(take_apart(coefficients, restore, make_jpeg({})) == Unfit::none);
  REQUIRE(take_apart(other, other_restore, make_jpeg({.width = 41})) == Unfit::none);
  CHECK(put_together(file, coefficients, other_restore));
  REQUIRE(take_apart(other, other_restore, make_jpeg({.h = {1, 1, 1}})) == Unfit::none);
  CHECK(put_together(file, coefficients, other_restore));
  CHECK(put_together(file, coefficients, {}));
  other = coefficients;
  other.blocks[1].pop_back();
  CHECK(put_together(file, other, restore));
}

TEST_CASE("a file grows no longer than it may") {
  Coefficients coefficients;
  ByteVector restore, file;
  const ByteVector whole = make_jpeg({.width = 200, .height = 100});
  REQUIRE(take_apart(coefficients, restore, whole) == Unfit::none);
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += 97) {
    CHECK(put_together(file, coefficients, restore, {.max_bytes = bytes}));
    CHECK(file.capacity() < 2 * whole.size() + 10'000);
  }
  CHECK_FALSE(put_together(file, coefficients, restore, {.max_bytes = whole.size()}));
  CHECK(put_together(file, coefficients, restore, {.max_scans = 0}));
}

TEST_CASE("cut and flipped files give bytes or a reason") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  Outcomes seen;
  int tried = 0;
  for (int i = 0; i < 12; ++i) {
    const ByteVector whole = make_jpeg(random_kind(random, 30));
    for (std::size_t size = 0; size < whole.size(); size += 1 + random.below(9)) {
      try_bytes(first(whole, size), seen);
      ++tried;
    }
    for (int n = 0; n < 300; ++n) {
      ByteVector file = whole;
      for (std::uint64_t flips = 1 + random.below(3); flips > 0; --flips) flip_bit(file, random);
      try_bytes(file, seen);
      ++tried;
    }
  }
  CHECK(seen.refused + seen.unsettled + seen.given_back == tried);
  CHECK(seen.refused > tried / 4);  // truncated files, except a few that lack only their end marker
  CHECK(seen.given_back > 0);       // a flipped bit may be in a coefficient
}

TEST_CASE("cut and flipped restore data and wild coefficients give bytes or a fault") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  int bytes = 0, tried = 0;
  for (int i = 0; i < 20; ++i) {
    Coefficients coefficients;
    ByteVector whole;
    REQUIRE(take_apart(coefficients, whole, make_jpeg(random_kind(random, 30))) == Unfit::none);
    REQUIRE(gives_bytes(coefficients, whole));
    for (std::size_t size = 0; size < whole.size(); size += 1 + random.below(9), ++tried) {
      bytes += gives_bytes(coefficients, first(whole, size));
    }
    for (int n = 0; n < 500; ++n, ++tried) {
      ByteVector restore = whole;
      for (std::uint64_t flips = 1 + random.below(3); flips > 0; --flips) flip_bit(restore, random);
      bytes += gives_bytes(coefficients, restore);
    }
    for (Blocks& blocks : coefficients.blocks) {
      for (Block& block : blocks) {
        block[random.below(64)] = static_cast<std::int16_t>(random.next());
      }
      bytes += gives_bytes(coefficients, whole);
      ++tried;
    }
  }
  CHECK(bytes > 0);
  CHECK(bytes < tried);
}

TEST_CASE("every reason has its own name") {
  std::set<std::string> names;
  for (int i = 0; i < kUnfits; ++i) names.insert(unfit_name(static_cast<Unfit>(i)));
  CHECK(names.size() == kUnfits);
}

}  // namespace tundish::lanes
