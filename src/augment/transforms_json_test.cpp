#include "augment/transforms_json.h"

#include <doctest/doctest.h>

#include <set>

#include "augment/transform.h"

namespace tundish {

template <class Vary>
static void vary_blurs_and_noise(const Vary& vary) {
  vary(
      GaussianBlur{}, [](auto& op) { op.kernel_size[0] = 5; },
      [](auto& op) { op.kernel_size[1] = 5; }, [](auto& op) { op.sigma[0] = 0.2; },
      [](auto& op) { op.sigma[1] = 3; });
  vary(
      PillowGaussianBlur{}, [](auto& op) { op.radius[0] = 0.2; },
      [](auto& op) { op.radius[1] = 3; }, [](auto& op) { op.p = 0.25; });
  vary(
      RandomErasing{}, [](auto& op) { op.p = 0.25; }, [](auto& op) { op.scale[0] = 0.1; },
      [](auto& op) { op.scale[1] = 0.9; }, [](auto& op) { op.ratio[0] = 0.5; },
      [](auto& op) { op.ratio[1] = 1.5; }, [](auto& op) { op.value.random = true; },
      [](auto& op) { op.value.number[0] = 1; }, [](auto& op) { op.value.number[1] = 1; },
      [](auto& op) { op.value.number[2] = 1; }, [](auto& op) { op.inplace = true; });
  vary(
      GaussianNoise{}, [](auto& op) { op.mean = 0.5; }, [](auto& op) { op.sigma = 0.5; },
      [](auto& op) { op.clip = false; });
  vary(JPEG{}, [](auto& op) { op.quality[0] = 50; }, [](auto& op) { op.quality[1] = 90; });
}

template <class Vary>
static void vary_sizes(const Vary& vary) {
  vary(
      PadTo{{5, 6}}, [](auto& op) { op.size.width += 1; }, [](auto& op) { op.size.height += 1; },
      [](auto& op) { op.fill[1] = 1; });
  vary(
      ScaleJitter{.target_size = {5, 6}}, [](auto& op) { op.target_size[0] = 7; },
      [](auto& op) { op.target_size[1] = 7; }, [](auto& op) { op.scale_range[0] = 0.2; },
      [](auto& op) { op.scale_range[1] = 3; },
      [](auto& op) { op.interpolation = Filter::nearest; });
  vary(
      RandomShortestSize{.min_size = {{5}}}, [](auto& op) { op.min_size = {{5, 6}}; },
      [](auto& op) { op.max_size = 9; }, [](auto& op) { op.interpolation = Filter::nearest; });
  vary(
      RandomResize{5, 9}, [](auto& op) { op.min_size = 6; }, [](auto& op) { op.max_size = 8; },
      [](auto& op) { op.interpolation = Filter::nearest; });
}

template <class Vary>
static void vary_batches(const Vary& vary) {
  const auto classes = [](auto& op) { op.num_classes = 7; };
  vary(MixUp{}, classes, [](auto& op) { op.alpha = 0.2; });
  vary(CutMix{}, classes, [](auto& op) { op.alpha = 0.2; });
  vary(
      TimmMixup{}, classes, [](auto& op) { op.mixup_alpha = 0.2; },
      [](auto& op) { op.cutmix_alpha = 0.2; }, [](auto& op) { op.cutmix_minmax = {0.2, 0.8}; },
      [](auto& op) { op.prob = 0.5; }, [](auto& op) { op.switch_prob = 0.25; },
      [](auto& op) { op.mode = MixMode::elem; }, [](auto& op) { op.correct_lam = false; },
      [](auto& op) { op.label_smoothing = 0; });
  vary(
      FiveCrop{.size = {9, 9}}, [](auto& op) { op.size.width += 1; },
      [](auto& op) { op.size.height += 1; });
  vary(
      TenCrop{.size = {9, 9}}, [](auto& op) { op.size.width += 1; },
      [](auto& op) { op.size.height += 1; }, [](auto& op) { op.vertical_flip = true; });
}

template <class Vary>
static void vary_transforms_of_timm(const Vary& vary) {
  const auto filter = [](auto& op) { op.interpolation = RandomFilter::nearest; };
  const auto mean = [](auto& op) { op.img_mean[1] = 1; };
  const auto far = [](auto& op) { op.translate_pct = 0.3; };
  vary(TimmRandAugment{}, filter, mean, far, [](auto& op) { op.config = "rand-n1"; });
  vary(TimmAutoAugment{}, filter, mean, far, [](auto& op) { op.config = "3a"; });
  vary(
      TimmRandomErasing{}, [](auto& op) { op.probability = 0.25; },
      [](auto& op) { op.min_area = 0.1; }, [](auto& op) { op.max_area = 0.5; },
      [](auto& op) { op.min_aspect = 0.5; }, [](auto& op) { op.max_aspect = 2; },
      [](auto& op) { op.mode = TimmErasingMode::pixel; }, [](auto& op) { op.min_count = 0; },
      [](auto& op) { op.max_count = 3; });
  const auto size = [](auto& op) { op.size.width += 1; };
  const auto high = [](auto& op) { op.size.height += 1; };
  vary(
      ResizeKeepRatio{.size = {9, 9}}, size, high, filter, [](auto& op) { op.longest = 1; },
      [](auto& op) { op.random_scale_prob = 0.5; },
      [](auto& op) { op.random_scale_range[0] = 0.5; },
      [](auto& op) { op.random_scale_range[1] = 2; }, [](auto& op) { op.random_scale_area = true; },
      [](auto& op) { op.random_aspect_prob = 0.5; },
      [](auto& op) { op.random_aspect_range[0] = 0.5; },
      [](auto& op) { op.random_aspect_range[1] = 2; });
  const auto fill = [](auto& op) { op.fill[1] = 1; };
  const auto mode = [](auto& op) { op.padding_mode = PadMode::reflect; };
  vary(CenterCropOrPad{.size = {9, 9}}, size, high, fill, mode);
  vary(RandomCropOrPad{.size = {9, 9}}, size, high, fill, mode);
  vary(TrimBorder{}, [](auto& op) { op.border_size = 3; });
}

template <class Vary>
static void vary_policies_and_warps(const Vary& vary) {
  const auto p = [](auto& op) { op.p = 0.25; };
  const auto filter = [](auto& op) { op.interpolation = Filter::bicubic; };
  const auto fill = [](auto& op) { op.fill[1] = 1; };
  const auto bins = [](auto& op) { op.num_magnitude_bins = 29; };
  const auto list = [](auto& op) { op.transforms = {RandomHorizontalFlip{0.5}}; };
  vary(RandomInvert{}, p);
  vary(RandomPosterize{}, p, [](auto& op) { op.bits = 3; });
  vary(RandomSolarize{}, p, [](auto& op) { op.threshold = 3; });
  vary(
      RandAugment{}, filter, fill, bins, [](auto& op) { op.num_ops = 3; },
      [](auto& op) { op.magnitude = 3; });
  vary(TrivialAugmentWide{}, filter, fill, bins);
  vary(AutoAugment{}, filter, fill, [](auto& op) { op.policy = AutoAugmentPolicy::svhn; });
  const auto no_fill = [](auto& op) { op.fill.reset(); };
  const auto some_fill = [](auto& op) { op.fill = Fill{0, 1, 0}; };
  vary(
      AugMix{}, some_fill, [](auto& op) { op.severity = 4; },
      [](auto& op) { op.mixture_width = 4; }, [](auto& op) { op.chain_depth = 4; },
      [](auto& op) { op.alpha = 4; }, [](auto& op) { op.all_ops = false; },
      [](auto& op) { op.interpolation = Filter::nearest; });
  vary(
      ElasticTransform{}, no_fill, some_fill, [](auto& op) { op.alpha[0] = 4; },
      [](auto& op) { op.alpha[1] = 4; }, [](auto& op) { op.sigma[0] = 4; },
      [](auto& op) { op.sigma[1] = 4; }, [](auto& op) { op.interpolation = Filter::nearest; });
  vary(RandomApply{}, p, list);
  vary(RandomChoice{}, list, [](auto& op) { op.p = Weights{{1, 2}}; });
  vary(RandomOrder{}, list);
  const auto bilinear = [](auto& op) { op.interpolation = Filter::bilinear; };
  const auto center = [](auto& op) { op.center = {3, 4}; };
  const auto filled = [](auto& op) { op.fill[1] = 1; };
  vary(
      RandomRotation{.degrees = {-5, 5}}, [](auto& op) { op.degrees.low = 1; },
      [](auto& op) { op.degrees.high = 9; }, [](auto& op) { op.expand = true; }, bilinear, center,
      filled);
  vary(
      RandomAffine{.degrees = {-5, 5}}, [](auto& op) { op.degrees.low = 1; },
      [](auto& op) { op.translate = {0.1, 0.2}; }, [](auto& op) { op.scale = {0.5, 2}; },
      [](auto& op) { op.shear = {{-5, 5}, {}}; }, [](auto& op) { op.shear = {{-5, 5}, {1, 2}}; },
      bilinear, center, filled);
  vary(
      RandomPerspective{}, [](auto& op) { op.distortion_scale = 0.25; },
      [](auto& op) { op.p = 0.25; }, [](auto& op) { op.interpolation = Filter::nearest; }, filled);
}

template <class Vary>
static void vary_colors(const Vary& vary) {
  vary(
      ColorJitter{}, [](auto& op) { op.brightness.low = 0.5; },
      [](auto& op) { op.brightness.high = 1.5; }, [](auto& op) { op.contrast.high = 1.5; },
      [](auto& op) { op.saturation.high = 1.5; }, [](auto& op) { op.hue.high = 0.5; });
  vary(Grayscale{}, [](auto& op) { op.num_output_channels = 3; });
  vary(RandomGrayscale{}, [](auto& op) { op.p = 0.25; });
  vary(RandomChannelPermutation{});
  vary(
      RandomPhotometricDistort{}, [](auto& op) { op.brightness[0] = 0.5; },
      [](auto& op) { op.contrast[1] = 1.25; }, [](auto& op) { op.saturation[0] = 0; },
      [](auto& op) { op.hue[0] = 0; }, [](auto& op) { op.p = 0.25; });
  vary(
      RandomAdjustSharpness{.sharpness_factor = 2}, [](auto& op) { op.sharpness_factor = 3; },
      [](auto& op) { op.p = 0.25; });
  vary(RandomAutocontrast{}, [](auto& op) { op.p = 0.25; });
  vary(RandomEqualize{}, [](auto& op) { op.p = 0.25; });
}

// Returns every transform, and a copy for each argument with this argument changed.
static std::vector<Transform> variants() {
  std::vector<Transform> out;
  const auto vary = [&out](auto plain, auto... changes) {
    out.push_back(plain);
    [[maybe_unused]] const auto one = [&](auto change) {
      auto changed = plain;
      change(changed);
      out.push_back(changed);
    };
    (one(changes), ...);
  };
  const auto size = [](auto& op) { op.size.width += 1; };
  const auto high = [](auto& op) { op.size.height += 1; };
  vary(
      RandomResizedCrop{.size = {224, 224}}, size, high, [](auto& op) { op.scale[0] = 0.1; },
      [](auto& op) { op.scale[1] = 0.9; }, [](auto& op) { op.ratio[0] = 0.5; },
      [](auto& op) { op.ratio[1] = 1.5; }, [](auto& op) { op.interpolation = Filter::bicubic; });
  vary(
      Resize{.size = {9, 0}}, size, high, [](auto& op) { op.max_size = 11; },
      [](auto& op) { op.interpolation = Filter::nearest; });
  vary(
      CenterCrop{{5, 6}}, size, high, [](auto& op) { op.size.later = {{7, {5, 6}}}; },
      [](auto& op) { op.size.later = {{8, {5, 6}}}; },
      [](auto& op) { op.size.later = {{7, {6, 6}}}; });
  vary(
      RandomCrop{.size = {32, 32}}, size, high, [](auto& op) { op.padding.left = 4; },
      [](auto& op) { op.padding.top = 4; }, [](auto& op) { op.padding.right = 4; },
      [](auto& op) { op.padding.bottom = 4; }, [](auto& op) { op.pad_if_needed = true; },
      [](auto& op) { op.padding_mode = PadMode::reflect; }, [](auto& op) { op.fill[0] = 1; },
      [](auto& op) { op.fill[1] = 1; }, [](auto& op) { op.fill[2] = 1; });
  vary(
      Pad{}, [](auto& op) { op.padding.left = 4; }, [](auto& op) { op.padding.top = 4; },
      [](auto& op) { op.padding.right = 4; }, [](auto& op) { op.padding.bottom = 4; },
      [](auto& op) { op.fill[0] = 1; }, [](auto& op) { op.fill[1] = 1; },
      [](auto& op) { op.fill[2] = 1; }, [](auto& op) { op.padding_mode = PadMode::symmetric; });
  vary_sizes(vary);
  vary(RandomHorizontalFlip{0.5}, [](auto& op) { op.p = 0.25; });
  vary(RandomVerticalFlip{0.5}, [](auto& op) { op.p = 0.25; });
  vary_policies_and_warps(vary);
  vary_colors(vary);
  vary_blurs_and_noise(vary);
  vary_batches(vary);
  vary_transforms_of_timm(vary);
  vary(
      Normalize{.mean = {{0.5, 0.5, 0.5}}, .std = {{0.2, 0.2, 0.2}}},
      [](auto& op) { op.mean[0] = 0.4; }, [](auto& op) { op.mean[1] = 0.4; },
      [](auto& op) { op.mean[2] = 0.4; }, [](auto& op) { op.std[0] = 0.3; },
      [](auto& op) { op.mean.fourth = 0.4; }, [](auto& op) { op.std.fourth = 0.3; },
      [](auto& op) { op.std[1] = 0.3; }, [](auto& op) { op.std[2] = 0.3; });
  vary(
      ToDtype{.dtype = Dtype::float16, .scale = true}, [](auto& op) { op.dtype = Dtype::bfloat16; },
      [](auto& op) { op.scale = false; });
  return out;
}

TEST_CASE("no argument of a transform is left out of its JSON, and it comes back") {
  std::set<std::string> texts;
  for (const Transform& transform : variants()) {
    const std::string text = transforms_json({transform}).dump();
    CAPTURE(text);
    CHECK(texts.insert(text).second);
    const Transforms back = read_transforms(Json::parse(text));
    REQUIRE(back.list().size() == 1);
    CHECK(transforms_json(back).dump() == text);
  }
}

TEST_CASE("the order of operations matters") {
  const Transform crop = CenterCrop{{8, 8}}, flip = RandomHorizontalFlip{0.5};
  CHECK(transforms_json({crop, flip}) != transforms_json({flip, crop}));
}

static std::string refusal(const char* json) {
  try {
    check_transforms(read_transforms(Json::parse(json)));
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::argument);
    return error.reason();
  }
  return "";
}

