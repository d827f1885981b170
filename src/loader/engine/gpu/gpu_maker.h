// Batches that a GPU decodes: a worker reads the records, plans, and gathers the units that the
// crops need into the slot's flat buffer (cuda/decode/batch_plan.h). What no GPU decodes (other
// codecs, chains of resizes, damaged records, a batch that is too large) is made by the CPU into
// the same slot, and so is every fault: its report and its substitute are the CPU's.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codec/lanes/tables.h"
#include "cuda/decode/batch_plan.h"
#include "cuda/decode/resident_records.h"
#include "loader/engine/cpu_maker.h"

namespace tundish {

// What GpuMaker keeps in a slot for each view: the flat buffer, its layout and its plan. When there
// are steps left to do to any image of the view, the flat buffer's images become 8-bit levels (H,
// W, C), one after the other; otherwise finished images at their place in the batch.
struct GpuViewData {
  HostMemory coded;
  cuda::BatchLayout layout = {};
  cuda::BatchPlan plan;
};
struct GpuSlotData : MakerData {
  std::deque<GpuViewData> views;
};
// Null: the slot was not made for a GPU that decodes.
inline GpuSlotData* gpu_data(const Slot& slot) {
  return slot.single_task ? static_cast<GpuSlotData*>(slot.maker_data.get()) : nullptr;
}

class GpuMaker : public Maker {
 public:
  // All arguments must outlive the maker. `stopped`: the batches are not wanted any more.
  GpuMaker(CpuMaker& cpu, const Recipe& recipe, const LoaderOptions& options, const Order& order,
           const CacheSetup& cache, std::function<bool()> stopped);

  // Whether a GPU can decode any image of this loader; otherwise why_not() gives the reason: no
  // image of the source is a lanes record, or the transforms give images of several sizes.
  bool possible() const { return !tables_.empty(); }
  const std::string& why_not() const { return why_not_; }

  // The tables that the GPU decodes with; null: it cannot.
  const lanes::Tables* tables() const { return possible() ? tables_.front() : nullptr; }
  std::uint64_t host_bytes() const;  // of one batch

  // Call before the first batch: the units of these records are on the GPU already.
  void use_resident(std::shared_ptr<const cuda::ResidentRecords> records) {
    resident_ = std::move(records);
  }

  void make(Slot& slot, std::size_t place, std::unique_ptr<Scratch>& scratch) override;

 private:
  void find_tables_and_limits();
  bool can_decode(std::uint64_t sample) const;
  bool plan_resident(Slot& slot, Place& place, Scratch& scratch);
  bool plan_read(Slot& slot, std::size_t number, Scratch& scratch);
  bool add_views(Slot& slot, Place& place, const std::vector<View>& views, Bytes record,
                 std::uint64_t resident_at);
  bool add(Slot& slot, std::size_t number, Scratch& scratch);
  void begin_views(Slot& slot) const;
  void place_images(Slot& slot, std::size_t view) const;
  std::vector<std::size_t> add_all(Slot& slot, std::unique_ptr<Scratch>& scratch);

  CpuMaker& cpu_;
  const Recipe& recipe_;
  const LoaderOptions& options_;
  const Order& order_;
  const CacheSetup& cache_;
  const std::function<bool()> stopped_;

  std::vector<const lanes::Tables*> tables_;  // all with the same content: those of the GPU
  std::vector<cuda::BatchLimits> limits_;     // of one batch, for each view
  std::string why_not_;
  std::shared_ptr<const cuda::ResidentRecords> resident_;  // null: units come from the source
};

}  // namespace tundish
