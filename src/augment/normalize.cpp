#include "augment/normalize.h"

namespace tundish {

float normalize_value(float x, float mean, float std) {
  const float centered = x - mean;
  return centered / std;
}

}  // namespace tundish
