// A dataset of Python whose samples come over connections to Python processes. Used only by
// tundish.pack(dataset, ...): no format table lists it, and no path opens it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/source/source.h"

namespace tundish {

// Takes ownership of the sockets, and closes them even if it throws. `name`: name of the dataset,
// for messages. Requests the description. Throws Error.
std::shared_ptr<const Source> open_python_samples(const std::string& name,
                                                  const std::vector<int>& sockets);

}  // namespace tundish
