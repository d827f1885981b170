// The records of an interrupted pack, out of the two hidden files beside its target: the partial
// file has the records, the journal has their names, labels and lengths, the schema and the tables.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "data/pack/salvage/salvage.h"

namespace tundish {

// The two files; the journal is locked against packs that would go on.
struct InterruptedPack {
  std::shared_ptr<const ByteFile> partial;  // no bytes: the kill came between two shards
  std::shared_ptr<const ByteFile> journal;
};

// `path`: the target of the pack, of shards also the name that was given for it, or its partial
// file. Empty when it is neither, or when a complete file has this name. Throws Error(output_busy)
// while the pack is still written.
std::optional<InterruptedPack> find_interrupted_pack(const std::string& path);

// Any bytes. Of shards those of the unfinished one. Empty when the journal does not say what a
// record is, and when the file has an index: find_records() may still find some. Records behind the
// last block of the journal are found by their checksums, without names and labels.
std::optional<Salvage> find_partial_records(const std::shared_ptr<const ByteFile>& partial,
                                            const ByteFile& journal,
                                            const SalvageOptions& options = {});

}  // namespace tundish
