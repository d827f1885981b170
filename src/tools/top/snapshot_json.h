// A snapshot as JSON, for programs and for the page of --serve.
#pragma once

#include <nlohmann/json.hpp>

#include "tools/top/snapshot.h"

namespace tundish {

// {time, seconds, host, group, disks, gpus, loaders}; unknown values are null. Bytes that are not
// UTF-8 become \xNN.
nlohmann::ordered_json snapshot_json(const Snapshot& snapshot);

}  // namespace tundish
