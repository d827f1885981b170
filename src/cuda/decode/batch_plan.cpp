#include "cuda/decode/batch_plan.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "cuda/decode/stream_copy.h"
#include "cuda/decode/tiles.h"

namespace tundish::cuda {
namespace {

constexpr int kMaxSide = 65535;
constexpr std::uint64_t kBatchAlign = 256;

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t align) {
  return (bytes + align - 1) / align * align;
}

std::uint16_t narrow(int value) {
  assert(value >= 0 && value <= kMaxSide);
  return static_cast<std::uint16_t>(value);
}

// One axis of a step: its task, and the range of crop positions that it reads.
struct Axis {
  AxisTask task = {};
  int from = 0, to = 0;
};

Axis axis_of(int in, int out, int keep_from, int keep, Filter filter, bool backwards, bool mirror) {
  Axis axis;
  const int from = backwards ? out - keep_from - keep : keep_from;
  const int last = from + keep - 1;
  int taps = 1;
  if (in == out) {
    axis.from = from;
    axis.to = last + 1;
  } else if (filter == Filter::nearest) {
    axis.from = nearest_input(in, out, from);
    axis.to = nearest_input(in, out, last) + 1;
  } else {
    const ResizedLine line(in, out, filter);
    axis.from = line.first(from);
    axis.to = line.end(last);
    taps = line.most_inputs();
  }
  if (backwards) {
    const int low = in - axis.to;
    axis.to = in - axis.from;
    axis.from = low;
  }
  axis.task.in = narrow(in);
  axis.task.out = narrow(out);
  axis.task.from = narrow(from);
  axis.task.keep = narrow(keep);
  axis.task.taps = narrow(taps);
  axis.task.groups = narrow((taps + 3) / 4);
  axis.task.end = narrow(axis.to);
  axis.task.backwards = backwards;
  axis.task.reversed = backwards != mirror;
  return axis;
}

Chroma chroma_of(const lanes::Geometry& geometry) {
  if (geometry.components == 1) return Chroma::gray;
  switch (lanes::upsampling_of(geometry)) {
    case lanes::Upsampling::none:
      return Chroma::full;
    case lanes::Upsampling::smooth_wide:
      return Chroma::smooth_wide;
    case lanes::Upsampling::smooth_both:
      return Chroma::smooth_both;
    case lanes::Upsampling::smooth_high:
      return Chroma::smooth_high;
    case lanes::Upsampling::repeat:
      break;
  }
  return Chroma::repeat;
}

std::uint8_t shift_of(int factor) {
  return static_cast<std::uint8_t>(factor == 4 ? 2 : factor == 2 ? 1 : 0);
}

// Returns the part of the image that contains the pixels read; empty if these are all padding.
Window needed_window(const Window& read, const lanes::Geometry& geometry, PadMode mode) {
  const Range across = needed_range(read.x, read.x + read.width, geometry.width, mode);
  const Range down = needed_range(read.y, read.y + read.height, geometry.height, mode);
  return {across.from, down.from, across.length, down.length};
}

// Fills in the fields that do not depend on which part of the image is read.
void describe(ImageTask& task, const lanes::RecordHead& head, const ResizeStep& step,
              const ElementPlace& place) {
  const lanes::Geometry& geometry = head.geometry;
  task.crop_x = step.crop.x;
  task.crop_y = step.crop.y;
  task.width = narrow(geometry.width);
  task.height = narrow(geometry.height);
  task.out = place.first;
  task.dy = place.dy;
  task.dx = place.dx;
  task.dc = place.dc;
  task.components = static_cast<std::uint8_t>(geometry.components);
  task.set = static_cast<std::uint8_t>(head.set);
  task.chroma = chroma_of(geometry);
  task.rgb = geometry.components == 3 && head.color == lanes::Color::rgb;  // gray is gray
  task.shift_x = shift_of(geometry.max_h);
  task.shift_y = shift_of(geometry.max_v);
  task.pad_mode = step.pad_mode;
  task.filter = step.filter;
  for (std::size_t c = 0; c < 3; ++c) task.fill[c] = step.fill[c];
}

template <class T>
void put(std::byte* to, const std::vector<T>& from) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size() * sizeof(T));
}

}  // namespace

void BatchPlan::begin(const BatchLimits& limits, bool resident) {
  resident_ = resident;
  gathered_ = 0;
  limits_ = limits;
  limits_.images = std::min(limits_.images, 65535u);
  limits_.buffer_bytes = std::min(limits_.buffer_bytes, std::uint64_t{0xf0000000});
  layout_ = {};
  units_.clear();
  images_.clear();
  items_.clear();
  pieces_.clear();
  coded_bytes_ = coded_end_ = plane_bytes_ = weight_words_ = 0;
}

Added BatchPlan::add(Bytes record, const View& view, const ElementPlace& place, bool check) {
  assert(!resident_);
  return add_from(reinterpret_cast<std::uintptr_t>(record.data()), record, view, place, check);
}

Added BatchPlan::add_resident(Bytes record, std::uint64_t at, const View& view,
                              const ElementPlace& place) {
  assert(resident_);
  return add_from(at, record, view, place, false);
}

