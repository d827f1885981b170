#include "cuda/decode/tiles.h"

#include <algorithm>

namespace tundish::cuda {
namespace {

int divide_up(int a, int b) { return (a + b - 1) / b; }

double scale_of(const AxisTask& axis) { return static_cast<double>(axis.in) / axis.out; }

// Returns the crop columns spanned by `outputs` neighbors, including columns read for alignment.
int columns_of(const AxisTask& axis, int outputs) {
  return static_cast<int>((outputs - 1) * scale_of(axis)) + axis.taps + 2 + 2 * 7;
}

// At least four rows of RGB must fit.
bool columns_fit(const AxisTask& axis, int outputs) {
  return 3 * 4 * (columns_of(axis, outputs) + kTileSlackColumns) <= kTileRgbBytes;
}

// Returns the rows of output whose input rows, after the horizontal pass, fit into `words` per
// column; 0 if none fits. Output n reads words from row (n - 1) * scale + 1 on, and one to shift.
int rows_that_fit(const AxisTask& axis, int words) {
  const int room = 4 * (words - axis.groups) - 3;
  if (room < 1) return 0;
  return 1 + static_cast<int>((room - 1) / scale_of(axis));
}

}  // namespace

bool add_tiles(std::vector<Item>& items, const ImageTask& task, std::uint32_t image) {
  const AxisTask& x = task.axis[0];
  const AxisTask& y = task.axis[1];
  int across = divide_up(x.keep, kTileColumns);
  int columns = divide_up(x.keep, across), rows = 0;
  for (;; across *= 2) {
    columns = divide_up(x.keep, across);
    rows = std::min(rows_that_fit(y, kTileRowWords / 3 / columns), kTileRows);
    if (rows > 0 && columns_fit(x, columns)) break;
    if (columns == 1) return false;
  }
  across = divide_up(x.keep, columns);
  const int down = divide_up(y.keep, rows);
  for (int j = 0; j < down; ++j) {
    for (int i = 0; i < across; ++i) {
      const auto part = [](int k, int keep, int parts) {
        return static_cast<std::uint16_t>(static_cast<long>(k) * keep / parts);
      };
      items.push_back({image, part(i, x.keep, across), part(i + 1, x.keep, across),
                       part(j, y.keep, down), part(j + 1, y.keep, down)});
    }
  }
  return true;
}

}  // namespace tundish::cuda