TEST_CASE("JSON that is no transform is refused, and the argument is named") {
  CHECK(refusal(R"([{"name": "Blur"}])")
            .starts_with("transforms: 'Blur' is not a transform; there are: RandomResizedCrop, "));
  CHECK(refusal(R"([{"name": "ToDtype", "dtype": "int8"}])") ==
        R"(ToDtype: dtype must be one of uint8, float32, float16, bfloat16, not "int8")");
  CHECK(refusal(R"([{"name": "ToDtype", "type": "uint8"}])") ==
        "ToDtype: there is no argument 'type'; there are: dtype, scale");
  CHECK(refusal(R"([{"name": "Resize", "size": [0, 8]}])").starts_with("Resize: size must be a n"));
  CHECK(refusal(R"([{"name": "Resize", "size": 1e3}])").starts_with("Resize: size must be a n"));
  CHECK(refusal(R"([{"name": "Resize", "size": 70000}])") ==
        "Resize: size must be a number of pixels or (height, width) from 1 to 65535, or a Schedule "
        "{0: size, epoch: size, ...} of such sizes, not 0 (height) x 70000 (width)");
  for (const char* wrong : {"{}", R"({"1":8})", R"({"0":8,"-1":9})", R"({"0":8,"01":9})",
                            R"({"0":8,"1.0":9})", R"({"0":8,"":9})", R"({"0":8,"1":null})",
                            R"({"0":{"0":8}})", R"({"0":8,"99999999999999999999":9})"}) {
    CHECK(refusal(fmt::format(R"([{{"name": "Resize", "size": {}}}])", wrong).c_str())
              .ends_with(fmt::format("of such sizes, not {}", wrong)));
  }
  CHECK(refusal(R"([{"name": "RandomCrop", "size": 8, "padding": [1, 2, 3]}])") ==
        "RandomCrop: padding must be one, two or four numbers of pixels from 0 to 65535, not "
        "[1,2,3]");
  CHECK(refusal(R"([{"name": "RandomCrop", "size": 8, "fill": 300}])") ==
        "RandomCrop: fill must be a level from 0 to 255, or three, not 300");
  CHECK(refusal("{}") == "transforms: must be a list");
  CHECK(refusal("[1]") == "transforms: each must be an object with a name");
}

