#include "cli/source_arguments.h"

#include <fmt/format.h>

#include <charconv>

namespace tundish::cli {

void add_source_arguments(Arguments& arguments, SourceArguments& source) {
  arguments.option(source.options.format, "--format", "F",
                   "the format, if Tundish does not recognize it");
  arguments.option(source.options.image, "--image", "NAME", "array or feature that is the image");
  arguments.option(source.options.label, "--label", "NAME", "array or feature that is the label");
  arguments.option(source.axis, "--axis", "N", "axis of the arrays that counts the samples (0)");
}

std::shared_ptr<const Source> open_source(const std::string& path, const SourceArguments& source) {
  SourceOptions options = source.options;
  const char* const end = source.axis.data() + source.axis.size();
  const auto [at, error] = std::from_chars(source.axis.data(), end, options.axis);
  if (error != std::errc{} || at != end || options.axis < -64 || options.axis > 63) {
    throw UsageError(
        fmt::format("--axis is a whole number such as 0 or -1, not '{}'", printable(source.axis)));
  }
  return tundish::open_source(path, options);
}

}  // namespace tundish::cli
