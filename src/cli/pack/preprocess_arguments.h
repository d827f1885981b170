// Options of `tundish pack` that resize and re-encode images.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/arguments.h"
#include "rewrite/preprocess/options.h"

namespace tundish::cli {

struct PreprocessArguments {
  std::string resize, center_crop, reencode;
  std::string interpolation = "bilinear", if_larger = "auto", exif_orientation = "keep";
  bool enlarge = false, prove = false;
  std::uint64_t prove_samples = 100;
};

void add_preprocess_options(Arguments& arguments, PreprocessArguments& into);

// Returns nothing if images stay unchanged. Throws UsageError.
std::optional<PreprocessOptions> preprocess_options(const PreprocessArguments& arguments);

}  // namespace tundish::cli
