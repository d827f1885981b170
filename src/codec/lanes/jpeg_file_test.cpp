#include "codec/lanes/jpeg_file.h"

#include <doctest/doctest.h>

#include "base/testing.h"
#include "codec/lanes/jpeg_maker.h"
#include "codec/lanes/jpeg_nonzero.h"
#include "codec/lanes/jpeg_restore.h"

namespace tundish::lanes {
namespace {

struct Apart {
  Unfit unfit;
  Coefficients coefficients;
  ByteVector restore;
};

Apart apart(const ByteVector& file, const JpegLimits& limits = {}) {
  Apart out;
  out.unfit = take_apart(out.coefficients, out.restore, file, limits);
  return out;
}

// Returns whether a file is taken apart and reassembled byte for byte.
bool comes_back(const ByteVector& file) {
  const Apart parts = apart(file);
  ByteVector again;
  return parts.unfit == Unfit::none && !put_together(again, parts.coefficients, parts.restore) &&
         again == file;
}

// Returns a file of the same coefficients as another encoder could have written it.
template <class Change>
ByteVector written_otherwise(const ByteVector& file, Change change) {
  const Apart parts = apart(file);
  Restore restore;
  REQUIRE(parts.unfit == Unfit::none);
  REQUIRE_FALSE(read_restore(restore, parts.restore, parts.coefficients.geometry, 500));
  change(restore);
  ByteVector bytes, out;
  write_restore(bytes, restore);
  bytes.insert(bytes.end(), restore.literal.begin(), restore.literal.end());
  // The code for a run is missing: nothing has been written.
  if (put_together(out, parts.coefficients, bytes)) out.clear();
  return out;
}

// Returns whether settle() makes the file restorable.
bool settles(const ByteVector& file) {
  Apart parts = apart(file);
  ByteVector scratch, again;
  return parts.unfit == Unfit::none && settle(parts.restore, parts.coefficients, file, scratch) &&
         !put_together(again, parts.coefficients, parts.restore) && again == file;
}

void insert(ByteVector& file, std::size_t at, std::initializer_list<int> bytes) {
  ByteVector more;
  for (const int byte : bytes) more.push_back(std::byte{static_cast<std::uint8_t>(byte)});
  file.insert(file.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
}

std::byte& at(ByteVector& file, std::size_t position) { return file.at(position); }

}  // namespace

TEST_CASE("JPEGs of every kind come back byte for byte") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  for (int i = 0; i < 600; ++i) {
    const JpegKind kind = random_kind(random, i % 20 == 0 ? 300 : 40);
    CAPTURE(describe(kind));
    REQUIRE(comes_back(make_jpeg(kind)));
  }
}

TEST_CASE("the sizes from 1 x 1 to 17 x 17 come back in every sampling") {
  static constexpr int kFactors[][2] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}};
  for (int sampling = 0; sampling < 5; ++sampling) {
    for (int side = 1; side <= 17 * 17; ++side) {
      JpegKind kind{.width = (side - 1) % 17 + 1, .height = (side - 1) / 17 + 1};
      kind.h[0] = kFactors[sampling][0];
      kind.v[0] = kFactors[sampling][1];
      kind.progressive = side % 3 == 0;
      CAPTURE(describe(kind));
      REQUIRE(comes_back(make_jpeg(kind)));
    }
  }
}

TEST_CASE("coefficients, tables and color are those of the file") {
  const ByteVector gray = make_jpeg({.width = 9,
                                     .height = 8,
                                     .space = JpegKind::Space::gray,
                                     .quality = 100,
                                     .picture = JpegKind::Picture::flat});
  const Apart parts = apart(gray);
  REQUIRE(parts.unfit == Unfit::none);
  CHECK(parts.coefficients.geometry.sampling == Sampling::gray);
  CHECK(parts.coefficients.geometry.width == 9);
  CHECK(parts.coefficients.geometry.height == 8);
  Quantization ones;
  ones.fill(1);
  CHECK(parts.coefficients.quantization[0] == ones);
  const Block flat = {(90 - 128) * 8};
  CHECK(parts.coefficients.blocks[0] == Blocks{flat, flat});

  const Apart ycc = apart(make_jpeg({}));
  CHECK(ycc.coefficients.color == Color::ycc);
  CHECK(ycc.coefficients.geometry.sampling == Sampling::half_both);
  const Apart rgb =
      apart(make_jpeg({.space = JpegKind::Space::rgb, .h = {1, 1, 1}, .v = {1, 1, 1}}));
  CHECK(rgb.coefficients.color == Color::rgb);
  CHECK(rgb.coefficients.geometry.sampling == Sampling::full);
}

