// The options of a verb that say what the bytes of a data set do not: data/source/source_options.h.
#pragma once

#include <memory>
#include <string>

#include "cli/arguments.h"
#include "data/pack/open.h"

namespace tundish::cli {

struct SourceWords {
  SourceOptions options;
  std::string axis = "0";
};

// --format, --image, --label, --axis
void add_source_words(Arguments& arguments, SourceWords& words);

// Throws UsageError, and what open_source() throws.
std::shared_ptr<const Source> open_source(const std::string& path, const SourceWords& words);

}  // namespace tundish::cli
