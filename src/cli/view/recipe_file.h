// Reads the transforms that `tundish view` shows from a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "augment/transforms.h"

namespace tundish::cli {

struct RecipeFile {
  Views views;                        // one list, or several for a recipe with several views
  std::optional<std::uint64_t> seed;  // from a saved state
  bool exif_orientation = false;      // from a saved state
  ImageMode mode = ImageMode::rgb;    // from a saved state
};

// Accepts a list as T.to_json() writes it, [{"name": "Resize", "size": 224}, ...], a list of such
// lists, or a saved state of a loader, whose transforms or views are used. Throws
// Error(source_missing, argument, wrong_state) that names the file.
RecipeFile read_recipe_file(const std::string& file);

}  // namespace tundish::cli
