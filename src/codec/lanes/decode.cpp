#include "codec/lanes/decode.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "codec/lanes/expand.h"

namespace tundish::lanes {
namespace {

constexpr int kStripRows = 16;  // at most; except for the last, a multiple of kRowGroup
constexpr int kRowGroup = 4;
constexpr int kKeptRows = 8;  // maximum rows kept from one row of units to the next
constexpr std::ptrdiff_t kFront = 64;

std::ptrdiff_t round_up(std::ptrdiff_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

void Renderer::begin(const Geometry& geometry, Color color, const Quantization* quantization,
                     const CropPlan& plan, StripSink& sink) {
  geometry_ = geometry;
  color_ = color;
  upsampling_ = upsampling_of(geometry);
  const bool both = upsampling_ == Upsampling::smooth_both;
  smooth_wide_ = both || upsampling_ == Upsampling::smooth_wide;
  smooth_high_ = both || upsampling_ == Upsampling::smooth_high;
  plan_ = plan;
  sink_ = &sink;
  indent_ = plan.window.x % geometry.max_h;
  next_row_ = plan.window.y;
  for (int c = 0; c < geometry.components; ++c) {
    Plane& plane = plane_[c];
    pixels_.order_quantization(&plane.quantization, quantization[c].data());
    // One column on each side repeats the edge, and whole registers may be written after a row. An
    // odd number of cache lines keeps rows apart in the cache.
    plane.stride = round_up(plan.blocks[c].width() * kBlock + 1 + kFront) | 64;
    const int rows = geometry.unit_height * geometry.component[c].v / geometry.max_v + kKeptRows;
    plane.samples =
        plane.memory.take(static_cast<std::size_t>(kFront + plane.stride * rows + kRowSlack)) +
        kFront;
    plane.top = plane.bottom = plan.blocks[c].y0 * kBlock;
    plane.column = (plan.window.x - indent_) * geometry.component[c].h / geometry.max_h -
                   plan.blocks[c].x0 * kBlock;
    plane.row_shift = geometry.component[c].v < geometry.max_v ? 1 : 0;
  }
  const int widest = plan.window.width + geometry.max_h - 1;
  rgb_stride_ = round_up(std::ptrdiff_t{3} * widest);
  rgb_.take(static_cast<std::size_t>(rgb_stride_ * kStripRows + kRowSlack));
}

void Renderer::push_unit(const UnitValues& values, int unit_x, int unit_y) {
  UnitTask task = {&values, geometry_.components, {}};
  int first = 0;
  for (int c = 0; c < geometry_.components; ++c) {
    const Plane& plane = plane_[c];
    const BlockRect unit = blocks_of(geometry_, unit_x, unit_y, c);
    const BlockRect& wanted = plan_.blocks[c];
    ComponentTask& part = task.component[c];
    part.quantization = &plane.quantization;
    part.first = first;
    part.across = unit.width();
    part.down = unit.height();
    part.x0 = std::max(wanted.x0 - unit.x0, 0);
    part.y0 = std::max(wanted.y0 - unit.y0, 0);
    part.x1 = std::min(wanted.x1 - unit.x0, part.across);
    part.y1 = std::min(wanted.y1 - unit.y0, part.down);
    part.stride = plane.stride;
    part.out = plane.samples + ((unit.y0 + part.y0) * kBlock - plane.top) * plane.stride +
               (unit.x0 + part.x0 - wanted.x0) * kBlock;
    first += unit.count();
  }
  pixels_.render_unit(task);
  if (unit_x == plan_.unit_x1 - 1) end_row_of_units(unit_y);
}

void Renderer::end_row_of_units(int unit_y) {
  for (int c = 0; c < geometry_.components; ++c) {
    const BlockRect unit = blocks_of(geometry_, plan_.unit_x0, unit_y, c);
    const int end = std::min(unit.y1, plan_.blocks[c].y1) * kBlock;
    const int bottom = std::min(end, geometry_.component[c].height);
    if (bottom <= plane_[c].bottom) continue;  // none of its blocks were wanted
    if (c > 0 && smooth_wide_) extend_edges(c, plane_[c].bottom, bottom);
    plane_[c].bottom = bottom;
  }
  int rows = end_of_complete_rows() - next_row_;
  if (unit_y < plan_.unit_y1 - 1) rows -= rows % kRowGroup;
  while (rows > 0) {
    const int now = std::min(rows, kStripRows);
    send(now);
    rows -= now;
  }
  if (unit_y == plan_.unit_y1 - 1) return;
  for (int c = 0; c < geometry_.components; ++c) keep_rows(c);
}

// Repeats the outermost samples beyond the image's left and right edges.
void Renderer::extend_edges(int component, int from, int to) {
  const Plane& plane = plane_[component];
  const BlockRect& blocks = plan_.blocks[component];
  const int last = geometry_.component[component].width - 1 - blocks.x0 * kBlock;
  const bool at_left = blocks.x0 == 0;
  const bool at_right = blocks.x1 == geometry_.component[component].blocks_x;
  for (int y = from; y < to; ++y) {
    std::uint8_t* row = plane.samples + (y - plane.top) * plane.stride;
    if (at_left) row[-1] = row[0];
    if (at_right) row[last + 1] = row[last];
  }
}

// Returns one past the last pixel row whose samples and lower neighbors are all decoded.
int Renderer::end_of_complete_rows() const {
  int end = plan_.window.y + plan_.window.height;
  for (int c = 0; c < geometry_.components; ++c) {
    if (plane_[c].bottom == geometry_.component[c].height) continue;
    const int below = c > 0 && smooth_high_ ? 1 : 0;
    end = std::min(end, (plane_[c].bottom << plane_[c].row_shift) - below);
  }
  return std::max(end, next_row_);
}

void Renderer::send(int rows) {
  RowTask task = {};
  task.rgb = rgb_.data();
  task.width = plan_.window.width + indent_;
  task.repeat = geometry_.max_h;
  for (int i = 0; i < rows; ++i, task.rgb += rgb_stride_) {
    point_at_row(task, next_row_ + i);
    if (geometry_.components == 1) {
      pixels_.gray_row(task);
    } else {
      pixels_.color_row(task, upsampling_, color_);
    }
  }
  sink_->push({rgb_.data() + std::ptrdiff_t{3} * indent_, rgb_stride_, plan_.window.x, next_row_,
               plan_.window.width, rows});
  next_row_ += rows;
}

void Renderer::point_at_row(RowTask& task, int y) const {
  task.lower = y % 2 == 1;
  for (int c = 0; c < geometry_.components; ++c) {
    const Plane& plane = plane_[c];
    const auto row = [&](int at) {
      return plane.samples + (at - plane.top) * plane.stride + plane.column;
    };
    const int near = y >> plane.row_shift;
    task.plane[c] = row(near);
    if (c > 0 && smooth_high_) {
      const int last = geometry_.component[c].height - 1;
      task.beside[c] = row(std::clamp(near + (task.lower ? 1 : -1), 0, last));
    }
  }
}

// Moves the rows that later pixel rows need to the front.
void Renderer::keep_rows(int component) {
  Plane& plane = plane_[component];
  const int above = component > 0 && smooth_high_ && next_row_ % 2 == 0 ? 1 : 0;
  const int first = (next_row_ >> plane.row_shift) - above;
  const int from = std::clamp(first, plane.top, plane.bottom);
  assert(plane.bottom - from <= kKeptRows);
  std::memmove(plane.samples - kFront, plane.samples + (from - plane.top) * plane.stride - kFront,
               static_cast<std::size_t>((plane.bottom - from) * plane.stride));
  plane.top = from;
}

// --- the decoder ---------------------------------------------------------------------------------

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
