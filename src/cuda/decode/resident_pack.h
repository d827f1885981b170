// The lanes records of a source, resident in GPU memory.
#pragma once

#include <cstdint>
#include <memory>

#include "cuda/decode/resident_records.h"
#include "data/source/source.h"

namespace tundish::cuda {

class ResidentPack {
 public:
  // Reserves memory for every lanes record of the source's field `image`. Throws Error(gpu) with
  // the sizes if the records do not fit.
  ResidentPack(int device, std::shared_ptr<const Source> source, int image);
  ~ResidentPack();

  // Reads the next `samples` samples, checks every row of units once and copies the rows. Returns
  // false when all are on the GPU. Skips damaged records: the CPU path reports the damage.
  bool load(std::uint64_t samples);

  std::uint64_t bytes() const;   // total size of all records
  std::uint64_t loaded() const;  // samples examined so far

  const std::byte* data() const;  // on the GPU
  std::shared_ptr<const ResidentRecords> records() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tundish::cuda
