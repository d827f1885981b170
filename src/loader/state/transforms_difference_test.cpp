#include "loader/state/transforms_difference.h"

#include <doctest/doctest.h>

namespace tundish {
namespace {

std::string between(const char* saved, const char* here) {
  return transforms_difference(Json::parse(saved), Json::parse(here));
}

}  // namespace

TEST_CASE("the transform and the argument that differ are named") {
  CHECK(between(R"([{"name":"Pad","padding":1},{"name":"RandomCrop","size":[8,8]}])",
                R"([{"name":"Pad","padding":1},{"name":"RandomCrop","size":[9,9]}])") ==
        "transforms[1], RandomCrop: size=[8,8], here [9,9]");
  CHECK(between(R"([{"name":"RandomHorizontalFlip"}])",
                R"([{"name":"RandomHorizontalFlip","p":0.1}])") ==
        "transforms[0], RandomHorizontalFlip: p=its default, here 0.1");
  CHECK(between(R"([{"name":"Pad"},{"name":"Normalize"}])", R"([{"name":"Pad"}])") ==
        "transforms[1] is Normalize, here nothing");
  CHECK(between(R"([])", R"([{"name":"Pad"}])") == "transforms[0] is nothing, here Pad");
  CHECK(between(R"([{"name":"Pad"}])", R"([{"name":"Normalize"}])") ==
        "transforms[0] is Pad, here Normalize");
}

TEST_CASE("lists inside a transform and lists of views are looked into") {
  CHECK(between(R"([{"name":"RandomApply","transforms":[{"name":"JPEG","quality":9}]}])",
                R"([{"name":"RandomApply","transforms":[{"name":"JPEG","quality":8}]}])") ==
        "transforms[0], RandomApply: transforms[0], JPEG: quality=9, here 8");
  CHECK(between(R"([[{"name":"Pad"}],[{"name":"Pad"}]])", R"([[{"name":"Pad"}],[]])") ==
        "views[1][0] is Pad, here nothing");
  CHECK(between(R"([[{"name":"Pad"}]])", R"([{"name":"Pad"}])") == "views, here transforms");
  CHECK(between(R"([[],[]])", R"([[],[],[]])") == "2 views, here 3");
}

}  // namespace tundish
