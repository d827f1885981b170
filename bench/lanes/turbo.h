// The libjpeg-turbo contestant: all coefficients of a JPEG, or the pixels of a crop.
#pragma once

#include <cstdint>
#include <vector>

#include "base/machine/cpu.h"
#include "image.h"

namespace tundish::bench {

// Calls libjpeg's own jpeg_read_coefficients() and discards the arrays.
void read_turbo_coefficients(const Image& image);

// Makes a crop from the whole decoded image, or from the crop's region with an exact margin, then
// runs our resize on the given instruction set. libjpeg-turbo always uses its best one.
class TurboCrop {
 public:
  TurboCrop(bool region, Cpu cpu) : region_(region), resample_(cpu) {}
  void run(std::uint8_t* out, const Image& image);

 private:
  bool region_;
  Resample resample_;
  std::vector<std::uint8_t> rows_;
};

}  // namespace tundish::bench
