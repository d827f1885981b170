// The supported output formats: one row each in target_formats.cpp.
#pragma once

#include <span>
#include <string>

#include "rewrite/convert/target_writer.h"

namespace tundish {

std::span<const TargetFormat> target_formats();
const TargetFormat* find_target_format(const std::string& name);  // nullptr if unknown

// Returns "folder, tar, ...", for messages.
std::string target_format_names();

}  // namespace tundish
