#include "batch/sample.h"

#include <fmt/format.h>

#include <utility>

#include "batch/admission.h"
#include "batch/cached.h"
#include "batch/orientation.h"
#include "core/clock.h"
#include "decode/npy.h"

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

// Takes the time that the next one takes.
class TimedSink : public StripSink {
 public:
  explicit TimedSink(StripSink& next) : next_(next) {}
  void push(const Strip& strip) override {
    const std::uint64_t begin_ns = now_ns();
    next_.push(strip);
    spent_ns += now_ns() - begin_ns;
  }

  std::uint64_t spent_ns = 0;

 private:
  StripSink& next_;
};

const char* decode_span(Codec codec) {
  switch (codec) {
    case Codec::jpeg:
      return "decode.jpeg";
    case Codec::png:
      return "decode.png";
    case Codec::npy:
      return "decode.npy";
    default:
      return "lanes.decode";
  }
}

Strip whole(const std::vector<std::uint8_t>& image, Size size) {
  return {image.data(), std::ptrdiff_t{3} * size.width, 0, 0, size.width, size.height};
}

// Of the time that one sample took after it was read, by the samples that were measured.
std::uint64_t decode_share(const Scratch& scratch, std::uint64_t both_ns) {
  if (scratch.measured_ns == 0) return both_ns;
  return static_cast<std::uint64_t>(static_cast<double>(both_ns) *
                                    static_cast<double>(scratch.measured_decode_ns) /
                                    static_cast<double>(scratch.measured_ns));
}

// For the watchdog.
void tell(const Scratch& scratch, const Draw& draw, Doing::Stage stage, std::uint64_t since_ns) {
  if (!scratch.doing) return;
  scratch.doing->sample.store(draw.sample, std::memory_order_relaxed);
  scratch.doing->since_ns.store(since_ns, std::memory_order_relaxed);
  scratch.doing->stage.store(stage, std::memory_order_release);
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

void tally(Scratch& scratch) {
  Doing& doing = *scratch.doing;
  if (scratch.read_ns == 0) {
    scratch.read_ns = now_ns() - scratch.begin_ns;
  } else if (scratch.decode_ns == 0) {
    scratch.decode_ns = now_ns() - scratch.begin_ns - scratch.read_ns;
  }
  doing.read_ns.add(scratch.read_ns);
  doing.decode_ns.add(scratch.decode_ns);
  doing.augment_ns.add(scratch.augment_ns);
  doing.bytes.add(scratch.bytes);
}

void check_fields(const Recipe& recipe, std::uint64_t number, const Sample& sample) {
  const std::vector<Field>& fields = recipe.source->schema().fields;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (fields[f].type != FieldType::array || sample.fields[f].empty()) continue;
    auto fault = check_npy(sample.fields[f]);
    if (!fault) continue;
    fault->reason = fmt::format("field '{}': {}", printable(fields[f].name), fault->reason);
    throw SampleError(*fault, recipe.source->where_in(number, static_cast<int>(f)));
  }
}

Planned read_and_plan(const Recipe& recipe, std::uint64_t epoch, const Draw& draw,
                      Scratch& scratch) {
  const Source& source = *recipe.source;
  // Read, unless it is in the cache.
  scratch.begin_ns = now_ns();
  tell(scratch, draw, Doing::Stage::reading, scratch.begin_ns);
  const FieldSet image_bit = FieldSet{1} << recipe.image_field;
  if (!take_cached(recipe, draw, scratch)) {
    source.read(scratch.sample, draw.sample, recipe.fields | image_bit);
  }
  const Bytes bytes = scratch.sample.fields[static_cast<std::size_t>(recipe.image_field)];
  scratch.bytes = scratch.hit ? 0 : bytes.size();
  const std::uint64_t read_ns = now_ns();
  tell(scratch, draw, Doing::Stage::waiting, read_ns);
  scratch.read_ns = read_ns - scratch.begin_ns;

  // Plan: every random choice, before a byte is decoded.
  ImageHeader header;
  if (scratch.cached) {
    header = scratch.cached->header;
  } else if (auto fault = source.read_header(header, draw.sample, bytes, recipe.limits)) {
    throw SampleError(*fault, source.where_in(draw.sample, recipe.image_field));
  }
  return {bytes, header, orientation_of(recipe, header), plan_draw(recipe, header, epoch, draw)};
}

