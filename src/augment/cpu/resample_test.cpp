#include "augment/cpu/resample.h"

#include <doctest/doctest.h>

#include "augment/cpu/store.h"
#include "augment/cpu/testing.h"
#include "augment/transform.h"

namespace tundish {
namespace {

ResizeStep resize_stage(Size in, Size out, Filter filter) {
  return {.crop = {0, 0, in.width, in.height},
          .size = out,
          .filter = filter,
          .keep = {0, 0, out.width, out.height}};
}

struct Golden {
  Size in, out;
  Filter filter;
  std::uint64_t digest;  // digest of Pillow 12.3.0's result for noise(in, 5)
};

constexpr Golden kPillow[] = {
    {{1, 120}, {9, 30}, Filter::nearest, 0x6111fa41b45bdbcdu},
    {{1, 120}, {9, 30}, Filter::bilinear, 0xe5fe8bd532314fa6u},
    {{1, 120}, {9, 30}, Filter::bicubic, 0x527cc88acba2dd2au},
    {{40, 30}, {24, 20}, Filter::nearest, 0x2aa2d7393d0a6067u},
    {{40, 30}, {24, 20}, Filter::bilinear, 0x7fa152035cd3c96fu},
    {{40, 30}, {24, 20}, Filter::bicubic, 0x84497db3387f2f76u},
    {{30, 40}, {50, 60}, Filter::nearest, 0xc94fa6ba4d9e7f81u},
    {{30, 40}, {50, 60}, Filter::bilinear, 0x8f177c004c248b19u},
    {{30, 40}, {50, 60}, Filter::bicubic, 0xd3ccdff867269472u},
    {{97, 61}, {31, 61}, Filter::nearest, 0xd9a24b10eb1c27d6u},
    {{97, 61}, {31, 61}, Filter::bilinear, 0xc798dfe212363ea6u},
    {{97, 61}, {31, 61}, Filter::bicubic, 0x551f3544c02b0429u},
    {{1, 9}, {7, 3}, Filter::nearest, 0x50a4ed7357180394u},
    {{1, 9}, {7, 3}, Filter::bilinear, 0xeef1a96a1205c88du},
    {{1, 9}, {7, 3}, Filter::bicubic, 0xa93f9bdbb2df6c90u},
    {{300, 2}, {5, 5}, Filter::nearest, 0x469cfdacf1d85849u},
    {{300, 2}, {5, 5}, Filter::bilinear, 0x41207cc1cc8b959bu},
    {{300, 2}, {5, 5}, Filter::bicubic, 0x916abbcb8386a49eu},
    {{64, 64}, {32, 17}, Filter::nearest, 0xfc20e64869dc605cu},
    {{64, 64}, {32, 17}, Filter::bilinear, 0x6034b3b81394d068u},
    {{64, 64}, {32, 17}, Filter::bicubic, 0x23d7adee399e4ed1u},
    {{13, 200}, {13, 21}, Filter::nearest, 0xa5ad56f0599c7580u},
    {{13, 200}, {13, 21}, Filter::bilinear, 0xd99578869a297c10u},
    {{13, 200}, {13, 21}, Filter::bicubic, 0x3145aa2ddad8d861u},
};

}  // namespace

TEST_CASE("resizes equal Pillow 12.3.0's, byte for byte") {
  for (const Golden& golden : kPillow) {
    CAPTURE(golden.in.width);
    CAPTURE(golden.out.width);
    CAPTURE(static_cast<int>(golden.filter));
    View view(golden.in);
    view.resize(golden.out, golden.filter);
    const TestImage image = noise(golden.in, 5);
    TestImage slow = image;
    for (const PlanStep& one : view.steps()) {
      const ResizeStep& step = std::get<ResizeStep>(one);
      slow = resize_reference(slow, step.size, step.filter);
    }
    CHECK(digest(slow.rgb) == golden.digest);
    for (const Cpu cpu : all_cpus()) {
      CAPTURE(cpu_name(cpu));
      Resample resample(cpu);
      Random random({}, 0);
      CHECK(digest(run_view(resample, view, image, random).rgb) == golden.digest);
    }
  }
}

TEST_CASE("every instruction set gives the bytes of the twin") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  const std::vector<Cpu> cpus = all_cpus();
  std::vector<Resample> resamples;
  for (const Cpu cpu : cpus) resamples.emplace_back(cpu);
  // Scales from 1/8 to 40 exercise all variants of the passes.
  const auto side = [&] {
    constexpr int kMax[] = {3, 20, 70, 250, 900};
    return between(random, 1, kMax[random.below(5)]);
  };
  for (int i = 0; i < 150; ++i) {
    const Size in{side(), side()};
    Size out{std::max(1, side() / 2), std::max(1, side() / 8)};
    if (random.below(2)) out = {std::max(1, side() / 8), std::max(1, side() / 4)};
    CAPTURE(in.width);
    CAPTURE(in.height);
    CAPTURE(out.width);
    CAPTURE(out.height);
    const auto filter = static_cast<Filter>(random.below(3));
    CAPTURE(static_cast<int>(filter));
    // Black and white pixels drive bicubic sums out of range.
    TestImage image = noise(in, random.next());
    if (i % 2) {
      for (std::uint8_t& level : image.rgb) level = level & 1 ? 255 : 0;
    }
    ResizeStep step = resize_stage(in, out, filter);
    const TestImage slow = resize_reference(image, out, filter);
    step.keep.width = between(random, 1, out.width);
    step.keep.height = between(random, 1, out.height);
    step.keep.x = between(random, 0, out.width - step.keep.width);
    step.keep.y = between(random, 0, out.height - step.keep.height);
    step.mirror_x = random.below(2);
    const TestImage kept = mirror_reference(crop_reference(slow, step.keep, PadMode::constant, {}),
                                            step.mirror_x, false);
    for (std::size_t k = 0; k < cpus.size(); ++k) {
      CAPTURE(cpu_name(cpus[k]));
      REQUIRE(run_stage(resamples[k], step, image, random) == kept);
    }
  }
}

