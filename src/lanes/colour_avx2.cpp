// Rows of samples to rows of RGB with AVX2.
#include "lanes/register_avx2.h"

// The registers come first.
#include "lanes/colour_lanewise.h"

namespace tundish::lanes::avx2 {

void grey_row(const RowTask& task) { grey_lanewise<Register>(task); }

void colour_row(const RowTask& task, Upsampling upsampling, Colour colour) {
  colour_lanewise<Register>(task, upsampling, colour);
}

}  // namespace tundish::lanes::avx2
