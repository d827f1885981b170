#include "augment/plan.h"

#include <doctest/doctest.h>

#include <string>

#include "augment/cpu/testing.h"

namespace tundish {
namespace {

// Pads the line "abcd" from place -6 to 9; '.' marks fill.
std::string padded_line(PadMode mode) {
  std::string line;
  for (int i = -6; i < 10; ++i) {
    const int index = padded_index(i, 4, mode);
    line += index < 0 ? '.' : "abcd"[index];
  }
  return line;
}

}  // namespace

TEST_CASE("padding repeats the line as NumPy and torchvision do") {
  CHECK(padded_line(PadMode::constant) == "......abcd......");
  CHECK(padded_line(PadMode::edge) == "aaaaaaabcddddddd");
  CHECK(padded_line(PadMode::reflect) == "abcdcbabcdcbabcd");
  CHECK(padded_line(PadMode::symmetric) == "cddcbaabcddcbaab");
  CHECK(padded_index(-3, 1, PadMode::reflect) == 0);
}

TEST_CASE("crop, resize, crop and flip become one step") {
  View view({500, 400});
  view.crop({100, 50, 300, 200});
  view.resize({150, 100}, Filter::bilinear);
  view.crop({10, 20, 100, 50});
  view.mirror_x();
  REQUIRE(view.steps().size() == 1);
  const ResizeStep& step = view.first();
  CHECK(step.crop == Window{100, 50, 300, 200});
  CHECK(step.size == Size{150, 100});
  CHECK(step.keep == Window{10, 20, 100, 50});
  CHECK(step.mirror_x);
  CHECK(view.size() == Size{100, 50});
}

TEST_CASE("a view tens of millions of pixels wide is not treated as a thin one") {
  View view({65'535, 60});
  view.resize({65'535'000, 60'000}, Filter::bilinear);
  view.resize({8, 8}, Filter::bilinear);
  CHECK(view.steps().size() == 2);
}

TEST_CASE("a crop of a crop is a crop") {
  View view({500, 400});
  view.crop({100, 50, 300, 200});
  view.crop({10, 20, 100, 50});
  REQUIRE(view.steps().size() == 1);
  CHECK(view.first().crop == Window{110, 70, 100, 50});
}

TEST_CASE("a crop after a mirror takes the pixels from the other side") {
  View view({500, 400});
  view.mirror_x();
  view.crop({0, 0, 100, 400});
  REQUIRE(view.steps().size() == 1);
  CHECK(view.first().crop == Window{400, 0, 100, 400});
}

TEST_CASE("a padded crop of a whole image is one step, of a part of it two") {
  View whole({32, 32});
  whole.crop({-4, 2, 32, 32});
  CHECK(whole.steps().size() == 1);
  View part({32, 32});
  part.crop({1, 0, 31, 32});
  part.crop({-4, 0, 32, 32});
  CHECK(part.steps().size() == 2);
}

TEST_CASE("noise of a gray image is that of its first channel") {
  for (const PixelOp op : {PixelOp::noise, PixelOp::erase, PixelOp::contrast}) {
    View color(Size{8, 8}), gray(Size{8, 8}, ImageMode::l);
    color.add({.op = op});
    gray.add({.op = op});
    CHECK(color.steps().size() == 2);
    REQUIRE(gray.steps().size() == (op == PixelOp::contrast ? 2 : 3));
    if (op == PixelOp::contrast) continue;
    const PixelStep& last = std::get<PixelStep>(gray.steps().back());
    CHECK(last == PixelStep{.op = PixelOp::permute_channels});  // all channels from channel 0
  }
}

TEST_CASE("a resize to the same size does nothing") {
  View view({32, 24});
  view.resize({32, 24}, Filter::bicubic);
  CHECK(view == View({32, 24}));
}

TEST_CASE("a very tall image is made flatter first, as Pillow does") {
  View view({2, 268});
  view.resize({224, 224}, Filter::bilinear);
  REQUIRE(view.steps().size() == 2);
  CHECK(view.first().size == Size{2, 224});
  View taller({2, 268});
  taller.resize({224, 300}, Filter::bilinear);
  CHECK(taller.steps().size() == 1);
  View less({3, 300});
  less.resize({224, 224}, Filter::bilinear);
  CHECK(less.steps().size() == 1);
}

TEST_CASE("two resizes are two steps, the first of them without what is cut off") {
  View view({320, 240});
  view.resize({160, 120}, Filter::bilinear);
  view.crop({0, 0, 80, 60});
  view.resize({40, 30}, Filter::bilinear);
  REQUIRE(view.steps().size() == 2);
  CHECK(view.first().keep == Window{0, 0, 80, 60});
  CHECK(std::get<ResizeStep>(view.steps()[1]).crop == Window{0, 0, 80, 60});
}

// Applies a random operation to the view, and its reference implementation to the image.
void random_operation(View& view, TestImage& slow, Random& random) {
  const auto mode = static_cast<PadMode>(random.below(4));
  const auto filter = static_cast<Filter>(random.below(3));
  const std::array<std::uint8_t, 3> fill{9, static_cast<std::uint8_t>(random.next()), 200};
  const Size now = view.size();
  switch (random.below(5)) {
    case 0: {  // inside
      const int w = between(random, 1, now.width), h = between(random, 1, now.height);
      const Window window{between(random, 0, now.width - w), between(random, 0, now.height - h), w,
                          h};
      view.crop(window, mode, fill);
      slow = crop_reference(slow, window, mode, fill);
      break;
    }
    case 1: {  // anywhere
      const Window window{between(random, -20, 40), between(random, -20, 40),
                          between(random, 1, 40), between(random, 1, 40)};
      view.crop(window, mode, fill);
      slow = crop_reference(slow, window, mode, fill);
      break;
    }
    case 2: {
      const Size to{between(random, 1, 50), random.below(4) ? between(random, 1, 50) : now.height};
      view.resize(to, filter);
      slow = resize_reference(slow, to, filter);
      break;
    }
    case 3:
      view.mirror_x();
      slow = mirror_reference(slow, true, false);
      break;
    case 4:
      view.mirror_y();
      slow = mirror_reference(slow, false, true);
      break;
  }
}

TEST_CASE("random chains give the pixels of one operation after the other") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  const std::vector<Cpu> cpus = all_cpus();
  std::vector<Resample> resamples;
  for (const Cpu cpu : cpus) resamples.emplace_back(cpu);
  int steps = 0;
  constexpr std::uint32_t kChains = 400;
  for (std::uint32_t chain = 0; chain < kChains; ++chain) {
    CAPTURE(chain);
    Random random({.seed = seed}, chain);
    const std::size_t level = chain % cpus.size();
    CAPTURE(cpu_name(cpus[level]));
    const Size size{between(random, 1, 40), between(random, 1, 40)};
    const TestImage image = noise(size, random.next());
    View view(size);
    TestImage slow = image;
    const int operations = between(random, 1, 6);
    for (int i = 0; i < operations; ++i) random_operation(view, slow, random);
    steps += static_cast<int>(view.steps().size());
    REQUIRE(run_view(resamples[level], view, image, random) == slow);
  }
  CHECK(steps > static_cast<int>(kChains));  // some chains needed several
}

TEST_CASE("an image is reduced as far as it stays no smaller than the size asked for") {
  const auto reduction = [](Size image, Size size, bool can_reduce = true) {
    View view(image, ImageMode::rgb, can_reduce);
    view.draft(size);
    const int by = view.reduction();
    CHECK(view.image() == Size{(image.width + by - 1) / by, (image.height + by - 1) / by});
    CHECK(view.size() == view.image());
    return by;
  };
  CHECK(reduction({800, 800}, {100, 100}) == 8);
  CHECK(reduction({799, 800}, {100, 100}) == 4);
  CHECK(reduction({1600, 200}, {100, 100}) == 2);
  CHECK(reduction({199, 900}, {100, 100}) == 1);
  CHECK(reduction({50, 50}, {100, 100}) == 1);
  CHECK(reduction({800, 800}, {100, 100}, false) == 1);
  View cropped({800, 800}, ImageMode::rgb, true);
  cropped.crop({0, 0, 700, 700});
  cropped.draft({10, 10});
  CHECK(cropped.reduction() == 1);
}

}  // namespace tundish