TEST_CASE("every way to write a size, a padding and a fill") {
  const auto read = [](const char* json) {
    return read_transforms(Json::parse(json)).list().at(0);
  };
  CHECK(read(R"([{"name": "CenterCrop", "size": 7}])") == Transform(CenterCrop{{7, 7}}));
  CHECK(read(R"([{"name": "CenterCrop", "size": [7]}])") == Transform(CenterCrop{{7, 7}}));
  CHECK(read(R"([{"name": "CenterCrop", "size": [7, 9]}])") == Transform(CenterCrop{{9, 7}}));
  CHECK(read(R"([{"name": "Resize", "size": 7}])") == Transform(Resize{.size = {7, 0}}));
  CHECK(read(R"([{"name": "Resize", "size": {"0": 7}}])") == Transform(Resize{.size = {7, 0}}));
  Resize later{.size = {7, 0}};
  later.size.later = {{3, {{8, 9}}}, {10, {{4, 0}}}};
  CHECK(read(R"([{"name": "Resize", "size": {"10": 4, "0": 7, "3": [9, 8]}}])") ==
        Transform(later));
  CHECK(read(R"([{"name": "Resize", "size": [7, 9]}])") == Transform(Resize{.size = {9, 7}}));
  const auto padded = [&](const char* json) { return std::get<RandomCrop>(read(json)); };
  CHECK(padded(R"([{"name": "RandomCrop", "padding": 3}])").padding == Padding{3, 3, 3, 3});
  CHECK(padded(R"([{"name": "RandomCrop", "padding": [3, 4]}])").padding == Padding{3, 4, 3, 4});
  CHECK(padded(R"([{"name": "RandomCrop", "padding": [1, 2, 3, 4]}])").padding ==
        Padding{1, 2, 3, 4});
  CHECK(padded(R"([{"name": "RandomCrop", "fill": 9}])").fill == Fill{9, 9, 9});
  CHECK(padded(R"([{"name": "RandomCrop", "fill": [7, 8, 9]}])").fill == Fill{7, 8, 9});
}

