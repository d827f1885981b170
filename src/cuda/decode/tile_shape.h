// The shape of a tile in the GPU's shared memory: its inputs and its layout. The same code runs on
// CPU and GPU.
#pragma once

#include "base/host_device.h"
#include "cuda/decode/batch_layout.h"

namespace tundish::cuda {

// The range of inputs of a tile's outputs, along one axis.
struct Reach {
  int from, to;
};
TUNDISH_HOST_DEVICE Reach reach_of(const AxisTask& axis, int first_input, int last_input) {
  const int low = first_input < last_input ? first_input : last_input;
  const int high = (first_input < last_input ? last_input : first_input) + axis.taps;
  return {low, high < axis.end ? high : axis.end};
}

struct TileShape {
  int indent;        // columns of RGB before the first, to align eights to multiples of eight
  int eights;        // groups of eight columns
  int pitch;         // bytes from row to row of a channel
  int rows_at_once;  // rows of RGB
  int words;         // words per column and channel after the horizontal pass, four rows each

  TUNDISH_HOST_DEVICE TileShape(const ImageTask& image, Reach x, int columns) {
    indent = image.padded ? 0 : (image.crop_x + x.from) & 7;
    eights = (indent + x.to - x.from + 7) / 8;
    pitch = 8 * eights + kTileSlackColumns;
    rows_at_once = kTileRgbBytes / (3 * pitch) & ~3;
    words = kTileRowWords / 3 / columns;
  }
};

}  // namespace tundish::cuda
