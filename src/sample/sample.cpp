#include "sample/sample.h"

#include <fmt/format.h>

#include "decode/npy.h"
#include "sample/admission.h"
#include "sample/cached.h"
#include "sample/orientation.h"

namespace tundish {
namespace {

std::uint8_t orientation_of(const Recipe& recipe, const ImageHeader& header) {
  return recipe.exif_orientation ? header.orientation : std::uint8_t{1};
}

// Step 1: waits until there is memory for the sample, reads and plans it.
Planned admit_and_plan(const Recipe& recipe, std::uint64_t epoch, const Draw& draw,
                       Scratch& scratch) {
  admit_read(recipe, draw, scratch);
  for (;;) {
    Planned planned = read_and_plan(recipe, epoch, draw, scratch);
    if (admit(recipe, draw, planned.view, planned.header, planned.orientation, scratch)) {
      return planned;
    }
  }
}

// Step 2: the rows of `needed` of the image go to the sink, from the cache or decoded.
void decode_image(StripSink& sink, const Planned& planned, const Window& needed,
                  const Recipe& recipe, const Draw& draw, Scratch& scratch) {
  const auto& [bytes, header, orientation, view] = planned;
  if (!scratch.cached) {
    decode_to_cache(recipe, draw, view, bytes, header, orientation, scratch);
  }
  if (scratch.cached) return push_cached(sink, *scratch.cached, needed, scratch.decode);
  const std::optional<Fault> fault =
      orientation == 1 ? decode(sink, bytes, header, needed, scratch.decode, recipe.limits)
                       : decode_upright(scratch.upright, bytes, header, orientation, scratch.decode,
                                        recipe.limits);
  if (fault) throw SampleError(*fault, recipe.source->where_in(draw.sample, recipe.image_field));
  if (orientation != 1) sink.push(whole_strip(scratch.upright, view.image()));
}

// Step 3: the plan. With recipe.levels a GPU does the end of it.
void run(const Planned& planned, const Placement& place, const Recipe& recipe, const Draw& draw,
         Scratch& scratch) {
  scratch.plan.begin(planned.view, recipe.table, place, recipe.levels);
  const Window needed = scratch.plan.needed();
  if (needed.width > 0 && needed.height > 0) {
    scratch.timer.time_decode(scratch.plan.sink(), [&](StripSink& sink) {
      decode_image(sink, planned, needed, recipe, draw, scratch);
    });
  }
  scratch.left = scratch.plan.finish();
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

void check_array_fields(const Recipe& recipe, std::uint64_t number, const Sample& sample) {
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
  scratch.timer.begin_read(draw);
  const FieldSet image_bit = FieldSet{1} << recipe.image_field;
  if (!take_cached(recipe, draw, scratch)) {
    source.read(scratch.sample, draw.sample, recipe.fields | image_bit);
  }
  const Bytes bytes = scratch.sample.fields[static_cast<std::size_t>(recipe.image_field)];
  scratch.timer.end_read(draw, scratch.hit ? 0 : bytes.size());

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
  scratch.timer.begin_sample();
  const Planned planned = admit_and_plan(recipe, epoch, draw, scratch);
  scratch.timer.begin_decode(draw);
  const Placement place = placer(planned.view.size());
  if (!place.base) return;
  run(planned, place, recipe, draw, scratch);
  keep_encoded(recipe, draw, scratch);
  scratch.timer.end_sample(draw, planned.header.codec);
}

}  // namespace tundish
