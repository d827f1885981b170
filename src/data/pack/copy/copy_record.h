// Records of packs that become records of another pack without being coded again.
#pragma once

#include <memory>

#include "codec/lanes/tables.h"
#include "data/pack/write/handover.h"
#include "data/source/source.h"

namespace tundish {

// Copies records for one thread.
class RecordCopier {
 public:
  // `tables`: those of the new pack; nullptr: it has none.
  explicit RecordCopier(const lanes::Tables* tables) : tables_(tables) {}

  // Fills `out`, whose number and record are set, like prepare(). False, and nothing is changed,
  // for a sample that is in no pack, and for a lanes record that was coded with other tables.
  // Throws SampleError.
  bool copy(Prepared& out, const Source& source);

 private:
  bool has_our_tables(const lanes::Tables* theirs);

  const lanes::Tables* tables_;
  const lanes::Tables* compared_ = nullptr;  // the last ones that were compared with tables_
  bool are_equal_ = false;
};

// The tables that most lanes records of the source have, so that these can be copied; nullptr when
// it has no such record.
std::shared_ptr<const lanes::Tables> most_used_tables(const Source& source);

// Whether every sample is in a pack.
bool is_all_records(const Source& source);

}  // namespace tundish
