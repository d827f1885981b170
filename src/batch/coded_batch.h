// Batches that a GPU decodes: a worker reads the records, plans, and gathers the units that the
// crops need into the slot's flat buffer (cuda/batch_plan.h). What no GPU decodes (other codecs,
// chains of resizes, damaged records, a batch that is too large) goes the CPU's road into the same
// slot, and so does every fault: its report and its substitute are the CPU's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "batch/sample.h"
#include "cuda/batch_plan.h"
#include "cuda/resident_records.h"
#include "lanes/tables.h"

namespace tundish {

// What is the same for all batches of a loader.
struct CodedOptions {
  std::vector<const lanes::Tables*> tables;               // all with the same content: the GPU's
  cuda::BatchLimits limits;                               // of one batch
  std::shared_ptr<const cuda::ResidentRecords> resident;  // null: units come from the source

  bool possible() const { return !tables.empty(); }
};

// For batches of this size. Not possible: no image of the source is a lanes record, or the
// transforms give images of several sizes; `why` then says so.
CodedOptions coded_options(const Recipe& recipe, std::uint32_t batch_size, bool resident,
                           std::string& why);

}  // namespace tundish
