#include "codec/lanes/decode_unit.h"

#include <doctest/doctest.h>

#include <memory>

#include "codec/lanes/encode.h"
#include "codec/lanes/testing.h"
#include "codec/lanes/train.h"

namespace tundish::lanes {
namespace {

constexpr Sampling kAll[] = {Sampling::gray,      Sampling::full,      Sampling::half_wide,
                             Sampling::half_both, Sampling::half_high, Sampling::quarter_wide};

Coefficients some_coefficients(Random& random, Sampling sampling) {
  const int width = 1 + static_cast<int>(random.below(200));
  const int height = 1 + static_cast<int>(random.below(140));
  Coefficients image = random_coefficients(random, width, height, sampling, random.below(4) == 0);
  for (auto& blocks : image.blocks) {
    for (Block& block : blocks) block[0] = static_cast<std::int16_t>(block[0] % 2048);
  }
  return image;
}

// Returns tables fitted to other images than the coded ones, so that all kinds of escapes occur.
std::unique_ptr<Tables> some_tables(Random& random) {
  std::vector<ImageSample> samples(random.below(4));
  static UnitSymbols scratch;
  for (ImageSample& sample : samples) {
    take_sample(sample, some_coefficients(random, kAll[random.below(6)]), 100, scratch);
  }
  auto tables = std::make_unique<Tables>();
  fit_tables(*tables, samples);
  return tables;
}

void check_same(const UnitValues& a, const UnitValues& b) {
  REQUIRE(a.blocks == b.blocks);
  REQUIRE(a.values == b.values);
  REQUIRE(a.escapes == b.escapes);
  REQUIRE(std::equal(a.mask, a.mask + a.blocks, b.mask));
  REQUIRE(std::equal(a.dc, a.dc + a.blocks, b.dc));
  REQUIRE(std::equal(a.start, a.start + a.blocks + 1, b.start));
  for (int i = 0, escape = 0; i < a.values; ++i) {
    if (a.escape[escape].position == i) {
      REQUIRE(b.escape[escape].position == i);
      REQUIRE(a.escape[escape].value == b.escape[escape].value);
      ++escape;
    } else {
      REQUIRE(a.value[i] == b.value[i]);
    }
  }
  REQUIRE(a.escape[a.escapes].position == 65535);
  REQUIRE(b.escape[b.escapes].position == 65535);
}

struct Coded {
  std::vector<std::byte> bytes;
  std::size_t size = 0;
  UnitShape shape = {};
  int set = 0;
  CodedUnit unit() const { return {Bytes(bytes).first(size), shape, set}; }
};

Coded code(const UnitSymbols& symbols, const Tables& tables, int set) {
  Coded out;
  out.set = set;
  static UnitEncoder encoder;
  encoder.encode(out.bytes, symbols, tables, set);
  out.size = out.bytes.size();
  out.shape = symbols.shape;
  out.bytes.resize(out.size + kReadableBehind, std::byte{0xa5});
  return out;
}

// Checks that all decoders supported by this machine agree on these two units.
void check_all(const Coded& a, const Coded& b, const Tables& tables) {
  static UnitValues slow[2], fast[2];
  static UnitWork works[2];
  const CodedUnit units[2] = {a.unit(), b.unit()};
  unsigned good = 0;
  for (int u = 0; u < 2; ++u) {
    good |= static_cast<unsigned>(decode_unit_reference(slow[u], units[u], tables)) << u;
  }
  for (const Cpu level : {Cpu::scalar, Cpu::sse, Cpu::avx2, Cpu::avx512}) {
    if (level > best_cpu()) continue;
    CAPTURE(cpu_name(level));
    const DecodeUnits decode = decode_units_of(level);
    UnitValues* const out[2] = {&fast[0], &fast[1]};
    REQUIRE(decode(out, units, 2, tables, works) == good);
    for (unsigned u = 0; u < 2; ++u) {
      if (good >> u & 1) check_same(slow[u], fast[u]);
    }
    REQUIRE(decode(out, units, 1, tables, works) == (good & 1));
    if (good & 1) check_same(slow[0], fast[0]);
  }
}

}  // namespace

TEST_CASE("a unit decodes to the coefficients it was made from") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  static UnitSymbols symbols;
  static UnitValues made, read;
  for (int round = 0; round < 12 / one_in(2); ++round) {
    const auto tables = some_tables(random);
    const Coefficients image = some_coefficients(random, kAll[round % 6]);
    for (int u = 0; u < image.geometry.units(); ++u) {
      const int x = u % image.geometry.units_x, y = u / image.geometry.units_x;
      REQUIRE(find_symbols(symbols, image, x, y));
      const Coded coded = code(symbols, *tables, static_cast<int>(random.below(kSets)));
      REQUIRE(decode_unit_reference(read, coded.unit(), *tables));
      make_unit(made, image, x, y);
      // -128 fits into a byte but is still an escape.
      REQUIRE(read.values == made.values);
      REQUIRE(std::equal(made.mask, made.mask + made.blocks, read.mask));
      REQUIRE(std::equal(made.dc, made.dc + made.blocks, read.dc));
      for (int i = 0, e = 0, f = 0; i < read.values; ++i) {
        int a = made.value[i], b = read.value[i];
        if (made.escape[e].position == i) a = made.escape[e++].value;
        if (read.escape[f].position == i) b = read.escape[f++].value;
        REQUIRE(a == b);
      }
    }
  }
}