void load_sample(const Placer& placer, const Recipe& recipe, std::uint64_t epoch, const Draw& draw,
                 Scratch& scratch) {
  const Source& source = *recipe.source;
  Track* const track = scratch.doing ? scratch.doing->track : nullptr;
  const bool measured = track || scratch.samples++ % kMeasured == 0;
  const auto check = [&](const std::optional<Fault>& fault) {
    if (fault) throw SampleError(*fault, source.where_in(draw.sample, recipe.image_field));
  };
  scratch.begin_ns = now_ns();
  scratch.bytes = scratch.read_ns = scratch.decode_ns = scratch.augment_ns = 0;
  admit_read(recipe, draw, scratch);
  Planned planned = read_and_plan(recipe, epoch, draw, scratch);
  const auto& [bytes, header, orientation, view] = planned;
  while (!admit(recipe, draw, view, header, orientation, scratch)) {
    planned = read_and_plan(recipe, epoch, draw, scratch);
  }
  const Size image = view.image();
  const std::uint64_t planned_ns = now_ns();
  tell(scratch, draw, Doing::Stage::decoding, planned_ns);
  const Placement place = placer(view.size());
  if (!place.base) return;

  // Decode only what the first stage needs, straight into it; the last stage stores.
  scratch.store.begin(recipe.table, place);
  TimedSink timed(scratch.resample);
  StripSink& sink = measured ? static_cast<StripSink&>(timed) : scratch.resample;
  std::uint64_t decode_ns = 0;  // with the sink's time
  Size size = image;
  for (std::size_t i = 0; i < view.stages().size(); ++i) {
    Stage stage = view.stages()[i];
    const bool last = i + 1 == view.stages().size();
    if (last && recipe.levels) scratch.mirror = std::exchange(stage.mirror_x, false);
    const Size kept{stage.keep.width, stage.keep.height};
    KeepRows keep(scratch.result, last ? Size{} : kept);
    scratch.resample.begin(stage, size, last ? static_cast<RowSink&>(scratch.store) : keep);
    const Window needed = scratch.resample.needed();
    const bool any = needed.width > 0 && needed.height > 0;
    if (i > 0) {
      if (any) scratch.resample.push(whole(scratch.between, size));
    } else if (any) {
      const std::uint64_t from_ns = measured ? now_ns() : 0;
      if (!scratch.cached) {
        decode_to_cache(recipe, draw, view, bytes, header, orientation, scratch);
      }
      if (scratch.cached) {
        push_cached(sink, *scratch.cached, needed, scratch.decode);
      } else if (orientation == 1) {
        check(decode(sink, bytes, header, needed, scratch.decode, recipe.limits));
      } else {
        check(decode_upright(scratch.upright, bytes, header, orientation, scratch.decode,
                             recipe.limits));
      }
      if (measured) decode_ns = now_ns() - from_ns;
      if (!scratch.cached && orientation != 1) scratch.resample.push(whole(scratch.upright, image));
    }
    scratch.resample.finish();
    scratch.between.swap(scratch.result);
    size = kept;
  }
  keep_encoded(recipe, draw, scratch);
  const std::uint64_t both_ns = now_ns() - planned_ns;
  if (measured) {
    scratch.measured_ns += both_ns;
    scratch.measured_decode_ns += decode_ns - timed.spent_ns;
  }
  scratch.decode_ns = track ? decode_ns - timed.spent_ns : decode_share(scratch, both_ns);
  scratch.augment_ns = both_ns - scratch.decode_ns;
  if (!track) return;
  // Drawn one behind the other, though they took turns.
  track->add("source.read", scratch.begin_ns, scratch.read_ns, draw.sample);
  track->add(decode_span(header.codec), planned_ns, scratch.decode_ns, draw.sample);
  track->add("augment.resample", planned_ns + scratch.decode_ns, scratch.augment_ns, draw.sample);
}

}  // namespace tundish
