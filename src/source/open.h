// Which source a path is: a folder, a .csv or .tsv list, a .tar (also .gz, .xz, .zst, .bz2).
#pragma once

#include <memory>
#include <string>

#include "source/source.h"

namespace tundish {

// Throws Error 301 to 304. pack/open.h knows packs and calls this for the rest.
std::shared_ptr<const Source> open_loose(const std::string& path);

}  // namespace tundish
