#include "batch/sample.h"

#include "batch/orientation.h"
#include "core/clock.h"

namespace tundish {
namespace {

// A stage's rows, kept as an image for the next stage.
class KeepRows : public RowSink {
 public:
  KeepRows(std::vector<std::uint8_t>& image, Size size) : image_(image), width_(size.width) {
    image.resize(std::size_t{3} * static_cast<std::size_t>(size.width) *
                 static_cast<std::size_t>(size.height));
  }
  void row(int y, const std::uint8_t* rgb, int width, bool mirror_x) override {
    std::uint8_t* to = image_.data() + std::ptrdiff_t{3} * y * width_;
    for (int x = 0; x < width; ++x) {
      const std::uint8_t* from = rgb + std::ptrdiff_t{3} * (mirror_x ? width - 1 - x : x);
      to[3 * x] = from[0];
      to[3 * x + 1] = from[1];
      to[3 * x + 2] = from[2];
    }
  }

 private:
  std::vector<std::uint8_t>& image_;
  int width_;
};

Strip whole(const std::vector<std::uint8_t>& image, Size size) {
  return {image.data(), std::ptrdiff_t{3} * size.width, 0, 0, size.width, size.height};
}

std::uint8_t orientation_of(const Recipe& recipe, const ImageHeader& header) {
  return recipe.exif_orientation ? header.orientation : std::uint8_t{1};
}

}  // namespace

View plan_draw(const Recipe& recipe, const ImageHeader& header, std::uint64_t epoch,
               const Draw& draw) {
  const Size stored{static_cast<int>(header.width), static_cast<int>(header.height)};
  try {
    return plan_view(
        recipe.transforms, upright_size(stored, orientation_of(recipe, header)),
        {.seed = recipe.seed, .epoch = epoch, .sample = draw.sample, .repeat = draw.repeat});
  } catch (const Error& error) {
    throw Error(error.code(), recipe.source->where(draw.sample), error.reason());
  }
}

void load_sample(const Placer& placer, const Recipe& recipe, std::uint64_t epoch, const Draw& draw,
                 Scratch& scratch) {
  const Source& source = *recipe.source;
  const auto tell = [&](Doing::Stage stage) {
    if (!scratch.doing) return;
    scratch.doing->sample = draw.sample;
    scratch.doing->stage = stage;
  };
  const std::uint64_t begin_ns = now_ns();

  // Read.
  tell(Doing::Stage::reading);
  const FieldSet image_bit = FieldSet{1} << recipe.image_field;
  source.read(scratch.sample, draw.sample, recipe.fields | image_bit);
  const Bytes bytes = scratch.sample.fields[static_cast<std::size_t>(recipe.image_field)];
  tell(Doing::Stage::decoding);
  const std::uint64_t read_ns = now_ns();
  scratch.bytes = bytes.size();
  scratch.read_ns = read_ns - begin_ns;
  scratch.decode_ns = 0;

  const auto check = [&](const std::optional<Fault>& fault) {
    if (!fault) return;
    Extent extent;
    const bool in_file = source.extent(draw.sample, recipe.image_field, extent);
    Where where = source.where(draw.sample);
    where.offset = in_file ? extent.offset : 0;
    throw SampleError(*fault, where);
  };

  // Plan: every random choice, before a byte is decoded.
  ImageHeader header;
  check(source.read_header(header, draw.sample, bytes, recipe.limits));
  const std::uint8_t orientation = orientation_of(recipe, header);
  const View view = plan_draw(recipe, header, epoch, draw);
  const Size image = view.image();
  const Placement place = placer(view.size());
  if (!place.base) return;

  // Decode only what the first stage needs, straight into it; the last stage stores.
  scratch.store.begin(recipe.table, place);
  Size size = image;
  for (std::size_t i = 0; i < view.stages().size(); ++i) {
    const Stage& stage = view.stages()[i];
    const bool last = i + 1 == view.stages().size();
    const Size kept{stage.keep.width, stage.keep.height};
    KeepRows keep(scratch.result, last ? Size{} : kept);
    scratch.resample.begin(stage, size, last ? static_cast<RowSink&>(scratch.store) : keep);
    const Window needed = scratch.resample.needed();
    const bool any = needed.width > 0 && needed.height > 0;
    if (i > 0) {
      if (any) scratch.resample.push(whole(scratch.between, size));
    } else if (any && orientation == 1) {
      check(decode(scratch.resample, bytes, header, needed, scratch.decode, recipe.limits));
    } else if (any) {
      check(decode_upright(scratch.upright, bytes, header, orientation, scratch.decode,
                           recipe.limits));
      scratch.resample.push(whole(scratch.upright, image));
    }
    scratch.resample.finish();
    scratch.between.swap(scratch.result);
    size = kept;
  }
  scratch.decode_ns = now_ns() - read_ns;
}

}  // namespace tundish
