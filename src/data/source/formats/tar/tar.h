// A tar archive, plain or compressed, never extracted. tar_index.h defines its samples.
// A plain archive is indexed once, then read at any place by any thread. A compressed one (gzip,
// xz, zstd, bzip2, detected by bytes, not by name) is read through when opened and again by scan():
// it can be packed, but not used for training. Several archives (shards) form one dataset.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/source/source.h"

namespace tundish {

// Throws Error: tar_damaged, tar_duplicate, label_unreadable, compression_damaged, source_empty.
// An archive, or a folder of archives.
std::shared_ptr<const Source> open_tar(const std::string& path);

// `path`: name of the archives as one dataset.
std::shared_ptr<const Source> open_tars(const std::string& path,
                                        const std::vector<std::string>& files);

}  // namespace tundish
