// Recovers the records of an interrupted pack from the two hidden files beside its target: records
// from the partial file; names, labels, lengths, schema and tables from the journal.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "data/pack/salvage/salvage.h"

namespace tundish {

// The two files; the journal is locked, so that no other pack can resume.
struct InterruptedPack {
  std::shared_ptr<const ByteFile> partial;  // no bytes if killed between two shards
  std::shared_ptr<const ByteFile> journal;
};

// `path`: the target of the pack, the name given for its shards, or its partial file. Empty if
// `path` is none of these, or if a complete file has this name. Throws Error(output_busy) while
// the pack is still being written.
std::optional<InterruptedPack> find_interrupted_pack(const std::string& path);

// Accepts any bytes. Returns the records of the unfinished shard. Empty if the journal does not
// describe the records or the file has an index; find_records() may still find some. Records behind
// the last block of the journal are found by their checksums, without names and labels.
std::optional<Salvage> find_partial_records(const std::shared_ptr<const ByteFile>& partial,
                                            const ByteFile& journal,
                                            const SalvageOptions& options = {});

}  // namespace tundish