TEST_CASE("every way to write the range of a factor") {
  const auto read = [](const std::string& argument) {
    const Json json = Json::parse("[{\"name\": \"ColorJitter\", " + argument + "}]");
    return std::get<ColorJitter>(read_transforms(json).list().at(0));
  };
  CHECK(read(R"("brightness": 0.25)").brightness == Spread<1>{0.75, 1.25});
  CHECK(read(R"("contrast": 3)").contrast == Spread<1>{0, 4});
  CHECK(read(R"("saturation": [0.5, 0.75])").saturation == Spread<1>{0.5, 0.75});
  CHECK(read(R"("hue": 0.25)").hue == Spread<0>{-0.25, 0.25});
  CHECK_FALSE(read(R"("hue": null)").hue.changes());
  CHECK_FALSE(read(R"("brightness": [1, 1])").brightness.changes());
  CHECK_FALSE(read(R"("brightness": 0)").brightness.changes());
}

TEST_CASE("ranges that torchvision refuses are refused") {
  const auto jitter = [](const std::string& argument) {
    return refusal(("[{\"name\": \"ColorJitter\", " + argument + "}]").c_str());
  };
  CHECK(jitter(R"("brightness": -0.5)") ==
        "ColorJitter: brightness must be a number of at least 0, or two in order from 0 to 1e+30, "
        "or none, not -0.5");
  CHECK(jitter(R"("contrast": [-1, 1])").ends_with("or none, not (-1, 1)"));
  CHECK(jitter(R"("saturation": [2, 1])").ends_with("or none, not (2, 1)"));
  CHECK(jitter(R"("saturation": [2])").ends_with("or none, not [2]"));
  CHECK(jitter(R"("hue": 0.6)").ends_with("from -0.5 to 0.5, or none, not (-0.6, 0.6)"));
  CHECK(
      refusal(R"([{"name": "Grayscale"}])") ==
      "Grayscale: num_output_channels must be 3, not 1: a batch has three channels. Write "
      "Grayscale(3) for three equal ones; for batches of one channel leave Grayscale out, and use "
      "Loader(mode=\"L\")");
  CHECK(refusal(R"([{"name": "RandomPhotometricDistort", "hue": [0.1, 0]}])") ==
        "RandomPhotometricDistort: hue must be two numbers in order, not (0.1, 0)");
}