TEST_CASE("rows that are made in place touch nothing outside their image") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  const PixelTable table = pixel_table({});
  for (int i = 0; i < 100; ++i) {
    const TestImage image = noise({between(random, 1, 90), between(random, 1, 90)}, random.next());
    const Size out{between(random, 1, i % 2 ? 8 : 100), between(random, 1, 40)};
    ResizeStep step = resize_stage(image.size, out, Filter::bilinear);
    step.mirror_x = random.below(2);
    step.mirror_y = random.below(4) == 0;
    const TestImage expected = mirror_reference(resize_reference(image, out, Filter::bilinear),
                                                step.mirror_x, step.mirror_y);
    for (const Cpu cpu : all_cpus()) {
      CAPTURE(cpu_name(cpu));
      CAPTURE(out.width);
      CAPTURE(out.height);
      constexpr std::size_t kAround = 100;
      std::vector<std::uint8_t> memory(expected.rgb.size() + 2 * kAround, 0x5a);
      std::vector<std::uint8_t> right = memory;
      std::copy(expected.rgb.begin(), expected.rgb.end(), right.begin() + kAround);
      Store store(cpu);
      store.begin(table, {.base = reinterpret_cast<std::byte*>(memory.data() + kAround),
                          .dy = std::ptrdiff_t{3} * out.width,
                          .dx = 3,
                          .dc = 1});
      Resample resample(cpu);
      run_stage(store, resample, step, image, random);
      REQUIRE(memory == right);
    }
  }
}

TEST_CASE("only the rows and columns that the kept pixels read are needed") {
  Resample resample;
  WholeImage out({10, 20});
  ResizeStep step = resize_stage({300, 200}, {30, 20}, Filter::bilinear);
  step.keep = {5, 0, 10, 20};
  resample.begin(step, {300, 200}, out);
  CHECK(resample.needed() == Window{45, 0, 110, 200});
}

TEST_CASE("a crop wholly in the padding needs no pixels") {
  Resample resample;
  const ResizeStep step{.crop = {-50, 3, 20, 10},
                        .pad_mode = PadMode::constant,
                        .fill = {1, 2, 3},
                        .size = {20, 10},
                        .keep = {0, 0, 20, 10}};
  const TestImage image = noise({32, 32}, 1);
  Random random({}, 0);
  const TestImage result = run_stage(resample, step, image, random);
  CHECK(resample.needed() == Window{});
  CHECK(result == crop_reference(image, step.crop, step.pad_mode, step.fill));
}

}  // namespace tundish
