// A data set of Python, whose samples come over connections to Python processes. Used by
// tundish.pack(dataset, ...) only: it is in no table of formats, and no path opens it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/source/source.h"

namespace tundish {

// Takes over the sockets, which are closed also when it throws. `name`: of the data set, for
// messages. Asks for the description. Throws Error.
std::shared_ptr<const Source> open_python_samples(const std::string& name,
                                                  const std::vector<int>& sockets);

}  // namespace tundish
