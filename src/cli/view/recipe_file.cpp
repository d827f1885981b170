#include "cli/view/recipe_file.h"

#include <vector>

#include "augment/transforms_json.h"
#include "base/file.h"
#include "loader/state/saved_state.h"

namespace tundish::cli {
namespace {

std::string text_of(const std::string& file) {
  std::vector<std::byte> bytes(kMaxStateBytes + 1);
  bytes.resize(File::open(file).read_at(bytes, 0));
  if (bytes.size() > kMaxStateBytes) {
    throw Error(ErrorCode::argument, {},
                "it has more than a megabyte and is no list of transforms");
  }
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

RecipeFile read(const std::string& text) {
  const Json json = parse_json(text);
  if (json.is_object() && json.contains("run_config")) {
    const SavedState state = read_state(text);
    return {state.options.all_views(), state.options.seed, state.options.exif_orientation,
            state.options.mode};
  }
  if (!json.is_array()) {
    throw Error(ErrorCode::argument, {},
                "it is neither a list of transforms nor a saved state: write it in Python with "
                "open(\"recipe.json\", \"w\").write(T.to_json(transforms))");
  }
  RecipeFile out{.views = {}, .seed = {}};
  if (!json.empty() && json.front().is_array()) {
    for (const Json& view : json) out.views.push_back(read_transforms(view));
  } else {
    out.views = {read_transforms(json)};
  }
  for (const Transforms& view : out.views) check_transforms(view);
  return out;
}

}  // namespace

RecipeFile read_recipe_file(const std::string& file) {
  try {
    return read(text_of(file));
  } catch (const Error& error) {
    if (!error.where().file.empty()) throw;
    throw Error(error.code(), {.file = file}, error.reason());
  }
}

}  // namespace tundish::cli