TEST_CASE("memory of an earlier image does not affect the next") {
  Apart parts = apart(make_jpeg({.width = 90, .height = 70}));
  const ByteVector gray = make_jpeg({.width = 20, .height = 9, .space = JpegKind::Space::gray});
  REQUIRE(take_apart(parts.coefficients, parts.restore, gray) == Unfit::none);
  ByteVector file(100'000, std::byte{7});
  CHECK_FALSE(put_together(file, parts.coefficients, parts.restore));
  CHECK(file == gray);
  CHECK(parts.coefficients.blocks[1].empty());
  ByteVector scratch;
  CHECK(restores(parts.coefficients, parts.restore, gray, scratch));
  CHECK_FALSE(restores(parts.coefficients, parts.restore, make_jpeg({}), scratch));
}

TEST_CASE("a file of libjpeg needs nothing but its markers") {
  // 1 in 16 scans ends with a 0 bit and without padding, which is detected: checks several scans.
  int plain = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const ByteVector file = make_jpeg({.width = 41, .height = 35, .seed = seed});
    const Apart parts = apart(file);
    const std::size_t scan = find_marker(file, 0xda) + 14;  // three components
    const std::size_t bare = 1 + scan + 2;
    CHECK(parts.restore.size() <= bare + 2);
    plain += parts.restore.size() == bare;
  }
  CHECK(plain > 10);
}

TEST_CASE("fill bytes, comments, trailing bytes and lone markers come back") {
  const ByteVector plain = make_jpeg({.restart_mcus = 2});
  const std::size_t tables = find_marker(plain, 0xc4);
  const std::size_t end = plain.size() - 2;
  ByteVector file = plain;
  SUBCASE("fill bytes before a table") { insert(file, tables, {0xff, 0xff}); }
  SUBCASE("fill bytes before the end marker") { insert(file, end, {0xff, 0xff, 0xff}); }
  SUBCASE("garbage after the end") { insert(file, plain.size(), {1, 2, 0xff, 0xda, 0xff}); }
  SUBCASE("a second image after the end") { file.insert(file.end(), plain.begin(), plain.end()); }
  SUBCASE("no end marker") { file.resize(end); }
  SUBCASE("half an end marker") { file.resize(end + 1); }
  SUBCASE("a comment before the end") { insert(file, end, {0xff, 0xfe, 0, 4, 'h', 'i'}); }
  SUBCASE("a restart marker before the end") { insert(file, end, {0xff, 0xd5}); }
  SUBCASE("a marker of no meaning") { insert(file, tables, {0xff, 0x01}); }
  SUBCASE("a table of 16 bits") {
    const std::size_t dqt = find_marker(file, 0xdb);
    ByteVector wide = {file.begin(), file.begin() + static_cast<std::ptrdiff_t>(dqt)};
    insert(wide, dqt, {0xff, 0xdb, 0, 2 + 1 + 128, 0x10});
    for (int i = 0; i < 64; ++i) insert(wide, wide.size(), {i, 1});
    wide.insert(wide.end(), file.begin() + static_cast<std::ptrdiff_t>(dqt) + 69, file.end());
    file = wide;
    CHECK(apart(file).coefficients.quantization[0][0] == 1);
    CHECK(apart(file).coefficients.quantization[0][63] == 63 * 256 + 1);
  }
  CHECK(comes_back(file));
}

TEST_CASE("padding by zeros or ones comes back, changing from interval to interval") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  for (int i = 0; i < 100; ++i) {
    JpegKind kind = random_kind(random, 60);
    kind.restart_mcus = i % 3;
    kind.restart_rows = 0;
    CAPTURE(describe(kind));
    CHECK(comes_back(written_otherwise(make_jpeg(kind), [&](Restore& restore) {
      restore.padding = {.usual = 0, .odd = {}};
      for (std::uint64_t interval = 0; interval < 20; ++interval) {
        if (random.below(4) < static_cast<unsigned>(i % 4)) {
          restore.padding.odd.push_back({interval, 0xff});
        }
      }
    })));
  }
}

