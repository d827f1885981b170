// The shape of a tile in shared memory: what it reads, and the layout. CPU and GPU.
#pragma once

#include "base/host_device.h"
#include "cuda/decode/batch_layout.h"

namespace tundish::cuda {

// The inputs that a tile's outputs reach over, along one axis.
struct Reach {
  int from, to;
};
TUNDISH_HOST_DEVICE Reach reach_of(const AxisTask& axis, int first_input, int last_input) {
  const int low = first_input < last_input ? first_input : last_input;
  const int high = (first_input < last_input ? last_input : first_input) + axis.taps;
  return {low, high < axis.end ? high : axis.end};
}

struct TileShape {
  int indent;        // columns of RGB before the first: eights begin at multiples of eight
  int eights;        // eight columns each
  int pitch;         // bytes from row to row of a channel
  int rows_at_once;  // of RGB
  int words;         // of four rows, per column and channel, after the horizontal pass

  TUNDISH_HOST_DEVICE TileShape(const ImageTask& image, Reach x, int columns) {
    indent = image.padded ? 0 : (image.crop_x + x.from) & 7;
    eights = (indent + x.to - x.from + 7) / 8;
    pitch = 8 * eights + kTileSlackColumns;
    rows_at_once = kTileRgbBytes / (3 * pitch) & ~3;
    words = kTileRowWords / 3 / columns;
  }
};

}  // namespace tundish::cuda
