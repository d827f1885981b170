#include "augment/operations/to_dtype.h"

namespace tundish {

void ToDtype::apply(PixelValues& values) const {
  if (values.dtype == Dtype::uint8 && dtype != Dtype::uint8 && scale) scale_to_one(values);
  values.dtype = dtype;
}

}  // namespace tundish
