// A source and the options that it was opened with.
#pragma once

#include <memory>
#include <string>

#include "data/source/source.h"
#include "data/source/source_options.h"

namespace tundish {

// The same source, whose fingerprint tells the options that its own does not: the axis, and an
// image or label that the schema does not name. Given back as it is when there are none, so a
// default that is given explicitly changes nothing. `format`: options.format, or empty when the
// bytes say the same.
std::shared_ptr<const Source> opened_with(std::shared_ptr<const Source> source,
                                          const SourceOptions& options, const std::string& format);

}  // namespace tundish