void BatchPlan::move(std::size_t image, const ElementPlace& place) {
  ImageTask& task = images_[image];
  task.out = place.first;
  task.dy = place.dy;
  task.dx = place.dx;
  task.dc = place.dc;
}

BatchPlan::Extent BatchPlan::extent() const {
  return {units_.size(), images_.size(), items_.size(), pieces_.size(),
          coded_bytes_,  coded_end_,     plane_bytes_,  weight_words_};
}

void BatchPlan::take_back(const Extent& before) {
  units_.resize(before.units);
  images_.resize(before.images);
  items_.resize(before.items);
  pieces_.resize(before.pieces);
  coded_bytes_ = before.coded_bytes;
  coded_end_ = before.coded_end;
  plane_bytes_ = before.plane_bytes;
  weight_words_ = before.weight_words;
}

bool BatchPlan::is_within_limits() const {
  const std::uint64_t tasks = units_.size() * sizeof(UnitTask) +
                              images_.size() * sizeof(ImageTask) + items_.size() * sizeof(Item) +
                              (resident_ ? pieces_.size() * sizeof(Piece) : 0) + 4 * kBatchAlign;
  const std::uint64_t bytes = tasks + coded_end_ + kCodedSlack + kBatchAlign;
  return bytes <= limits_.buffer_bytes && (resident_ ? tasks : bytes) <= limits_.host_bytes &&
         plane_bytes_ <= limits_.plane_bytes && weight_words_ <= limits_.weight_words;
}

Added BatchPlan::add_from(std::uint64_t from, Bytes record, const View& view,
                          const ElementPlace& place, bool check) {
  if (auto fault = record_.read(record)) return {MadeBy::cpu, std::move(fault)};
  const lanes::Geometry& geometry = record_.head().geometry;
  assert((view.image() == Size{geometry.width, geometry.height}));
  const ResizeStep& step = view.first();
  if (view.steps().size() - steps_for_gpu(view.steps()) > 1 || step.crop.width > kMaxSide ||
      step.crop.height > kMaxSide || step.size.width > kMaxSide || step.size.height > kMaxSide) {
    return {MadeBy::cpu};
  }
  if (images_.size() >= limits_.images) return {MadeBy::full};

  const Extent before = extent();
  Axis x = axis_of(step.crop.width, step.size.width, step.keep.x, step.keep.width, step.filter,
                   step.backwards_x, step.mirror_x);
  Axis y = axis_of(step.crop.height, step.size.height, step.keep.y, step.keep.height, step.filter,
                   step.backwards_y, step.mirror_y);
  for (Axis* axis : {&x, &y}) {
    axis->task.weights = static_cast<std::uint32_t>(weight_words_);
    weight_words_ += round_up((std::uint64_t{3} * axis->task.groups + 1) * axis->task.keep, 4);
  }
  const Window read = {step.crop.x + x.from, step.crop.y + y.from, x.to - x.from, y.to - y.from};
  const Window needed = needed_window(read, geometry, step.pad_mode);
  ImageTask& task = images_.emplace_back();
  describe(task, record_.head(), step, place);
  task.axis[0] = x.task;
  task.axis[1] = y.task;
  task.padded = needed.width <= 0 || needed.height <= 0 || read.x < 0 || read.y < 0 ||
                read.x + read.width > geometry.width || read.y + read.height > geometry.height;

  if (auto fault = add_window(needed, from, check)) {
    take_back(before);
    return {MadeBy::cpu, std::move(fault)};
  }
  if (!add_tiles(items_, task, static_cast<std::uint32_t>(images_.size() - 1))) {
    take_back(before);
    return {MadeBy::cpu};
  }
  if (!is_within_limits()) {
    take_back(before);
    return {MadeBy::full};
  }
  return {};
}

std::optional<Fault> BatchPlan::add_window(const Window& needed, std::uint64_t from, bool check) {
  if (needed.width <= 0 || needed.height <= 0) return std::nullopt;  // only padding is read
  const lanes::CropPlan crop = lanes::plan_crop(record_.head().geometry, needed);
  if (check) {
    if (auto fault = record_.check_rows(crop.unit_y0, crop.unit_y1)) return fault;
  }
  add_planes(images_.back(), crop);
  return add_units(crop, from);
}

void BatchPlan::add_planes(ImageTask& task, const lanes::CropPlan& crop) {
  const lanes::RecordHead& head = record_.head();
  const lanes::Geometry& geometry = head.geometry;
  for (int c = 0; c < geometry.components; ++c) {
    const lanes::Component& component = geometry.component[c];
    const lanes::BlockRect& blocks = crop.blocks[c];
    PlaneTask& plane = task.plane[c];
    plane.unit_across = narrow(geometry.unit_width * component.h / geometry.max_h / lanes::kBlock);
    plane.unit_down = narrow(geometry.unit_height * component.v / geometry.max_v / lanes::kBlock);
    plane.blocks_x = narrow(component.blocks_x);
    plane.blocks_y = narrow(component.blocks_y);
    plane.x0 = narrow(blocks.x0);
    plane.y0 = narrow(blocks.y0);
    plane.x1 = narrow(blocks.x1);
    plane.y1 = narrow(blocks.y1);
    plane.width = narrow(component.width);
    plane.height = narrow(component.height);
    plane.at = static_cast<std::uint32_t>(plane_bytes_ / kPlaneAlign);
    plane.pitch = static_cast<std::uint32_t>(
        round_up(static_cast<std::uint64_t>(blocks.width() * lanes::kBlock), kPlaneAlign));
    plane_bytes_ +=
        std::uint64_t{plane.pitch} * static_cast<std::uint64_t>(blocks.height() * lanes::kBlock);
    std::memcpy(task.quantization[c], head.quantization[c].data(), sizeof task.quantization[c]);
  }
}

