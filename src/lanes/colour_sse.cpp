// Rows of samples to rows of RGB with SSE4.
#include "lanes/register_sse.h"

// The registers come first.
#include "lanes/colour_lanewise.h"

namespace tundish::lanes::sse {

void grey_row(const RowTask& task) { grey_lanewise<Register>(task); }

void colour_row(const RowTask& task, Upsampling upsampling, Colour colour) {
  colour_lanewise<Register>(task, upsampling, colour);
}

}  // namespace tundish::lanes::sse
