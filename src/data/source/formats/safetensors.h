// .safetensors: a JSON head with the type, shape and place of every tensor, then their elements
// without holes.
#pragma once

#include <memory>
#include <string>

#include "data/source/arrays/stored_array_source.h"
#include "data/source/format.h"

namespace tundish {

bool looks_like_safetensors(const Probe& probe);

// Adds every tensor; omits tensors that cannot be fields with a warning. Throws Error.
void read_safetensors(ArraySet& set, const SharedStore& store, std::int64_t axis);

std::shared_ptr<const Source> open_safetensors(const std::string& path,
                                               const SourceOptions& options);

}  // namespace tundish
