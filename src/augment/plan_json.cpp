#include "augment/plan_json.h"

namespace tundish {
namespace {

Json json_of(Size size) { return {size.width, size.height}; }
Json json_of(const Window& w) { return {w.x, w.y, w.width, w.height}; }

Json json_of(const ResizeStep& step) {
  return {{"crop", json_of(step.crop)},
          {"size", json_of(step.size)},
          {"keep", json_of(step.keep)},
          {"mirror_x", step.mirror_x},
          {"mirror_y", step.mirror_y},
          {"filter", resizes(step) ? json_of_value(step.filter) : Json()},
          {"pad", json_of_value(step.pad_mode)}};
}

Json json_of(const PixelStep& step) {
  const auto count = static_cast<std::size_t>(values_of(step.op));
  Json out = {{"op", json_of_value(step.op)},
              {"value", std::vector<double>(step.value.begin(), step.value.begin() + count)}};
  const bool moves = kind_of(step.op) == PixelKind::places || step.op == PixelOp::tensor_affine ||
                     step.op == PixelOp::elastic;
  if (moves) out["filter"] = json_of_value(step.filter);
  if (step.fill != Fill{}) out["fill"] = step.fill;
  if (step.size != Size{}) out["size"] = json_of(step.size);
  if (step.window != Window{}) out["window"] = json_of(step.window);
  if (step.key != 0) out["key"] = step.key;
  return out;
}

Json json_of(const Erasure& erasure) {
  Json out = {{"window", json_of(erasure.window)}};
  out["value"] = erasure.random ? Json("random") : Json(erasure.value);
  if (erasure.random) out["key"] = erasure.key;
  return out;
}

}  // namespace

Json plan_json(const View& view) {
  Json steps = Json::array();
  for (const PlanStep& step : view.steps()) {
    steps.push_back(std::visit([](const auto& one) { return json_of(one); }, step));
  }
  Json out = {{"image", json_of(view.image())},
              {"size", json_of(view.size())},
              {"steps", std::move(steps)}};
  if (view.reduction() != 1) out["reduction"] = view.reduction();
  for (const Erasure& erasure : view.erasures()) out["erasures"].push_back(json_of(erasure));
  return out;
}

}  // namespace tundish
