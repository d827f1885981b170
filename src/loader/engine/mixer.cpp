#include "loader/engine/mixer.h"

#include <algorithm>
#include <array>

#include "augment/mix_rows.h"
#include "loader/engine/batch_rows.h"

namespace tundish {

Mixer::Mixer(const Mixing& mixing, const Recipe& recipe, const LoaderOptions& options,
             const Schedule& schedule, std::uint32_t classes)
    : mixing_(mixing),
      recipe_(recipe),
      options_(options),
      schedule_(schedule),
      classes_(classes),
      table_(float_table(recipe.views.front().transforms)) {}

// Returns the place of a position: a place of this rank, or a foreign partner's.
std::size_t Mixer::place_of(Slot& slot, std::uint64_t position) const {
  const auto found = std::find_if(slot.places.begin(), slot.places.end(),
                                  [&](const Place& one) { return one.position == position; });
  if (found != slot.places.end()) return static_cast<std::size_t>(found - slot.places.begin());
  slot.places.emplace_back();
  slot.places.back().position = position;
  ++slot.foreign_partners;
  return slot.places.size() - 1;
}

void Mixer::open(Slot& slot) const {
  Schedule last = schedule_;
  last.rank = last.world_size - 1;
  const Step end = step_at(last, slot.start);
  const std::uint64_t count = end.first + end.size - slot.start;  // images in the global batch
  const std::size_t own = slot.places.size();
  slot.mixes.assign(own, {});
  const Size size = fixed_size(recipe_.views.front().transforms, slot.epoch);
  Mix of_all;
  if (!mixing_.is_drawn_for_each()) {
    of_all = mixing_.draw(options_.seed, slot.epoch, slot.start, 0, size);
  }
  for (std::size_t i = 0; i < own; ++i) {
    const std::uint64_t number = slot.first + i - slot.start;
    const std::uint64_t partner =
        partner_of(number, count, mixing_.partners(), options_.order.repeats);
    PlaceMix& mix = slot.mixes[i];
    mix.mix = mixing_.is_drawn_for_each()
                  ? mixing_.draw(options_.seed, slot.epoch, slot.start, number, size)
                  : of_all;
    mix.partner = i;
    if (partner == number || mix.mix.kind == Mix::Kind::none) {
      mix.mix = {};
      continue;
    }
    const bool is_here =
        partner >= slot.first - slot.start && partner < slot.first - slot.start + own;
    mix.partner = is_here ? static_cast<std::size_t>(slot.start + partner - slot.first)
                          : place_of(slot, slot.start + partner);
  }
  slot.needed_by.assign(slot.places.size(), kNoPlace);
  for (std::size_t i = 0; i < own; ++i) {
    slot.mixes[i].waits = slot.mixes[i].partner == i ? 1 : 2;
    if (slot.mixes[i].partner != i) slot.needed_by[slot.mixes[i].partner] = i;
  }
}

void Mixer::done(Slot& slot, std::size_t number, const CpuMaker& maker, MixRows& rows) const {
  std::array<std::size_t, 2> ready{kNoPlace, kNoPlace};
  {
    std::lock_guard lock(slot.mutex);
    if (number < slot.own() && --slot.mixes[number].waits == 0) ready[0] = number;
    const std::size_t other = slot.needed_by[number];
    if (other != kNoPlace && --slot.mixes[other].waits == 0) ready[1] = other;
  }
  for (const std::size_t one : ready) {
    if (one == kNoPlace) continue;
    try {
      mix(slot, one, maker, rows);
    } catch (...) {
      slot.places[one].error = std::current_exception();
    }
  }
}

void Mixer::mix(Slot& slot, std::size_t number, const CpuMaker& maker, MixRows& rows) const {
  const Place& place = slot.places[number];
  if (!place.filled) return;
  {
    std::lock_guard lock(slot.mutex);
    take_row(slot, number);
  }
  const auto image = [&](std::size_t i) {
    return MixImage{maker.levels_of(slot, i), slot.places[i].gpu_work.front().erasures};
  };
  const PlaceMix& planned = slot.mixes[number];
  const bool mixes = planned.partner != number && slot.places[planned.partner].filled;
  const std::size_t partner = mixes ? planned.partner : number;
  const Dtype dtype = recipe_.views.front().dtype;
  const Size size = place.size;
  const int channels = recipe_.stored_channels(recipe_.views.front());
  std::byte* const row = row_of(slot, 0, number, image_bytes(size, dtype, channels));
  rows.run(image(number), image(partner), mixes ? planned.mix : Mix{}, size, table_,
           placement(row, size, dtype, options_.channels_first(), channels), dtype);
}

Mixer::LabelValues Mixer::label_values() const {
  const double smoothing = mixing_.label_smoothing(), off = smoothing / classes_;
  return {static_cast<float>(1.0 - smoothing + off), static_cast<float>(off)};
}

std::vector<float> Mixer::soft_labels(const Slot& slot) const {
  const auto [on, off] = label_values();
  std::vector<float> out;
  for (std::size_t i = 0; i < slot.own(); ++i) {
    if (!slot.places[i].filled) continue;
    const PlaceMix& planned = slot.mixes[i];
    const bool mixes = planned.partner != i && slot.places[planned.partner].filled;
    const auto share = static_cast<float>(mixes ? planned.mix.share : 1.0);
    const auto rest = static_cast<float>(mixes ? 1.0 - planned.mix.share : 0.0);
    const auto own = static_cast<std::size_t>(slot.places[i].label);
    const auto other = static_cast<std::size_t>(slot.places[mixes ? planned.partner : i].label);
    const std::size_t first = out.size();
    if (recipe_.label_width > 0) {
      const std::vector<float>& mine = slot.places[i].label_vector;
      const std::vector<float>& theirs = slot.places[mixes ? planned.partner : i].label_vector;
      for (std::size_t k = 0; k < classes_; ++k) {
        out.push_back(mixes ? blend(mine[k], theirs[k], share, rest) : mine[k]);
      }
      continue;
    }
    out.resize(first + classes_, blend(off, off, share, rest));
    out[first + own] = blend(on, own == other ? on : off, share, rest);
    if (own != other) out[first + other] = blend(off, on, share, rest);
  }
  return out;
}

}  // namespace tundish