TEST_CASE("blocks beyond the edge come back whatever they hold") {
  // A larger image declared to be smaller: some inner blocks become outer blocks.
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  for (int i = 0; i < 100; ++i) {
    JpegKind kind = random_kind(random, 40);
    if (kind.space == JpegKind::Space::gray) kind.space = JpegKind::Space::ycc;
    kind.progressive = false;
    kind.picture = JpegKind::Picture::noisy;
    kind.script = 0;
    kind.interleaved = true;
    kind.h[0] = i % 2 + 1;
    kind.v[0] = i % 3 == 0 ? 1 : 2;
    kind.h[1] = kind.h[2] = kind.v[1] = kind.v[2] = 1;
    kind.width = kind.height = 48;
    kind.quality = std::max(kind.quality, 30);  // below, tables are too coarse for baseline
    ByteVector file = make_jpeg(kind);
    const std::size_t frame = find_marker(file, 0xc0);
    at(file, frame + 6) = std::byte{static_cast<std::uint8_t>(41 - 7 * (kind.v[0] - 1))};
    at(file, frame + 8) = std::byte{static_cast<std::uint8_t>(48 - 8 * (kind.h[0] - 1))};
    CAPTURE(describe(kind));
    REQUIRE(comes_back(file));
    const bool odd = kind.h[0] > 1 || kind.v[0] > 1;
    CHECK((apart(file).restore[0] & std::byte{7}) == std::byte{static_cast<std::uint8_t>(odd)});
  }
}

TEST_CASE("padding of any bits is settled") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  for (int i = 0; i < 100; ++i) {
    const JpegKind kind = random_kind(random, 60);
    CAPTURE(describe(kind));
    CHECK(settles(written_otherwise(make_jpeg(kind), [&](Restore& restore) {
      restore.padding = {};
      for (std::uint64_t interval = 0; interval < 100; ++interval) {
        restore.padding.odd.push_back({interval, static_cast<std::uint8_t>(random.next())});
      }
    })));
  }
}

TEST_CASE("bytes between a scan and the next marker are settled") {
  int settled = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    ByteVector file = make_jpeg({.progressive = seed % 2 == 0, .seed = seed});
    insert(file, file.size() - 2, {static_cast<int>(seed % 3), 0x34});
    if (apart(file).unfit == Unfit::corrupt) continue;  // the library has noticed the bytes
    CHECK_FALSE(comes_back(file));
    CHECK(settles(file));
    ++settled;
  }
  CHECK(settled > 5);
}

TEST_CASE("runs that end where libjpeg would go on are settled") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  int settled = 0;
  for (int i = 0; i < 200; ++i) {
    JpegKind kind = random_kind(random, 200);
    kind.progressive = kind.interleaved = true;
    kind.quality = 20;
    kind.h[0] = kind.v[0] = kind.h[1] = kind.h[2] = kind.v[1] = kind.v[2] = 1;
    CAPTURE(describe(kind));
    const ByteVector plain = make_jpeg(kind);
    const ByteVector file = written_otherwise(plain, [&](Restore& restore) {
      for (std::uint32_t scan = 0; scan < 50; ++scan) {
        if (random.below(2) == 0) continue;
        OddRuns& runs = restore.odd_runs.emplace_back();
        runs.scan = scan;
        std::uint32_t block = 0;
        for (int n = 0; n < 20; ++n) {
          block += static_cast<std::uint32_t>(random.below(40));
          runs.ends.push_back(block++);
        }
      }
    });
    if (file.empty() || file == plain) continue;
    REQUIRE(settles(file));
    ++settled;
  }
  CHECK(settled > 20);
}

TEST_CASE("runs with many correction bits end as libjpeg's do, or are settled") {
  using Picture = JpegKind::Picture;
  const ByteVector plain = make_jpeg({.width = 160,
                                      .height = 160,
                                      .space = JpegKind::Space::gray,
                                      .progressive = true,
                                      .picture = Picture::stripes});
  CHECK(comes_back(plain));
  const ByteVector longer = written_otherwise(plain, [](Restore& restore) {
    for (std::uint32_t scan = 0; scan < 10; ++scan) restore.odd_runs.push_back({scan, {}});
  });
  REQUIRE_FALSE(longer.empty());
  CHECK(longer != plain);
  CHECK_FALSE(comes_back(longer));
  CHECK(settles(longer));
}

TEST_CASE("differences that cannot be settled are refused") {
  ByteVector file = make_jpeg({.restart_mcus = 1});
  insert(file, find_marker(file, 0xd0), {0xff});  // fill bytes inside a scan
  CHECK(apart(file).unfit == Unfit::none);
  CHECK_FALSE(settles(file));
}

TEST_CASE("the fast mask of a block equals the slow one") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  for (int i = 0; i < 2'000; ++i) {
    Block block = {};
    for (std::uint64_t n = random.below(65); n > 0; --n) {
      block[random.below(64)] = static_cast<std::int16_t>(random.below(2) ? 256 : random.next());
    }
    REQUIRE(nonzero_mask(block) == nonzero_mask_reference(block));
  }
}

}  // namespace tundish::lanes
