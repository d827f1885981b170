#include "augment/transforms.h"

#include <doctest/doctest.h>

#include <bit>
#include <string>

#include "augment/transform.h"
#include "base/error.h"

namespace tundish {
namespace {

std::string complaint(const Transforms& transforms) {
  try {
    check_transforms(transforms);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::argument);
    return error.reason().substr(0, error.reason().find(':'));
  }
  return "";
}

const ToDtype kToFloat{Dtype::float32, true};

const Transforms kTraining{RandomResizedCrop{.size = {224, 224}}, RandomHorizontalFlip{}, kToFloat,
                           Normalize{}};

}  // namespace

TEST_CASE("the same key gives the same plan, another one another") {
  const Key key{.seed = 1, .epoch = 2, .sample = 3};
  const View view = plan_view(kTraining, {500, 375}, key);
  CHECK(view == plan_view(kTraining, {500, 375}, key));
  CHECK(view.size() == Size{224, 224});
  CHECK(view.steps().size() == 1);
  CHECK_FALSE(view == plan_view(kTraining, {500, 375}, {.seed = 1, .epoch = 2, .sample = 4}));
}

TEST_CASE("wrong arguments are named") {
  CHECK(complaint(kTraining) == "");
  CHECK(complaint({RandomResizedCrop{.size = {0, 224}}}) == "RandomResizedCrop");
  CHECK(complaint({RandomResizedCrop{.size = {9, 9}, .scale = {0.5, 0.2}}}) == "RandomResizedCrop");
  CHECK(complaint({RandomResizedCrop{.size = {9, 9}, .ratio = {0, 1}}}) == "RandomResizedCrop");
  CHECK(complaint({Resize{.size = {0, 0}}}) == "Resize");
  CHECK(complaint({Resize{.size = {70'000, 1}}}) == "Resize");
  CHECK(complaint({Resize{.size = {256, 256}, .max_size = 300}}) == "Resize");
  CHECK(complaint({Resize{.size = {256, 0}, .max_size = 256}}) == "Resize");
  CHECK(complaint({CenterCrop{{224, -1}}}) == "CenterCrop");
  CHECK(complaint({RandomCrop{.size = {32, 32}, .padding = {-1, 0, 0, 0}}}) == "RandomCrop");
  CHECK(complaint({RandomHorizontalFlip{1.5}}) == "RandomHorizontalFlip");
  CHECK(complaint({RandomVerticalFlip{-0.5}}) == "RandomVerticalFlip");
  CHECK(complaint({Normalize{.std = {{1, 0, 1}}}}) == "Normalize");
  CHECK(complaint({Normalize{.std = {{1, 1e300, 1}}}}) == "Normalize");  // infinite as float32
  CHECK(complaint({Normalize{.mean = {{-1e300, 0, 0}}}}) == "Normalize");
  CHECK(complaint({kToFloat, ToDtype{Dtype::uint8, true}}) == "ToDtype");
}

TEST_CASE("a transform of grays has one number for all channels") {
  const auto refused = [](const Transforms& transforms) {
    try {
      check_transforms(transforms, ImageMode::l);
    } catch (const Error& error) {
      return error.reason();
    }
    return std::string();
  };
  CHECK(refused({Pad{.fill = {7, 7, 7}}, Normalize{{{0.5, 0.5, 0.5}}, {{0.2, 0.2, 0.2}}}}) == "");
  CHECK(refused({Pad{.fill = {7, 7, 8}}}).starts_with("Pad: fill must be one number"));
  CHECK(refused({Normalize{}}).starts_with("Normalize: mean must be one number"));
  CHECK(refused({RandomApply{.transforms = {Grayscale{3}}}}).starts_with("Grayscale: "));
  CHECK(refused({Grayscale{1}}) == "");
  CHECK(refused({AugMix{}}).starts_with("AugMix: "));
}

TEST_CASE("transforms that make new pixels must come before Normalize") {
  CHECK(complaint({Normalize{}, Resize{.size = {9, 9}}}) == "Resize");
  CHECK(complaint({kToFloat, CenterCrop{{9, 9}}}) == "CenterCrop");
  CHECK(complaint({kToFloat, RandomCrop{.size = {9, 9}, .pad_if_needed = true}}) == "RandomCrop");
  CHECK(complaint({Normalize{}, RandomCrop{.size = {9, 9}}, RandomHorizontalFlip{}}) == "");
}

TEST_CASE("the size of the results is known when a transform fixes it") {
  CHECK(fixed_size({}, 0) == Size{});
  CHECK(fixed_size({Resize{.size = {256, 0}}}, 0) == Size{});
  CHECK(fixed_size({Resize{.size = {256, 0}}, CenterCrop{{224, 192}}}, 0) == Size{224, 192});
  CHECK(fixed_size({CenterCrop{{200, 100}}, Resize{.size = {50, 0}}}, 0) == Size{100, 50});
  CHECK(fixed_size(kTraining, 0) == Size{224, 224});
  CHECK(fixed_size({RandomCrop{.size = {32, 30}}, RandomVerticalFlip{}}, 0) == Size{32, 30});
}

TEST_CASE("a choice among transforms of one size has that size") {
  const Transform crop = RandomCrop{.size = {32, 30}}, same = CenterCrop{{32, 30}};
  const Transform other = CenterCrop{{30, 32}};
  CHECK(fixed_size({RandomChoice{{crop, same}}}, 0) == Size{32, 30});
  CHECK(fixed_size({RandomChoice{{crop, other}}}, 0) == Size{});
  CHECK(fixed_size({RandomChoice{{crop, RandomHorizontalFlip{}}}}, 0) == Size{});
  CHECK(fixed_size({RandomChoice{{}}}, 0) == Size{});
  CHECK(fixed_size({other, RandomChoice{{RandomVerticalFlip{}, RandomHorizontalFlip{}}}}, 0) ==
        Size{30, 32});
  CHECK(fixed_size({RandomApply{{crop, same}}}, 0) == Size{});
}

TEST_CASE("a size may change with the epoch") {
  RandomResizedCrop crop{.size = {8, 8}};
  crop.size.later = {{2, {10, 12}}, {5, {6, 20}}};
  Resize resize{.size = {30, 30}};
  resize.size.later = {{3, {{31, 31}}}};
  const Transforms list{resize, crop};
  CHECK(list.changes() == std::vector<std::uint64_t>{0, 2, 3, 5});
  CHECK(fixed_size(list, 1) == Size{8, 8});
  CHECK(fixed_size(list, 2) == Size{10, 12});
  CHECK(fixed_size(list, 1'000'000) == Size{6, 20});
  CHECK(largest_size(list) == Size{10, 20});
  CHECK(list.at(4) == Transforms{Resize{.size = {31, 31}}, RandomResizedCrop{.size = {10, 12}}});
  CHECK(list.at(4).changes() == std::vector<std::uint64_t>{0});
  CHECK(plan_view(list, {50, 40}, {.epoch = 5}).size() == Size{6, 20});
  CHECK(plan_view(list, {50, 40}, {.seed = 1, .epoch = 4}) ==
        plan_view(list.at(4), {50, 40}, {.seed = 1, .epoch = 4}));
  resize.size.later = {{3, {{31, 0}}}};  // a shorter side
  CHECK(largest_size({resize}) == Size{});
  CHECK(largest_size({resize, crop}) == Size{10, 20});
}

TEST_CASE("a size that changes is checked in every epoch, and is not held by other transforms") {
  CenterCrop crop{{8, 8}};
  crop.size.later = {{3, {70'000, 8}}};
  CHECK(complaint({crop}) == "CenterCrop");
  crop.size.later = {{3, {9, 9}}};
  CHECK(complaint({crop}) == "");
  CHECK(complaint({RandomApply{{crop}}}) == "RandomApply");
  Resize resize{.size = {8, 0}, .max_size = 20};
  resize.size.later = {{3, {{20, 0}}}};
  CHECK(complaint({resize}) == "Resize");
}

TEST_CASE("a result that would fill the memory is refused") {
  CHECK_THROWS_AS(plan_view({Resize{.size = {224, 0}}}, {65'535, 1}, {}), Error);
  CHECK(plan_view({Resize{.size = {224, 0}}, CenterCrop{{224, 224}}}, {65'535, 1}, {}).size() ==
        Size{224, 224});
}

TEST_CASE("a plan with so many steps that they would fill the memory is refused") {
  const RandAugment thousand{.num_ops = 1000};
  CHECK(plan_view({thousand, thousand}, {9, 9}, {}).steps().size() > 1000);
  const std::vector<Transform> many(2000, thousand);
  CHECK_THROWS_WITH_AS(plan_view(many, {9, 9}, {}), doctest::Contains("more than 10000"), Error);
  CHECK_THROWS_AS(plan_view({RandomOrder{many}}, {9, 9}, {}), Error);

  std::vector<Transform> erase(2000, TimmRandomErasing{.probability = 1, .min_count = 1000});
  erase.insert(erase.begin(), Normalize{});
  CHECK_THROWS_WITH_AS(plan_view(erase, {900, 900}, {}), doctest::Contains("more than 10000"),
                       Error);
}

TEST_CASE("an aspect whose inverse is infinite is refused") {
  const TimmRandomErasing tiny{.min_area = 0, .max_area = 0, .min_aspect = 1e-320};
  CHECK_THROWS_WITH_AS(check_transforms({Normalize{}, tiny}), doctest::Contains("must be finite"),
                       Error);
  TimmRandomErasing both = tiny;
  both.max_aspect = 1e308;
  CHECK_NOTHROW(check_transforms({Normalize{}, both}));
}

TEST_CASE("without ToDtype and Normalize levels stay uint8") {
  const PixelTable table = pixel_table({RandomHorizontalFlip{}});
  CHECK(table.dtype == Dtype::uint8);
  CHECK(table.value[2][200] == 200);
}

// The expected values are torch 2.13's for the transforms of torchvision 0.28.
TEST_CASE("values are torchvision's, bit for bit") {
  const auto bits = [](const Transforms& transforms, std::size_t c, std::size_t level) {
    return pixel_table(transforms).value[c][level];
  };
  CHECK(bits({kToFloat}, 0, 1) == 0x3b808081u);
  CHECK(bits({kToFloat}, 1, 77) == 0x3e9a9a9bu);
  CHECK(bits({kToFloat}, 2, 124) == 0x3ef8f8fau);
  CHECK(bits({kToFloat}, 0, 255) == 0x3f800000u);
  CHECK(bits({ToDtype{Dtype::float32, false}, Normalize{}}, 0, 1) == 0x400fee1du);
  CHECK(bits({ToDtype{Dtype::float32, false}, Normalize{}}, 1, 77) == 0x43aadb6du);
  CHECK(bits({ToDtype{Dtype::float32, false}, Normalize{}}, 2, 124) == 0x440953a1u);
  CHECK(bits({ToDtype{Dtype::float32, false}, Normalize{}}, 0, 255) == 0x448aed6au);
  CHECK(bits({kToFloat, Normalize{}}, 0, 1) == 0xc006732bu);
  CHECK(bits({kToFloat, Normalize{}}, 1, 77) == 0xbf300b78u);
  CHECK(bits({kToFloat, Normalize{}}, 2, 124) == 0x3eb6ab51u);
  CHECK(bits({kToFloat, Normalize{}}, 0, 255) == 0x400fee1du);
  CHECK(bits({kToFloat, Normalize{}, ToDtype{Dtype::float16, true}}, 0, 1) == 0xc034u);
  CHECK(bits({kToFloat, Normalize{}, ToDtype{Dtype::float16, true}}, 1, 77) == 0xb980u);
  CHECK(bits({kToFloat, Normalize{}, ToDtype{Dtype::float16, true}}, 2, 124) == 0x35b5u);
  CHECK(bits({kToFloat, Normalize{}, ToDtype{Dtype::float16, true}}, 0, 255) == 0x407fu);
  CHECK(bits({kToFloat, Normalize{}, ToDtype{Dtype::bfloat16, true}}, 0, 1) == 0xc006u);
  CHECK(bits({kToFloat, Normalize{}, ToDtype{Dtype::bfloat16, true}}, 1, 77) == 0xbf30u);
  CHECK(bits({kToFloat, Normalize{}, ToDtype{Dtype::bfloat16, true}}, 2, 124) == 0x3eb7u);
  CHECK(bits({kToFloat, Normalize{}, ToDtype{Dtype::bfloat16, true}}, 0, 255) == 0x4010u);
}

TEST_CASE("Normalize alone scales first, and is float32") {
  const PixelTable alone = pixel_table({Normalize{}});
  const PixelTable both = pixel_table({kToFloat, Normalize{}});
  CHECK(alone.dtype == Dtype::float32);
  CHECK(alone.value == both.value);
}

TEST_CASE("the smaller types are rounded once, from float32") {
  const PixelTable wide = pixel_table({kToFloat, Normalize{}});
  const PixelTable before = pixel_table({ToDtype{Dtype::float16, true}, Normalize{}});
  const PixelTable after = pixel_table({kToFloat, Normalize{}, ToDtype{Dtype::float16, true}});
  CHECK(before.dtype == Dtype::float16);
  CHECK(before.value == after.value);
  for (std::size_t i = 0; i < 256; ++i) {
    CHECK(after.value[1][i] == float16_bits(std::bit_cast<float>(wide.value[1][i])));
  }
}

}  // namespace tundish
