// Copies records of packs into another pack without encoding them again.
#pragma once

#include <memory>

#include "codec/lanes/tables.h"
#include "data/pack/write/ordered_queue.h"
#include "data/source/source.h"

namespace tundish {

// Copies records for one thread.
class RecordCopier {
 public:
  // `tables`: tables of the new pack; nullptr if it has none.
  explicit RecordCopier(const lanes::Tables* tables) : tables_(tables) {}

  // Fills `out`, whose number and record are set, as prepare() does. Returns false and changes
  // nothing for a sample outside any pack and for a lanes record coded with other tables.
  // Throws SampleError.
  bool copy(Prepared& out, const Source& source);

 private:
  bool has_our_tables(const lanes::Tables* theirs);

  const lanes::Tables* tables_;
  const lanes::Tables* compared_ = nullptr;  // tables most recently compared with tables_
  bool are_equal_ = false;
};

// Returns the tables used by most lanes records of the source, so that those records can be
// copied. Returns nullptr if the source has no lanes record.
std::shared_ptr<const lanes::Tables> most_used_tables(const Source& source);

// Returns true if every sample is in a pack.
bool is_all_records(const Source& source);

}  // namespace tundish
