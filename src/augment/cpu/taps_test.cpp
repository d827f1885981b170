#include "augment/cpu/taps.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "augment/cpu/testing.h"
#include "base/random.h"

namespace tundish {

TEST_CASE("halving a line of eight takes three-to-one weights from both sides") {
  Taps taps;
  make_taps(taps, 8, 4, 1, 1, Filter::bilinear);
  CHECK(taps.first == std::vector<int>{1});
  CHECK(taps.count == 4);
  CHECK(taps.weight == std::vector<std::int32_t>{1 << 19, 3 << 19, 3 << 19, 1 << 19});
}

TEST_CASE("equal sizes copy") {
  Taps taps;
  make_taps(taps, 7, 7, 2, 3, Filter::bicubic);
  CHECK(taps.first == std::vector<int>{2, 3, 4});
  CHECK(taps.weight == std::vector<std::int32_t>(3, 1 << 22));
}

TEST_CASE("nearest takes the sample under the middle of each output") {
  Taps taps;
  make_taps(taps, 4, 8, 0, 8, Filter::nearest);
  CHECK(taps.first == std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3});
  make_taps(taps, 10, 3, 0, 3, Filter::nearest);
  CHECK(taps.first == std::vector<int>{1, 5, 8});
}

TEST_CASE("the taps of a window are those of the whole line") {
  for (const Filter filter : {Filter::nearest, Filter::bilinear, Filter::bicubic}) {
    Taps whole, part;
    make_taps(whole, 300, 224, 0, 224, filter);
    make_taps(part, 300, 224, 100, 20, filter);
    for (int i = 0; i < 20; ++i) {
      const auto a = static_cast<std::size_t>(i), b = a + 100;
      CHECK(part.first[a] == whole.first[b]);
      REQUIRE(part.used[a] == whole.used[b]);
      for (std::size_t k = 0; k < static_cast<std::size_t>(part.used[a]); ++k) {
        CHECK(part.weight[a * static_cast<std::size_t>(part.count) + k] ==
              whole.weight[b * static_cast<std::size_t>(whole.count) + k]);
      }
    }
  }
}

TEST_CASE("weights sum to one, but for the rounding of each") {
  Taps taps;
  for (const Filter filter : {Filter::bilinear, Filter::bicubic}) {
    for (const int in : {1, 2, 3, 31, 224, 225, 1000, 5000}) {
      make_taps(taps, in, 224, 0, 224, filter);
      for (int i = 0; i < 224; ++i) {
        const auto weight = taps.weight.begin() + i * taps.count;
        const int sum = std::accumulate(weight, weight + taps.count, 0);
        CHECK(std::abs(sum - (1 << 22)) <= taps.count);
        CHECK(taps.first[static_cast<std::size_t>(i)] >= 0);
        CHECK(taps.first[static_cast<std::size_t>(i)] + taps.used[static_cast<std::size_t>(i)] <=
              in);
      }
    }
  }
}

// Computes one output at a time, in Pillow's order of operations.
void make_taps_reference(Taps& taps, int in, int out, int keep_from, int keep, Filter filter) {
  const ResizedLine line(in, out, filter);
  taps = {};
  for (int i = keep_from; i < keep_from + keep; ++i) {
    taps.first.push_back(line.first(i));
    taps.used.push_back(line.end(i) - line.first(i));
    taps.count = std::max(taps.count, taps.used.back());
  }
  for (int i = keep_from; i < keep_from + keep; ++i) {
    const int used = line.end(i) - line.first(i);
    double sum = 0.0;
    for (int k = 0; k < used; ++k) sum += line.value(i, k);
    for (int k = 0; k < taps.count; ++k) {
      taps.weight.push_back(k < used ? rounded_weight(line.value(i, k), sum) : 0);
    }
  }
}

TEST_CASE("many outputs together have the weights that each has alone") {
  Taps taps, slowly;
  Random random({}, 0);
  for (int round = 0; round < 400; ++round) {
    const Filter filter = round % 2 == 0 ? Filter::bilinear : Filter::bicubic;
    const int in = 1 + static_cast<int>(random.below(round % 5 == 0 ? 5000 : 500));
    const int out = 1 + static_cast<int>(random.below(300));
    if (in == out) continue;
    const int keep_from = static_cast<int>(random.below(static_cast<std::uint64_t>(out)));
    const int keep =
        1 + static_cast<int>(random.below(static_cast<std::uint64_t>(out - keep_from)));
    make_taps_reference(slowly, in, out, keep_from, keep, filter);
    for (const Cpu cpu : all_cpus()) {
      CAPTURE(in);
      CAPTURE(out);
      CAPTURE(keep_from);
      CAPTURE(keep);
      CAPTURE(cpu_name(cpu));
      make_taps(taps, in, out, keep_from, keep, filter, cpu);
      CHECK(taps.count == slowly.count);
      CHECK(taps.first == slowly.first);
      CHECK(taps.used == slowly.used);
      CHECK(taps.weight == slowly.weight);
    }
  }
}

TEST_CASE("mirrored taps give the mirrored line") {
  constexpr int kIn = 40, kOut = 13;
  std::vector<std::int64_t> line;
  for (int i = 0; i < kIn; ++i) line.push_back(i * i % 101);
  const auto resized = [](const Taps& taps, const std::vector<std::int64_t>& in) {
    std::vector<std::int64_t> out;
    for (std::size_t i = 0; i < taps.first.size(); ++i) {
      const auto weight = taps.weight.begin() + static_cast<std::ptrdiff_t>(i) * taps.count;
      out.push_back(std::inner_product(weight, weight + taps.used[i], in.begin() + taps.first[i],
                                       std::int64_t{0}));
    }
    return out;
  };
  Taps taps;
  make_taps(taps, kIn, kOut, 2, 9, Filter::bicubic);
  const std::vector<std::int64_t> plain = resized(taps, line);
  mirror_inputs(taps, kIn);
  CHECK(resized(taps, {line.rbegin(), line.rend()}) == plain);
  CHECK(resized(taps, line) != plain);
  mirror_outputs(taps);
  CHECK(resized(taps, {line.rbegin(), line.rend()}) ==
        std::vector<std::int64_t>{plain.rbegin(), plain.rend()});
}

TEST_CASE("mirroring inputs and outputs twice changes nothing") {
  Taps taps, twice;
  make_taps(taps, 300, 224, 5, 100, Filter::bicubic);
  make_taps(twice, 300, 224, 5, 100, Filter::bicubic);
  for (int i = 0; i < 2; ++i) {
    mirror_inputs(twice, 300);
    mirror_outputs(twice);
  }
  CHECK(twice.first == taps.first);
  CHECK(twice.used == taps.used);
  CHECK(twice.weight == taps.weight);
}

}  // namespace tundish
