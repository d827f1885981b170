// Makes batches that a GPU decodes. A worker reads and plans the records, and gathers the units
// for the crops in the slot's flat buffer (cuda/decode/batch_plan.h). The CPU makes what no GPU
// decodes (other codecs, chains of resizes, damaged records, oversized batches) in the same slot.
// The CPU also reports and replaces every faulty sample.
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

// Data that GpuMaker keeps in a slot for each view: the flat buffer, its layout and its plan. If
// any image of the view has steps left, the images of the flat buffer become 8-bit levels (H,
// W, C), one after the other; otherwise finished images at their place in the batch.
struct GpuViewData {
  HostMemory coded;
  cuda::BatchLayout layout = {};
  cuda::BatchPlan plan;
};
struct GpuSlotData : MakerData {
  std::deque<GpuViewData> views;
};
// Returns null if the slot was not made for a GPU that decodes.
inline GpuSlotData* gpu_data(const Slot& slot) {
  return slot.single_task ? static_cast<GpuSlotData*>(slot.maker_data.get()) : nullptr;
}

class GpuMaker : public Maker {
 public:
  // All arguments must outlive the maker. `stopped`: returns true once the batches are unwanted.
  GpuMaker(CpuMaker& cpu, const Recipe& recipe, const LoaderOptions& options, const Order& order,
           const CacheSetup& cache, std::function<bool()> stopped);

  // Whether a GPU can decode any image of this loader. Otherwise why_not() returns the reason: no
  // image of the source is a lanes record, or the transforms produce images of several sizes.
  bool possible() const { return !tables_.empty(); }
  const std::string& why_not() const { return why_not_; }

  // Returns the decoding tables of the GPU; null if it cannot decode.
  const lanes::Tables* tables() const { return possible() ? tables_.front() : nullptr; }
  std::uint64_t host_bytes() const;  // for one batch

  // Call before the first batch: the units of these records are already on the GPU.
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

  std::vector<const lanes::Tables*> tables_;  // equal tables, as used by the GPU
  std::vector<cuda::BatchLimits> limits_;     // limits of one batch, per view
  std::string why_not_;
  std::shared_ptr<const cuda::ResidentRecords> resident_;  // null: units come from the source
};

}  // namespace tundish
