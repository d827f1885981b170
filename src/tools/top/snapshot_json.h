// A snapshot for programs and for the page of --serve.
#pragma once

#include <nlohmann/json.hpp>

#include "tools/top/snapshot.h"

namespace tundish {

// {time, seconds, host, group, disks, gpus, loaders}; null for what is not known. Text that is not
// UTF-8 has \xNN in its place.
nlohmann::ordered_json snapshot_json(const Snapshot& snapshot);

}  // namespace tundish
