// A source with the options that opened it.
#pragma once

#include <memory>
#include <string>

#include "data/source/source.h"
#include "data/source/source_options.h"

namespace tundish {

// Returns a source whose fingerprint includes options that its own fingerprint lacks: the axis, and
// an image or label that the schema does not name. Returns `source` unchanged without such
// options, so an explicit default has no effect. `format`: options.format, or empty if the bytes
// give the same format.
std::shared_ptr<const Source> opened_with(std::shared_ptr<const Source> source,
                                          const SourceOptions& options, const std::string& format);

}  // namespace tundish
