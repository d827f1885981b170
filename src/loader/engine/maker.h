// Interface that fills slots: the CPU (cpu_maker.h), or the CPU and a GPU together (gpu_maker.h).
// The ring and the slots depend on neither.
#pragma once

#include <cstddef>
#include <memory>

#include "loader/engine/slot.h"
#include "loader/sample/scratch.h"

namespace tundish {

class Maker {
 public:
  virtual ~Maker() = default;

  // Fills this place of the slot, or all places if the slot is a single task. Errors are stored
  // in the places. Called by any worker; `scratch` belongs to the worker.
  virtual void make(Slot& slot, std::size_t place, std::unique_ptr<Scratch>& scratch) = 0;
};

}  // namespace tundish
