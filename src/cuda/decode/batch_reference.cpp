#include "cuda/decode/batch_reference.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <memory>

#include "codec/lanes/coefficients.h"
#include "codec/lanes/decode_unit.h"
#include "codec/lanes/idct.h"
#include "cuda/decode/axis_output.h"
#include "cuda/decode/pixel_fours.h"
#include "cuda/decode/tile_shape.h"

namespace tundish::cuda {
namespace {

lanes::BlockRect blocks_of(const PlaneTask& plane, const UnitTask& unit) {
  const int x0 = unit.x * plane.unit_across, y0 = unit.y * plane.unit_down;
  return {x0, y0, std::min<int>(x0 + plane.unit_across, plane.blocks_x),
          std::min<int>(y0 + plane.unit_down, plane.blocks_y)};
}

// Computes one block's samples and writes them to the plane.
void make_block(std::uint8_t* plane_begin, const PlaneTask& plane, int x, int y,
                const lanes::UnitValues& values, int b, const std::uint16_t* quantization) {
  std::int16_t coefficients[64] = {};
  coefficients[0] = static_cast<std::int16_t>(values.dc[b] * quantization[0]);
  int position = values.start[b];
  for (unsigned z = 1; z < 64; ++z) {
    if ((values.mask[b] >> z & 1) == 0) continue;
    int value = values.value[position];
    for (int e = 0; e < values.escapes; ++e) {
      if (values.escape[e].position == position) value = values.escape[e].value;
    }
    const int place = lanes::kZigzag[z];
    coefficients[place] = static_cast<std::int16_t>(value * quantization[place]);
    ++position;
  }
  const auto pitch = static_cast<std::ptrdiff_t>(plane.pitch);
  lanes::idct(plane_begin + 8 * (y - plane.y0) * pitch + 8 * (x - plane.x0), pitch, coefficients);
}

bool decode_unit(std::uint8_t* planes, const UnitTask& task, const ImageTask& image,
                 const std::byte* coded, const lanes::Tables& tables, lanes::UnitValues& values) {
  lanes::CodedUnit unit = {Bytes(coded + task.offset, task.bytes), {}, image.set};
  int end = 0;
  for (int c = 0; c < lanes::kMaxComponents; ++c) {
    if (c < image.components) end += blocks_of(image.plane[c], task).count();
    unit.shape.end[c] = end;
  }
  if (!lanes::decode_unit_reference(values, unit, tables)) return false;
  int begin = 0;
  for (int c = 0; c < image.components; ++c) {
    const PlaneTask& plane = image.plane[c];
    const lanes::BlockRect rect = blocks_of(plane, task);
    for (int y = std::max<int>(rect.y0, plane.y0); y < std::min<int>(rect.y1, plane.y1); ++y) {
      for (int x = std::max<int>(rect.x0, plane.x0); x < std::min<int>(rect.x1, plane.x1); ++x) {
        make_block(planes + std::size_t{plane.at} * kPlaneAlign, plane, x, y, values,
                   begin + lanes::place_of(rect, x, y), image.quantization[c]);
      }
    }
    begin += rect.count();
  }
  return true;
}

int clip(std::int32_t sum) { return std::clamp(sum >> kWeightBits, 0, 255); }

// Computes levels of the finished image from the pixels of the crop.
class Outputs {
 public:
  Outputs(const ImageTask& image, const std::uint8_t* planes)
      : image_(image), pixels_(image, planes) {}

  int level(int x, int y, int c) const {
    const AxisOutput across(image_.axis[0], image_.filter, x);
    const AxisOutput down(image_.axis[1], image_.filter, y);
    std::int32_t sum = 1 << (kWeightBits - 1);
    for (int k = 0; k < down.used; ++k) {
      std::int32_t row = 1 << (kWeightBits - 1);
      for (int j = 0; j < across.used; ++j) {
        row += across.weight(j) * pixel(across.first() + j, down.first() + k, c);
      }
      sum += down.weight(k) * clip(row);
    }
    return clip(sum);
  }

