#include "source/field_names.h"

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

}  // namespace
}  // namespace tundish
