#include "sample/arrays.h"

#include <fmt/format.h>

#include "source/arrays/copy_bytes.h"

namespace tundish {

void load_arrays(const Placer& placer, const Recipe& recipe, const Draw& draw, Scratch& scratch) {
  const Source& source = *recipe.source;
  scratch.timer.begin_sample();
  scratch.timer.begin_read(draw);
  source.read(scratch.sample, draw.sample, recipe.fields);
  std::uint64_t bytes = 0;
  for (const auto& field : scratch.sample.fields) bytes += field.size();
  scratch.timer.end_read(draw, bytes);

  scratch.timer.begin_decode(draw);
  for (std::size_t number = 0; number < recipe.views.size(); ++number) {
    const ViewRecipe& view = recipe.views[number];
    const auto field = static_cast<std::size_t>(view.array_field);
    const std::vector<std::byte>& elements = scratch.sample.fields[field];
    if (elements.size() != view.array_bytes) {
      const Field& about = source.schema().fields[field];
      throw SampleError(
          ErrorCode::image_damaged, source.where_in(draw.sample, view.array_field),
          fmt::format("field '{}' has {} bytes, which is not {}", printable(about.name),
                      with_commas(elements.size()), array_text(*about.array)));
    }
  }
  for (std::size_t number = 0; number < recipe.views.size(); ++number) {
    const ViewRecipe& view = recipe.views[number];
    const Placement place = placer(number, kArraySize);
    if (!place.base || view.array_bytes == 0) continue;
    copy_bytes(place.base, scratch.sample.fields[static_cast<std::size_t>(view.array_field)].data(),
               view.array_bytes);
  }
  scratch.unpadded = kArraySize;
  scratch.left.assign(recipe.views.size(), {});
  scratch.timer.end_sample(draw, Codec::raw);
}

}  // namespace tundish
