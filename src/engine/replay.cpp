#include "engine/replay.h"

#include <fmt/format.h>

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

}  // namespace

std::vector<ReplayedSample> replayed(const Batch& batch, const Recipe& recipe) {
  std::vector<ReplayedSample> all;
  Sample sample;
  for (const std::size_t number : batch.places) {
    const Place& place = batch.slot->places[number];
    ReplayedSample one{.position = batch.slot->first + number,
                       .draw = place.draw,
                       .label = place.label,
                       .key = printable(recipe.source->key_or_nothing(place.draw.sample)),
                       .replaces = {}};
    for (const BadSample& bad : place.bad) one.replaces.push_back(bad.sample);
    recipe.source->read(sample, place.draw.sample, FieldSet{1} << recipe.image_field);
    ImageHeader header;
    if (const auto fault = recipe.source->read_header(
            header, place.draw.sample, sample.fields[static_cast<std::size_t>(recipe.image_field)],
            recipe.limits)) {
      throw SampleError(*fault, recipe.source->where_in(place.draw.sample, recipe.image_field));
    }
    one.view = plan_draw(recipe, header, batch.epoch, place.draw);
    all.push_back(std::move(one));
  }
  return all;
}

Json replay_json(const ReplayedSample& sample) {
  Json steps = Json::array();
  for (const ResizeStep& step : sample.view.steps()) steps.push_back(json_of(step));
  return {{"position", sample.position},
          {"sample", sample.draw.sample},
          {"repeat", sample.draw.repeat},
          {"key", sample.key},
          {"label", sample.label},
          {"replaces", sample.replaces},
          {"image", json_of(sample.view.image())},
          {"size", json_of(sample.view.size())},
          {"steps", std::move(steps)}};
}

}  // namespace tundish