 private:
  // Coordinates within the crop.
  int pixel(int x, int y, int c) const {
    const int column = image_.crop_x + x, row = image_.crop_y + y;
    std::uint8_t rgb[3];
    if (image_.padded) {
      pixels_.padded(rgb, column, row);
      return rgb[c];
    }
    std::uint32_t channel[3];
    pixels_.color(channel, pixels_.load(column & ~3, row));
    return byte_of(channel[c], column & 3);
  }

  const ImageTask& image_;
  FourPixels pixels_;
};

// Checks the invariants that a thread block relies on.
void check_tile(const Item& item, const ImageTask& image) {
  const auto first = [&](int axis, int place) {
    return AxisOutput(image.axis[axis], image.filter, place).first();
  };
  const int columns = item.x1 - item.x0;
  const Reach x = reach_of(image.axis[0], first(0, item.x0), first(0, item.x1 - 1));
  const Reach y = reach_of(image.axis[1], first(1, item.y0), first(1, item.y1 - 1));
  const TileShape shape(image, x, columns);
  assert(columns > 0 && columns <= kTileColumns && item.y1 > item.y0);
  assert(shape.rows_at_once >= 4);
  const int last = std::max(first(1, item.y0), first(1, item.y1 - 1)) - y.from;
  assert(last / 4 + image.axis[1].groups < shape.words);
  assert((y.to - y.from + 3) / 4 <= shape.words);
  (void)shape, (void)last, (void)columns;
}

}  // namespace

void gather_reference(std::byte* batch, const BatchLayout& layout, const std::byte* records) {
  std::fill(batch, batch + layout.units_at, std::byte{0});  // includes the gaps between pieces
  const auto* pieces = reinterpret_cast<const Piece*>(batch + layout.pieces_at);
  for (std::uint32_t i = 0; i < layout.pieces; ++i) {
    std::memcpy(batch + pieces[i].to, records + pieces[i].from, pieces[i].length);
  }
}

std::vector<std::uint32_t> run_batch_reference(std::byte* out, const std::byte* batch,
                                               const BatchLayout& layout,
                                               const lanes::Tables& tables,
                                               const PixelTable& table) {
  const auto* units = reinterpret_cast<const UnitTask*>(batch + layout.units_at);
  const auto* images = reinterpret_cast<const ImageTask*>(batch + layout.images_at);
  const auto* items = reinterpret_cast<const Item*>(batch + layout.items_at);
  std::vector<std::uint8_t> planes(layout.plane_bytes + 8);
  std::vector<std::uint32_t> errors(layout.images, kNoError);
  const auto values = std::make_unique<lanes::UnitValues>();
  for (std::uint32_t i = 0; i < layout.units; ++i) {
    const UnitTask& task = units[i];
    if (!decode_unit(planes.data(), task, images[task.image], batch, tables, *values)) {
      errors[task.image] = std::min(errors[task.image], error_word(task.x, task.y));
    }
  }
  const auto bytes = static_cast<std::ptrdiff_t>(dtype_bytes(table.dtype));
  for (std::uint32_t i = 0; i < layout.items; ++i) {
    const Item& item = items[i];
    const ImageTask& image = images[item.image];
    check_tile(item, image);
    const Outputs outputs(image, planes.data());
    for (int y = item.y0; y < item.y1; ++y) {
      for (int x = item.x0; x < item.x1; ++x) {
        for (int c = 0; c < 3; ++c) {
          std::uint32_t element = 0;
          if (errors[item.image] == kNoError) {
            const auto level = static_cast<std::size_t>(outputs.level(x, y, c));
            element = table.value[static_cast<std::size_t>(c)][level];
          }
          const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(image.out) +
                                    std::ptrdiff_t{y} * image.dy + std::ptrdiff_t{x} * image.dx +
                                    std::ptrdiff_t{c} * image.dc;
          std::memcpy(out + at * bytes, &element, static_cast<std::size_t>(bytes));
        }
      }
    }
  }
  return errors;
}

}  // namespace tundish::cuda
