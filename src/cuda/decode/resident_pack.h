// The lanes records of a source in the memory of a GPU.
#pragma once

#include <cstdint>
#include <memory>

#include "cuda/decode/resident_records.h"
#include "data/source/source.h"

namespace tundish::cuda {

class ResidentPack {
 public:
  // Takes the memory for every lanes record of the source's field `image`. Throws Error(gpu) with
  // the figures when they do not fit.
  ResidentPack(int device, std::shared_ptr<const Source> source, int image);
  ~ResidentPack();

  // Reads so many samples more, checks every row of units once and copies them; false when all are
  // on the GPU. A damaged record is left out: the CPU path reports what is wrong with it.
  bool load(std::uint64_t samples);

  std::uint64_t bytes() const;   // of all records
  std::uint64_t loaded() const;  // samples examined so far

  const std::byte* data() const;  // on the GPU
  std::shared_ptr<const ResidentRecords> records() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tundish::cuda
