#include "augment/plan_json.h"

#include <doctest/doctest.h>

#include "augment/pixels/random_step.h"

namespace tundish {
namespace {

// Parses a step of the JSON as an independent reader would.
PixelStep step_of(const Json& json) {
  PixelStep out{.op = PixelOp::brightness};
  while (json.at("op") != json_of_value(out.op)) {
    out.op = static_cast<PixelOp>(static_cast<int>(out.op) + 1);
  }
  const auto value = json.at("value").get<std::vector<double>>();
  std::copy(value.begin(), value.end(), out.value.begin());
  if (json.contains("filter")) {
    while (json["filter"] != json_of_value(out.filter)) {
      out.filter = static_cast<Filter>(static_cast<int>(out.filter) + 1);
    }
  }
  if (json.contains("fill")) out.fill = json["fill"].get<Fill>();
  if (json.contains("size")) out.size = {json["size"][0], json["size"][1]};
  if (json.contains("window")) {
    const Json& w = json["window"];
    out.window = {w[0], w[1], w[2], w[3]};
  }
  if (json.contains("key")) out.key = json["key"];
  return out;
}

TEST_CASE("a plan's JSON has every number of every operation on pixels") {
  Random random({.seed = test_seed()}, 0);
  for (int i = 0; i < 3000; ++i) {
    const Size size{between(random, 1, 90), between(random, 1, 90)};
    const PixelStep step = random_step(random, size);
    View view(size);
    view.add(step);
    const Json json = Json::parse(plan_json(view).dump());
    CHECK(step_of(json.at("steps").at(1)) == step);
  }
}

}  // namespace
}  // namespace tundish
