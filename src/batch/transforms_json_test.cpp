#include "batch/transforms_json.h"

#include <doctest/doctest.h>

#include <set>

namespace tundish {

// Every transform, and each of its arguments changed once.
static std::vector<Transform> variants() {
  std::vector<Transform> out;
  const auto vary = [&out](auto plain, auto... changes) {
    out.push_back(plain);
    const auto one = [&](auto change) {
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
      [](auto& op) { op.ratio[1] = 1.5; }, [](auto& op) { op.filter = Filter::bicubic; });
  vary(
      Resize{.size = {9, 0}}, size, high, [](auto& op) { op.max_size = 11; },
      [](auto& op) { op.filter = Filter::nearest; });
  vary(CenterCrop{{5, 6}}, size, high);
  vary(
      RandomCrop{.size = {32, 32}}, size, high, [](auto& op) { op.padding[0] = 4; },
      [](auto& op) { op.padding[1] = 4; }, [](auto& op) { op.padding[2] = 4; },
      [](auto& op) { op.padding[3] = 4; }, [](auto& op) { op.pad_if_needed = true; },
      [](auto& op) { op.pad_mode = PadMode::reflect; }, [](auto& op) { op.fill[0] = 1; },
      [](auto& op) { op.fill[1] = 1; }, [](auto& op) { op.fill[2] = 1; });
  vary(RandomHorizontalFlip{0.5}, [](auto& op) { op.p = 0.25; });
  vary(RandomVerticalFlip{0.5}, [](auto& op) { op.p = 0.25; });
  vary(
      Normalize{.mean = {0.5f, 0.5f, 0.5f}, .std = {0.2f, 0.2f, 0.2f}},
      [](auto& op) { op.mean[0] = 0.4f; }, [](auto& op) { op.mean[1] = 0.4f; },
      [](auto& op) { op.mean[2] = 0.4f; }, [](auto& op) { op.std[0] = 0.3f; },
      [](auto& op) { op.std[1] = 0.3f; }, [](auto& op) { op.std[2] = 0.3f; });
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
    const Transforms back = read_transforms(nlohmann::ordered_json::parse(text));
    REQUIRE(back.size() == 1);
    CHECK(transforms_json(back).dump() == text);
  }
}

TEST_CASE("their order counts") {
  const Transform crop = CenterCrop{{8, 8}}, flip = RandomHorizontalFlip{0.5};
  CHECK(transforms_json({crop, flip}) != transforms_json({flip, crop}));
}

TEST_CASE("JSON that is no transform is refused") {
  for (const char* text : {R"([["blur", 3]])", R"([["to_dtype", 9, true]])"}) {
    CHECK_THROWS_AS(read_transforms(nlohmann::ordered_json::parse(text)), Error);
  }
}

}  // namespace tundish
