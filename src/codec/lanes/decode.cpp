#include "codec/lanes/decode.h"

#include <cstring>

#include "codec/lanes/crop_plan.h"
#include "codec/lanes/expand.h"

namespace tundish::lanes {

Decoder::Decoder(Cpu cpu)
    : decode_units_(decode_units_of(cpu)),
      cpu_(cpu),
      renderer_(cpu),
      work_(std::make_unique<Work>()) {}

// Fast decoders read slightly past the end of a unit, so a record's last units are copied first.
CodedUnit Decoder::coded(int x, int y, int place) {
  Bytes bytes = record_.unit(x, y);
  const std::byte* end = record_.bytes().data() + record_.bytes().size();
  if (end - (bytes.data() + bytes.size()) < kReadableBehind) {
    std::memcpy(work_->last[place], bytes.data(), bytes.size());
    bytes = Bytes(work_->last[place], bytes.size());
  }
  return {bytes, shape_of(record_.geometry(), x, y), record_.head().set};
}

// Decodes the units of a rectangle in row order, two at a time; calls `use` for each in order.
template <typename Use>
std::optional<Fault> Decoder::decode_units(const Tables& tables, int x0, int y0, int x1, int y1,
                                           const Use& use) {
  UnitValues* const values[2] = {&work_->values[0], &work_->values[1]};
  const int wide = x1 - x0, all = wide * (y1 - y0);
  for (int i = 0; i < all; i += 2) {
    const int count = std::min(2, all - i);
    CodedUnit units[2] = {};
    for (int k = 0; k < count; ++k) {
      units[k] = coded(x0 + (i + k) % wide, y0 + (i + k) / wide, k);
    }
    const unsigned good = decode_units_(values, units, count, tables, work_->unit);
    for (int k = 0; k < count; ++k) {
      const int x = x0 + (i + k) % wide, y = y0 + (i + k) / wide;
      if (!(good >> k & 1)) {
        return record_.unit_fault(x, y);
      }
      use(work_->values[k], x, y);
    }
  }
  return std::nullopt;
}

std::optional<Fault> Decoder::decode(StripSink& sink, Bytes record, const Window& window,
                                     const Tables& tables) {
  if (auto fault = record_.read(record)) return fault;
  const CropPlan plan = plan_crop(record_.geometry(), window);
  if (auto fault = record_.check_rows(plan.unit_y0, plan.unit_y1)) return fault;
  const RecordHead& head = record_.head();
  renderer_.begin(head.geometry, head.color, head.quantization, plan, sink);
  return decode_units(
      tables, plan.unit_x0, plan.unit_y0, plan.unit_x1, plan.unit_y1,
      [&](const UnitValues& values, int x, int y) { renderer_.push_unit(values, x, y); });
}

std::optional<Fault> Decoder::decode(Coefficients& out, Bytes record, const Tables& tables) {
  if (auto fault = record_.read(record)) return fault;
  const Geometry& geometry = record_.geometry();
  if (auto fault = record_.check_rows(0, geometry.units_y)) return fault;
  out.geometry = geometry;
  out.color = record_.head().color;
  for (int c = 0; c < kMaxComponents; ++c) {
    out.quantization[c] = record_.head().quantization[c];
    const Component& component = geometry.component[c];
    out.blocks[c].resize(c < geometry.components ? static_cast<std::size_t>(component.blocks_x) *
                                                       static_cast<std::size_t>(component.blocks_y)
                                                 : 0);
  }
  const Expand expand = expand_of(cpu_);
  return decode_units(
      tables, 0, 0, geometry.units_x, geometry.units_y,
      [&](const UnitValues& values, int x, int y) { expand_unit(out, values, x, y, expand); });
}

}  // namespace tundish::lanes