TEST_CASE("arguments at their default are left out") {
  CHECK(
      transforms_json({Normalize{}, RandomHorizontalFlip{}, CenterCrop{{8, 8}}}).dump() ==
      R"([{"name":"Normalize"},{"name":"RandomHorizontalFlip"},{"name":"CenterCrop","size":[8,8]}])");
}

TEST_CASE("a transform draws the same numbers at any place in the list") {
  const Key key{.seed = 5, .sample = 9};
  const RandomHorizontalFlip flip{};
  const Window alone = plan_view({RandomCrop{.size = {8, 8}}}, {90, 70}, key).first().crop;
  const View more = plan_view({flip, ToDtype{}, RandomCrop{.size = {8, 8}}}, {90, 70}, key);
  const bool mirrored = more.first().mirror_x;
  const Window crop = more.first().crop;
  CHECK(crop.y == alone.y);
  CHECK((mirrored ? 90 - crop.x - 8 : crop.x) == alone.x);
  // The second transform of a name draws other numbers than the first.
  int both = 0;
  for (std::uint64_t i = 0; i < 64; ++i) {
    both += plan_view({flip, flip}, {8, 8}, {.sample = i}).first().mirror_x;
  }
  CHECK(both > 16);  // exactly one flip
  CHECK(both < 48);
}

TEST_CASE("the reference names every transform with its arguments") {
  const Json reference = transforms_reference();
  REQUIRE(reference.size() == std::variant_size_v<AnyTransform>);
  CHECK(reference[0]["name"] == "RandomResizedCrop");
  CHECK(reference[0]["fields"][1]["name"] == "scale");
  CHECK(reference[0]["fields"][1]["default"] == Json{0.08, 1.0});
}

}  // namespace tundish