TEST_CASE("every instruction set decodes a unit as its slow twin does") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  static UnitSymbols symbols;
  for (int round = 0; round < 24 / one_in(4); ++round) {
    const auto tables = some_tables(random);
    Coded last;
    const Coefficients image = some_coefficients(random, kAll[round % 6]);
    for (int u = 0; u < image.geometry.units(); ++u) {
      REQUIRE(find_symbols(symbols, image, u % image.geometry.units_x, u / image.geometry.units_x));
      Coded coded = code(symbols, *tables, static_cast<int>(random.below(kSets)));
      if (last.size > 0) check_all(coded, last, *tables);
      last = std::move(coded);
    }
  }
}

TEST_CASE("damaged units are refused or decoded equally by every instruction set") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  static UnitSymbols symbols;
  const auto tables = some_tables(random);
  for (int round = 0; round < 6; ++round) {
    const Coefficients image = some_coefficients(random, kAll[round % 6]);
    REQUIRE(find_symbols(symbols, image, 0, 0));
    const Coded whole = code(symbols, *tables, static_cast<int>(random.below(kSets)));
    for (int i = 0; i < 150; ++i) {
      Coded damaged = whole;
      const auto at = static_cast<std::size_t>(random.below(whole.size));
      switch (random.below(4)) {
        case 0:
          damaged.bytes[at] ^= std::byte{1} << random.below(8);
          break;
        case 1:  // cut off, at an even or odd length
          damaged.size = at;
          break;
        case 2:  // random word count
          store(damaged.bytes.data(), static_cast<std::uint16_t>(random.below(2 * whole.size)));
          if (random.below(3) == 0)
            store(damaged.bytes.data(), static_cast<std::uint16_t>(kNarrow));
          break;
        default:  // noise from a random position on
          for (std::size_t k = at; k < damaged.size; ++k) {
            damaged.bytes[k] = static_cast<std::byte>(random.below(256));
          }
          for (int lane = 0; lane < kLanes && at < kUnitHeadBytes; ++lane) {
            damaged.bytes[static_cast<std::size_t>(5 + 4 * lane)] &= std::byte{0x7f};
          }
      }
      check_all(damaged, i % 2 == 0 ? whole : damaged, *tables);
    }
  }
}

TEST_CASE("tables come back from their bytes, and damaged ones are refused") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  const auto tables = some_tables(random);
  const std::vector<std::byte> bytes = encode_tables(*tables);
  auto read = std::make_unique<Tables>();
  REQUIRE(!decode_tables(*read, bytes));
  CHECK(encode_tables(*read) == bytes);
  CHECK(std::memcmp(read->entry, tables->entry, sizeof read->entry) == 0);
  CHECK(decode_tables(*read, Bytes(bytes).first(bytes.size() - 1)));
  std::vector<std::byte> damaged = bytes;
  damaged[0] ^= std::byte{1};
  CHECK(decode_tables(*read, damaged));
  damaged = bytes;
  damaged.back() = std::byte{8};
  CHECK(decode_tables(*read, damaged));
}

}  // namespace tundish::lanes