// The units of one row are contiguous in the record and copied as one piece.
std::optional<Fault> BatchPlan::add_units(const lanes::CropPlan& crop, std::uint64_t record) {
  const auto image = static_cast<std::uint16_t>(images_.size() - 1);
  for (int y = crop.unit_y0; y < crop.unit_y1; ++y) {
    const auto from = record_.unit(crop.unit_x0, y).data() - record_.bytes().data();
    // Kernels copy and read words. Only a forged record has odd lengths before this unit.
    if (resident_ && from % 2 != 0) return record_.unit_fault(crop.unit_x0, y);
    std::uint32_t at = 0;
    for (int x = crop.unit_x0; x < crop.unit_x1; ++x) {
      const auto bytes = static_cast<std::uint32_t>(record_.unit(x, y).size());
      if (bytes % 2 != 0) return record_.unit_fault(x, y);
      units_.push_back({static_cast<std::uint32_t>(coded_end_) + at,
                        static_cast<std::uint16_t>(bytes), image, narrow(x), narrow(y)});
      at += bytes;
    }
    pieces_.push_back(
        {record + static_cast<std::uint64_t>(from), static_cast<std::uint32_t>(coded_end_), at});
    coded_bytes_ += at;
    coded_end_ += round_up(at, kCodedAlign);
  }
  return std::nullopt;
}

// Counting sort: the order within 64 bytes does not matter.
void BatchPlan::finish() {
  constexpr std::size_t kClasses = 65536 / 64;
  std::uint32_t place[kClasses + 1] = {};
  const auto class_of = [](const UnitTask& unit) {
    return kClasses - 1 - unit.bytes / std::size_t{64};
  };
  for (const UnitTask& unit : units_) ++place[class_of(unit) + 1];
  for (std::size_t i = 1; i <= kClasses; ++i) place[i] += place[i - 1];
  sorted_.resize(units_.size());
  for (const UnitTask& unit : units_) sorted_[place[class_of(unit)]++] = unit;
  units_.swap(sorted_);

  layout_.units = static_cast<std::uint32_t>(units_.size());
  layout_.images = static_cast<std::uint32_t>(images_.size());
  layout_.items = static_cast<std::uint32_t>(items_.size());
  layout_.tile_columns = 1;
  for (const Item& item : items_) {
    layout_.tile_columns = std::max(layout_.tile_columns, std::uint32_t{item.x1} - item.x0);
  }
  layout_.pieces = resident_ ? static_cast<std::uint32_t>(pieces_.size()) : 0;
  layout_.coded_end = coded_end_;
  layout_.units_at = round_up(coded_end_ + kCodedSlack, kBatchAlign);
  layout_.images_at = layout_.units_at + round_up(units_.size() * sizeof(UnitTask), kBatchAlign);
  layout_.items_at = layout_.images_at + round_up(images_.size() * sizeof(ImageTask), kBatchAlign);
  layout_.pieces_at = layout_.items_at + round_up(items_.size() * sizeof(Item), kBatchAlign);
  layout_.bytes = layout_.pieces_at + round_up(layout_.pieces * sizeof(Piece), kBatchAlign);
  layout_.host_at = resident_ ? layout_.units_at : 0;
  layout_.plane_bytes = plane_bytes_;
  layout_.weight_words = weight_words_;
}

void BatchPlan::gather_coded(std::byte* to) {
  if (resident_) return;
  const auto address = [&](std::size_t i) {
    return reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(pieces_[i].from));
  };
  for (std::size_t i = gathered_; i < pieces_.size(); ++i) {
    // The next piece may begin anywhere; the hardware cannot predict its address.
    if (i + 1 < pieces_.size()) {
      for (int line = 0; line < 4; ++line) __builtin_prefetch(address(i + 1) + 64 * line);
    }
    stream_copy(to + pieces_[i].to, address(i), pieces_[i].length);
  }
  gathered_ = pieces_.size();
}

void BatchPlan::gather(std::byte* to) {
  gather_coded(to);
  finish_stream_copies();
  if (!resident_) std::memset(to + coded_end_, 0, layout_.units_at - coded_end_);
  const auto place = [&](std::uint64_t at) { return to + (at - layout_.host_at); };
  put(place(layout_.units_at), units_);
  put(place(layout_.images_at), images_);
  put(place(layout_.items_at), items_);
  if (resident_) put(place(layout_.pieces_at), pieces_);
}

}  // namespace tundish::cuda
