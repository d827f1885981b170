#include "data/source/field_names.h"

#include <doctest/doctest.h>

#include <vector>

namespace tundish {
namespace {

struct Choice {
  int number;
  std::string reason;
  bool operator==(const Choice&) const = default;
};

Choice choose(FieldRole role, const std::string& wanted, std::vector<FieldCandidate> candidates) {
  int out = 7;
  const auto fault = choose_field(out, role, wanted, candidates);
  if (fault) CHECK(fault->code == ErrorCode::field_unclear);
  return {out, fault ? fault->reason : ""};
}

TEST_CASE("field names: the usual names, the most telling first, in any case") {
  const auto image = FieldRole::image;
  CHECK(choose(image, "", {{"data"}, {"Image"}, {"x"}}) == Choice{1, ""});
  CHECK(choose(image, "", {{"a/b"}, {"image/encoded"}, {"image/format"}}) == Choice{1, ""});
  CHECK(choose(image, "", {{"mask"}, {"train/img"}}) == Choice{1, ""});
  CHECK(choose(image, "", {{"train/image"}, {"x"}}) == Choice{1, ""});
  const auto label = FieldRole::label;
  CHECK(choose(label, "", {{"x"}, {"y"}, {"LABELS"}}) == Choice{2, ""});
  CHECK(choose(label, "", {{"image/class/label"}, {"image/object/label"}}) == Choice{0, ""});
}

TEST_CASE("field names: a candidate that does not fit is passed over") {
  CHECK(choose(FieldRole::image, "", {{"image", false}, {"x"}}) == Choice{1, ""});
  CHECK(choose(FieldRole::label, "", {{"label", false}, {"id"}}) == Choice{-1, ""});
}

TEST_CASE("field names: the only candidate is the image, but not the label") {
  CHECK(choose(FieldRole::image, "", {{"photo"}, {"size", false}}) == Choice{0, ""});
  CHECK(choose(FieldRole::label, "", {{"id"}}) == Choice{-1, ""});
  CHECK(choose(FieldRole::image, "", {}) == Choice{-1, ""});
}

TEST_CASE("field names: what is unclear is refused with the names that there are") {
  const auto image = FieldRole::image;
  CHECK(choose(image, "", {{"left"}, {"right"}, {"id", false}}) ==
        Choice{-1, "several could be the image: left, right"});
  CHECK(choose(image, "", {{"a/image"}, {"b/image"}}).number == -1);
  CHECK(choose(FieldRole::label, "", {{"a/label"}, {"b/label"}}) == Choice{-1, ""});
}

TEST_CASE("field names: what the user names must be there and fit") {
  const auto image = FieldRole::image;
  CHECK(choose(image, "right", {{"image"}, {"right"}}) == Choice{1, ""});
  CHECK(choose(image, "Right", {{"image"}, {"right"}}) ==
        Choice{-1, "nothing is called 'Right'; there are: image, right"});
  CHECK(choose(FieldRole::label, "name", {{"name", false}, {"id"}}) ==
        Choice{-1, "'name' cannot be the label: its type is another; there are: id"});
  CHECK(choose(image, "a", {}) == Choice{-1, "nothing is called 'a'; there are: none"});
  CHECK(choose(image, "a", {{"b", false}}) == Choice{-1, "nothing is called 'a'; there are: b"});
}

TEST_CASE("field names: a source without labels names what could be one") {
  const auto warning = [](std::vector<FieldCandidate> candidates) {
    return no_label_warning(candidates, true);
  };
  CHECK(
      warning({{"image", false}}).ends_with("it has no whole number per sample that could be one"));
  CHECK(warning({{"image", false}, {"species"}, {"id"}})
            .find("these could be: species, id (--label") != std::string::npos);
  CHECK(warning({{"image", false}, {"a/Y", false}}) ==
        "its samples have no labels: 'a/Y' is called as one, but has no single whole number per "
        "sample");
  CHECK(warning({{"y", false}, {"id"}}).find("per sample; these could be: id (--label") !=
        std::string::npos);
  CHECK(no_label_warning(std::vector<FieldCandidate>{{"x", false}, {"y", false}}, false).empty());
  CHECK_FALSE(no_label_warning(std::vector<FieldCandidate>{{"id"}}, false).empty());
  const std::vector<FieldCandidate> many(1000, FieldCandidate{"number"});
  CHECK(warning(many).size() < 500);
}

TEST_CASE("field names: floats with the shape of pictures are named") {
  const auto warns = [](const char* name, ArrayElement element, std::vector<std::uint64_t> shape) {
    return !float_picture_warning(name, {element, std::move(shape)}).empty();
  };
  CHECK(warns("x", ArrayElement::float32, {3, 32, 32}));
  CHECK(warns("x", ArrayElement::float64, {28, 28, 1}));
  CHECK(warns("x", ArrayElement::uint16, {64, 64, 3}));
  CHECK(warns("images", ArrayElement::float32, {28, 28}));
  CHECK_FALSE(warns("x", ArrayElement::float32, {28, 28}));
  CHECK_FALSE(warns("image", ArrayElement::float32, {128, 32}));
  CHECK_FALSE(warns("x", ArrayElement::float32, {2, 3, 4}));
  CHECK_FALSE(warns("x", ArrayElement::float32, {16, 16, 16}));
  CHECK_FALSE(warns("mask", ArrayElement::boolean, {3, 32, 32}));
  CHECK_FALSE(warns("x", ArrayElement::uint8, {5, 32, 32}));
  CHECK_FALSE(warns("image", ArrayElement::float32, {}));
}

}  // namespace
}  // namespace tundish
