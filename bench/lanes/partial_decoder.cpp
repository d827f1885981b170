#include "partial_decoder.h"

#include <algorithm>
#include <cstring>

#include "codec/lanes/crop_plan.h"

namespace tundish::bench {
namespace {

// RGB rows are not made before Until::rgb.
lanes::Pixels pixels_until(Until until, Cpu cpu) {
  lanes::Pixels out = lanes::pixels_of(cpu);
  if (until == Until::rgb) return out;
  out.gray_row = [](const lanes::RowTask&) {};
  out.color_row = [](const lanes::RowTask&, lanes::Upsampling, lanes::Color) {};
  return out;
}

}  // namespace

PartialDecoder::PartialDecoder(Until until, Cpu cpu)
    : until_(until),
      decode_units_(lanes::decode_units_of(cpu)),
      pixels_(pixels_until(until, cpu)),
      renderer_(pixels_),
      work_(std::make_unique<Work>()) {}

lanes::CodedUnit PartialDecoder::coded(int x, int y, int place) {
  Bytes bytes = record_.unit(x, y);
  const std::byte* end = record_.bytes().data() + record_.bytes().size();
  if (end - (bytes.data() + bytes.size()) < lanes::kReadableBehind) {
    std::memcpy(work_->last[place], bytes.data(), bytes.size());
    bytes = Bytes(work_->last[place], bytes.size());
  }
  return {bytes, lanes::shape_of(record_.geometry(), x, y), record_.head().set};
}

std::optional<Fault> PartialDecoder::decode(StripSink& sink, Bytes record, const Window& window,
                                            const lanes::Tables& tables) {
  if (auto fault = record_.read(record)) return fault;
  const lanes::RecordHead& head = record_.head();
  const lanes::CropPlan plan = lanes::plan_crop(head.geometry, window);
  if (auto fault = record_.check_rows(plan.unit_y0, plan.unit_y1)) return fault;
  if (until_ == Until::head) return std::nullopt;

  const bool renders = until_ >= Until::samples;
  if (renders) renderer_.begin(head.geometry, head.color, head.quantization, plan, sink);
  lanes::UnitValues* const values[2] = {&work_->values[0], &work_->values[1]};
  const int wide = plan.unit_x1 - plan.unit_x0, all = wide * (plan.unit_y1 - plan.unit_y0);
  for (int i = 0; i < all; i += 2) {
    const int count = std::min(2, all - i);
    lanes::CodedUnit units[2] = {};
    for (int k = 0; k < count; ++k) {
      units[k] = coded(plan.unit_x0 + (i + k) % wide, plan.unit_y0 + (i + k) / wide, k);
    }
    const unsigned good = decode_units_(values, units, count, tables, work_->unit);
    if (good != (1u << count) - 1) return Fault{ErrorCode::image_damaged, "a unit is damaged", 0};
    for (int k = 0; renders && k < count; ++k) {
      renderer_.push_unit(*values[k], plan.unit_x0 + (i + k) % wide, plan.unit_y0 + (i + k) / wide);
    }
  }
  return std::nullopt;
}

}  // namespace tundish::bench
