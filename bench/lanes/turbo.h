// libjpeg-turbo, the contestant: all coefficients of a JPEG, or the pixels of a crop.
#pragma once

#include <cstdint>
#include <vector>

#include "base/machine/cpu.h"
#include "image.h"

namespace tundish::bench {

// libjpeg's own jpeg_read_coefficients(); the arrays are thrown away.
void read_turbo_coefficients(const Image& image);

// A crop: the whole image decoded, or its region with the margin that makes it exact; then our
// resize on the instruction set given. libjpeg-turbo always uses the best it knows.
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
