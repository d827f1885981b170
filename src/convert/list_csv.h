// The list of a folder's files: labels and columns that do not follow from names.
#pragma once

#include <string>

#include "convert/target_writer.h"

namespace tundish {

// Whether such a list is needed.
bool needs_list(const Schema& schema);

std::string list_head(const Schema& schema);
std::string list_row(const Schema& schema, const ConvertSample& sample, const std::string& name);

}  // namespace tundish
