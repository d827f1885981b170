#include "loader/sample/arrays.h"

#include <fmt/format.h>

#include "data/source/arrays/copy_bytes.h"
#include "loader/sample/admission.h"
#include "loader/sample/cached.h"

namespace tundish {

namespace {

void read_fields(const Recipe& recipe, const Draw& draw, Scratch& scratch) {
  scratch.timer.begin_read(draw);
  std::uint64_t bytes = 0;
  if (!take_cached(recipe, draw, scratch)) {
    recipe.source->read(scratch.sample, draw.sample, recipe.fields);
    for (const auto& field : scratch.sample.fields) bytes += field.size();
  }
  scratch.timer.end_read(draw, bytes);
}

void check_lengths(const Recipe& recipe, const Draw& draw, const Sample& sample) {
  const Source& source = *recipe.source;
  for (std::size_t number = 0; number < recipe.views.size(); ++number) {
    const ViewRecipe& view = recipe.views[number];
    const auto field = static_cast<std::size_t>(view.array_field);
    const std::vector<std::byte>& elements = sample.fields[field];
    if (elements.size() != view.array_bytes) {
      const Field& about = source.schema().fields[field];
      throw SampleError(
          ErrorCode::image_damaged, source.where_in(draw.sample, view.array_field),
          fmt::format("field '{}' has {} bytes, which is not {}", printable(about.name),
                      with_commas(elements.size()), array_text(*about.array)));
    }
  }
}

}  // namespace

Planned read_arrays(const Recipe& recipe, const Draw& draw, Scratch& scratch) {
  scratch.timer.begin_sample();
  admit_read(recipe, draw, scratch);
  do {
    read_fields(recipe, draw, scratch);
  } while (!admit_arrays(recipe, draw, scratch));
  check_lengths(recipe, draw, scratch.sample);
  scratch.unpadded = kArraySize;
  return {};
}

void copy_arrays(std::span<const Placement> rows, const Recipe& recipe, const Draw& draw,
                 Scratch& scratch) {
  scratch.timer.begin_decode(draw);
  for (std::size_t number = 0; number < recipe.views.size(); ++number) {
    const ViewRecipe& view = recipe.views[number];
    if (!rows[number].base || view.array_bytes == 0) continue;
    copy_bytes(rows[number].base,
               scratch.sample.fields[static_cast<std::size_t>(view.array_field)].data(),
               view.array_bytes);
  }
  keep_encoded(recipe, draw, scratch);
  scratch.gpu_work.assign(recipe.views.size(), {});
  scratch.timer.end_sample(draw, Codec::raw);
}

}  // namespace tundish
