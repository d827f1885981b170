#include "engine/replay.h"

#include "augment/plan_json.h"

namespace tundish {
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
  Json out = {{"position", sample.position},  {"sample", sample.draw.sample},
              {"repeat", sample.draw.repeat}, {"key", sample.key},
              {"label", sample.label},        {"replaces", sample.replaces}};
  out.update(plan_json(sample.view));
  return out;
}

}  // namespace tundish
