// Options that supply what a dataset does not contain itself: data/source/source_options.h.
#pragma once

#include <memory>
#include <string>

#include "cli/arguments.h"
#include "data/pack/open.h"

namespace tundish::cli {

struct SourceArguments {
  SourceOptions options;
  std::string axis = "0";
};

// Adds --format, --image, --label and --axis.
void add_source_arguments(Arguments& arguments, SourceArguments& source);

// Throws UsageError and the errors of open_source().
std::shared_ptr<const Source> open_source(const std::string& path, const SourceArguments& source);

}  // namespace tundish::cli
