#include "cli/source_words.h"

#include <fmt/format.h>

#include <charconv>

namespace tundish::cli {

void add_source_words(Arguments& arguments, SourceWords& words) {
  arguments.option(words.options.format, "--format", "F",
                   "the format, if the bytes do not show it");
  arguments.option(words.options.image, "--image", "NAME", "array or feature that is the image");
  arguments.option(words.options.label, "--label", "NAME", "array or feature that is the label");
  arguments.option(words.axis, "--axis", "N", "axis of the arrays that counts the samples (0)");
}

std::shared_ptr<const Source> open_source(const std::string& path, const SourceWords& words) {
  SourceOptions options = words.options;
  const char* const end = words.axis.data() + words.axis.size();
  const auto [at, error] = std::from_chars(words.axis.data(), end, options.axis);
  if (error != std::errc{} || at != end || options.axis < -64 || options.axis > 63) {
    throw UsageError(
        fmt::format("--axis is a whole number such as 0 or -1, not '{}'", printable(words.axis)));
  }
  return tundish::open_source(path, options);
}

}  // namespace tundish::cli
