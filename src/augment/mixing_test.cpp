#include "augment/mixing.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "augment/mix_reference.h"
#include "augment/mix_rows.h"
#include "augment/transform.h"
#include "base/testing.h"

namespace tundish {
namespace {

constexpr int kDraws = 100'000;

// Largest distance between the empirical distribution of `numbers` and `below`.
double distance(std::vector<double> numbers, const std::function<double(double)>& below) {
  std::sort(numbers.begin(), numbers.end());
  double out = 0;
  const auto count = static_cast<double>(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double expected = below(numbers[i]);
    out = std::max({out, std::abs(expected - static_cast<double>(i) / count),
                    std::abs(expected - static_cast<double>(i + 1) / count)});
  }
  return out;
}

std::vector<Mix> draws_of(const Transform& transform, Size size, int count = kDraws) {
  const Mixing mixing(Transforms{Normalize{}, transform});
  std::vector<Mix> out;
  for (int i = 0; i < count; ++i) {
    out.push_back(mixing.draw(11, 3, static_cast<std::uint64_t>(i), 0, size));
  }
  return out;
}

std::vector<double> shares_of(const std::vector<Mix>& mixes) {
  std::vector<double> out;
  for (const Mix& mix : mixes) out.push_back(mix.share);
  return out;
}

}  // namespace

TEST_CASE("MixUp's share has the beta distribution") {
  const auto check = [](double alpha, const std::function<double(double)>& below) {
    CAPTURE(alpha);
    const std::vector<Mix> mixes = draws_of(MixUp{.alpha = alpha}, {8, 8});
    // Exceeded once in 10^7 runs.
    CHECK(distance(shares_of(mixes), below) < 2.9 / std::sqrt(kDraws));
  };
  check(0.5, [](double x) { return 2 / std::numbers::pi * std::asin(std::sqrt(x)); });
  check(1.0, [](double x) { return x; });
  check(2.0, [](double x) { return x * x * (3 - 2 * x); });
  // Very small alpha: nearly all of one image or of the other, never outside of 0..1.
  int ends = 0;
  for (const double share : shares_of(draws_of(MixUp{.alpha = 0.01}, {8, 8}, 1000))) {
    REQUIRE(share >= 0.0);
    REQUIRE(share <= 1.0);
    ends += share < 0.01 || share > 0.99;
  }
  CHECK(ends > 900);
}

TEST_CASE("CutMix's box is where torchvision's is, and its share is what is left of the image") {
  const Size size{20, 12};
  std::vector<int> columns(20);
  for (const Mix& mix : draws_of(CutMix{}, size)) {
    const Window& box = mix.box;
    REQUIRE(mix.kind == Mix::Kind::cut);
    REQUIRE(box.x >= 0);
    REQUIRE(box.y >= 0);
    REQUIRE(box.x + box.width <= size.width);
    REQUIRE(box.y + box.height <= size.height);
    REQUIRE(mix.share == 1.0 - static_cast<double>(box.width * box.height) / 240);
    for (int x = box.x; x < box.x + box.width; ++x) ++columns[static_cast<std::size_t>(x)];
  }
  // Boxes are clipped at the sides, and their middle is a pixel's left side. Columns 1 and 17 are
  // therefore covered equally often, columns 9 and 10 most often.
  CHECK(columns[10] > columns[0]);
  CHECK(std::abs(columns[1] - columns[17]) < 1500);
}

TEST_CASE("timm's Mixup mixes, cuts and leaves alone as often as it says") {
  const TimmMixup transform{.cutmix_alpha = 1.0, .prob = 0.8, .switch_prob = 0.25};
  int none = 0, cuts = 0;
  for (const Mix& mix : draws_of(transform, {16, 16})) {
    none += mix.kind == Mix::Kind::none;
    cuts += mix.kind == Mix::Kind::cut;
  }
  CHECK(none == doctest::Approx(0.2 * kDraws).epsilon(0.05));
  CHECK(cuts == doctest::Approx(0.8 * 0.25 * kDraws).epsilon(0.05));
  for (const Mix& mix :
       draws_of(TimmMixup{.mixup_alpha = 0, .cutmix_minmax = {{0.2, 0.8}}}, {20, 10})) {
    REQUIRE(mix.box.width >= 4);
    REQUIRE(mix.box.width < 16);
    REQUIRE(mix.box.height >= 2);
    REQUIRE(mix.box.height < 8);
  }
}

TEST_CASE("a draw is of the batch, of a pair or of an image") {
  const auto draw = [](MixMode mode, std::uint64_t number) {
    const Mixing mixing(Transforms{Normalize{}, TimmMixup{.mode = mode}});
    return mixing.draw(1, 2, 3, number, {9, 9}).share;
  };
  const Mixing pairs(Transforms{Normalize{}, TimmMixup{.mode = MixMode::pair}});
  CHECK(pairs.is_drawn_for_each());
  CHECK(pairs.partners() == Partners::pairs);
  CHECK(draw(MixMode::batch, 0) == draw(MixMode::batch, 5));
  CHECK(draw(MixMode::pair, 4) == draw(MixMode::pair, 5));
  CHECK(draw(MixMode::pair, 4) != draw(MixMode::pair, 6));
  CHECK(draw(MixMode::elem, 4) != draw(MixMode::elem, 5));
  CHECK(partner_of(0, 6, Partners::roll) == 5);
  CHECK(partner_of(3, 6, Partners::roll) == 2);
  CHECK(partner_of(3, 6, Partners::roll, 3) == 0);
  CHECK(partner_of(1, 6, Partners::roll, 3) == 4);
  CHECK(partner_of(1, 2, Partners::roll, 3) == 0);
  CHECK(partner_of(0, 1, Partners::roll) == 0);
  CHECK(partner_of(3, 6, Partners::pairs) == 2);
  CHECK(partner_of(6, 7, Partners::pairs) == 6);
}

TEST_CASE("mixed rows equal the slow twin's") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  MixRows rows;
  for (int round = 0; round < 300; ++round) {
    const Size size{between(random, 1, 40), between(random, 1, 20)};
    const std::size_t elements = 3 * static_cast<std::size_t>(size.width * size.height);
    const auto levels = [&] {
      std::vector<std::uint8_t> out(elements);
      for (std::uint8_t& level : out) level = static_cast<std::uint8_t>(random.below(256));
      return out;
    };
    const std::vector<std::uint8_t> own = levels(), partner = levels();
    std::vector<Erasure> erasures;
    if (random.below(2) == 0) {
      erasures.push_back({.window = {between(random, -3, 9), between(random, -3, 9),
                                     between(random, 1, 30), between(random, 1, 30)},
                          .random = random.below(2) == 0,
                          .value = {0.5f, -1.0f, 2.0f},
                          .key = random.next()});
    }
    Mix mix{.kind = static_cast<Mix::Kind>(random.below(3)), .share = random.uniform()};
    if (mix.kind == Mix::Kind::cut) {
      const int x = between(random, 0, size.width), y = between(random, 0, size.height);
      mix.box = {x, y, between(random, 0, size.width - x), between(random, 0, size.height - y)};
    }
    const PixelTable table = float_table(Transforms{Normalize{}});
    const Dtype dtype = static_cast<Dtype>(between(random, 1, 3));
    const bool channels_first = random.below(2) == 0;
    std::vector<std::byte> fast(elements * dtype_bytes(dtype)), slow(fast.size());
    rows.run({own.data(), erasures}, {partner.data(), {}}, mix, size, table,
             placement(fast.data(), size, dtype, channels_first), dtype);
    mix_reference(elements_reference(own.data(), erasures, size, table),
                  elements_reference(partner.data(), {}, size, table), mix, size,
                  placement(slow.data(), size, dtype, channels_first), dtype);
    REQUIRE(fast == slow);
  }
}

}  // namespace tundish
