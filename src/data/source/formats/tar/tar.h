// A tar archive, plain or compressed, never extracted. tar_index.h defines its samples.
// A plain one is indexed once and then read at any place, by any thread. A compressed one (gzip,
// xz, zstd, bzip2, detected by its bytes, not by its name) is read through when it is opened and
// again by scan(): it can be packed, not trained from. Several archives (shards) are one data set.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/source/source.h"

namespace tundish {

// Throws Error: tar_damaged, tar_duplicate, label_unreadable, compression_damaged, source_empty.
// An archive, or a folder of archives.
std::shared_ptr<const Source> open_tar(const std::string& path);

// `path`: what they are called together.
std::shared_ptr<const Source> open_tars(const std::string& path,
                                        const std::vector<std::string>& files);

}  // namespace tundish
