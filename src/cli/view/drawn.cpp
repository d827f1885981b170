#include "cli/view/drawn.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "augment/cpu/layout.h"
#include "augment/cpu/plan_runner.h"
#include "augment/pixels/colors/colors.h"
#include "augment/transform.h"
#include "cli/view/level_finder.h"
#include "cli/view/over_white.h"
#include "loader/sample/orientation.h"

namespace tundish::cli {
namespace {

// Includes alpha after the pixels in ImageMode::rgba.
Picture decode_sample(const Source& source, std::uint64_t i, const DrawOptions& options) {
  const int field = source.schema().find(FieldType::image);
  Sample sample;
  source.read(sample, i, FieldSet{1} << field);
  const Bytes bytes = sample.fields.at(static_cast<std::size_t>(field));
  ImageHeader header;
  if (const auto fault = source.read_header(header, i, bytes, Limits{})) {
    throw SampleError(*fault, source.where_in(i, field));
  }
  header.keep_alpha = options.mode == ImageMode::rgba;
  const std::uint8_t orientation = options.exif_orientation ? header.orientation : std::uint8_t{1};
  const Size stored{static_cast<int>(header.width), static_cast<int>(header.height)};
  Picture out{upright_size(stored, orientation), {}};
  DecodeScratch scratch;
  if (const auto fault = decode_upright(out.rgb, bytes, header, orientation, scratch, Limits{})) {
    throw SampleError(*fault, source.where_in(i, field));
  }
  return out;
}

// Returns the channels of a drawn picture: three even where a batch has one.
int channels_in(const PixelTable& table) { return table.alpha ? 4 : 3; }

// Returns the elements of a plan's result, (height, width, channels).
std::vector<std::byte> run_plan(const View& view, const PixelTable& table, const Picture& image) {
  const int channels = channels_in(table);
  std::vector<std::byte> out(image_bytes(view.size(), table.dtype, channels));
  PlanRunner runner;
  runner.begin(view, table, placement(out.data(), view.size(), table.dtype, false, channels),
               CpuPart::all);
  if (runner.needed().width > 0 && runner.needed().height > 0) {
    Strip strip = whole_strip(image.rgb, image.size);
    if (channels == 4) {
      strip.alpha = image.rgb.data() + image_bytes(image.size, Dtype::uint8);
      strip.alpha_stride = image.size.width;
    }
    runner.sink().push(strip);
  }
  (void)runner.finish();
  return out;
}

Picture levels_of(const std::vector<std::byte>& elements, Size size, const PixelTable& table) {
  const LevelFinder finder(table);
  const auto channels = static_cast<std::size_t>(channels_in(table));
  Picture out{size, std::vector<std::uint8_t>(image_bytes(size, Dtype::uint8, channels_in(table)))};
  const std::size_t bytes = dtype_bytes(table.dtype);
  for (std::size_t i = 0; i < out.rgb.size(); ++i) {
    float element = 0;
    if (table.dtype == Dtype::uint8) {
      element = static_cast<float>(std::to_integer<int>(elements[i]));
    } else {
      std::memcpy(&element, elements.data() + i * bytes, sizeof element);
    }
    out.rgb[i] = finder.level(element, i % channels);
  }
  if (channels == 4) out.rgb = over_white(out.rgb);
  return out;
}

Picture reduced(Picture picture, Size most) {
  const double scale =
      std::min(most.width / double(picture.size.width), most.height / double(picture.size.height));
  if (scale >= 1) return picture;
  const auto side = [&](int pixels) { return std::max(1, int(std::lround(pixels * scale))); };
  View view(picture.size);
  view.resize({side(picture.size.width), side(picture.size.height)}, Filter::bilinear);
  const PixelTable table = pixel_table({});
  return levels_of(run_plan(view, table, picture), view.size(), table);
}

View plan_of(const Source& source, const DrawOptions& options, Size image, const Key& key,
             std::uint32_t crop) {
  try {
    return plan_view(options.transforms, image, key, crop, options.mode);
  } catch (const Error& error) {
    throw Error(error.code(), source.where(key.sample), error.reason());
  }
}

}  // namespace

DrawnSample draw_sample(const Source& source, std::uint64_t sample, const DrawOptions& options) {
  Picture image = decode_sample(source, sample, options);
  if (options.mode == ImageMode::l) {
    change_colors(image.rgb.data(), image.rgb.size() / 3, {.op = PixelOp::grayscale}, cpu());
  }
  DrawnSample out{.sample = sample,
                  .label = source.info(sample).label,
                  .key = source.key_or_nothing(sample),
                  .stored = image.size,
                  .original = {},
                  .draws = {}};
  DrawOptions shown = options;
  shown.transforms = in_float32(options.transforms);
  const bool has_alpha = options.mode == ImageMode::rgba;
  const PixelTable table =
      pixel_table(shown.transforms, has_alpha ? ImageMode::rgba : ImageMode::rgb);
  const std::uint32_t crops = crops_of(shown.transforms);
  Size largest;
  for (std::uint64_t d = 0; d < options.draws; ++d) {
    const std::uint64_t epoch = options.epoch + d / crops;
    const View view = plan_of(
        source, shown, image.size,
        {.seed = options.seed, .epoch = epoch, .sample = sample, .repeat = 0, .view = options.view},
        static_cast<std::uint32_t>(d % crops));
    Picture picture = levels_of(run_plan(view, table, image), view.size(), table);
    picture = reduced(std::move(picture), {kMaxTileSide, kMaxTileSide});
    largest.width = std::max(largest.width, picture.size.width);
    largest.height = std::max(largest.height, picture.size.height);
    out.draws.push_back({epoch, view, std::move(picture)});
  }
  if (has_alpha) {  // drawn over white
    const PixelTable levels = pixel_table({}, ImageMode::rgba);
    const View whole(image.size, ImageMode::rgba);
    image = levels_of(run_plan(whole, levels, image), image.size, levels);
  }
  out.original = reduced(std::move(image), largest);
  return out;
}

}  // namespace tundish::cli
