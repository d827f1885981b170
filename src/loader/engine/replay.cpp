#include "loader/engine/replay.h"

#include "augment/plan_json.h"

namespace tundish {
std::vector<ReplayedSample> replayed(const Batch& batch, const Recipe& recipe) {
  std::vector<ReplayedSample> all;
  Sample sample;
  for (const std::size_t number : batch.places) {
    const Place& place = batch.slot->places[number];
    ReplayedSample one{.position = place.position,
                       .draw = place.draw,
                       .label = place.label,
                       .key = printable(recipe.source->key_or_nothing(place.draw.sample)),
                       .replaces = {},
                       .views = {},
                       .mix = {},
                       .partner = {}};
    for (const BadSample& bad : place.bad) one.replaces.push_back(bad.sample);
    if (recipe.image_field < 0) {  // arrays have no plan
      all.push_back(std::move(one));
      continue;
    }
    recipe.source->read(sample, place.draw.sample, FieldSet{1} << recipe.image_field);
    ImageHeader header;
    if (const auto fault = recipe.source->read_header(
            header, place.draw.sample, sample.fields[static_cast<std::size_t>(recipe.image_field)],
            recipe.limits)) {
      throw SampleError(*fault, recipe.source->where_in(place.draw.sample, recipe.image_field));
    }
    one.views = plan_draw(recipe, header, batch.epoch, place.draw);
    if (!batch.slot->mixes.empty()) {
      const PlaceMix& planned = batch.slot->mixes[number];
      const Place& partner = batch.slot->places[planned.partner];
      if (planned.partner != number && partner.filled) {
        one.mix = planned.mix;
        one.partner = partner.draw;
      }
    }
    all.push_back(std::move(one));
  }
  return all;
}

Json replay_json(const ReplayedSample& sample) {
  Json out = {{"position", sample.position},  {"sample", sample.draw.sample},
              {"repeat", sample.draw.repeat}, {"key", sample.key},
              {"label", sample.label},        {"replaces", sample.replaces}};
  if (sample.partner) {
    const Window& box = sample.mix.box;
    out["mix"] = {{"partner", sample.partner->sample},
                  {"repeat", sample.partner->repeat},
                  {"share", sample.mix.share}};
    if (sample.mix.kind == Mix::Kind::cut) {
      out["mix"]["box"] = {box.x, box.y, box.width, box.height};
    }
  }
  if (sample.views.size() == 1) {
    out.update(plan_json(sample.views.front()));
    return out;
  }
  Json views = Json::array();
  for (const View& view : sample.views) views.push_back(plan_json(view));
  out["views"] = std::move(views);
  return out;
}

}  // namespace tundish
