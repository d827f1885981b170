#include "augment/operations/five_crop.h"

#include <string>

#include "augment/operations/center_crop.h"
#include "base/error.h"

namespace tundish {
namespace {

std::string text(Size size) {
  return std::to_string(size.width) + "x" + std::to_string(size.height);
}

void plan_one_of_five(View& view, Size size, std::uint32_t crop, const char* name) {
  const Size now = view.size();
  if (size.width > now.width || size.height > now.height) {
    throw Error(ErrorCode::argument, {},
                std::string(name) + ": the crop of " + text(size) +
                    " (width x height) is larger than the image of " + text(now) +
                    "; use a Resize before it");
  }
  if (crop == 4) {
    Random none({}, 0);
    return CenterCrop{size}.plan(view, none);
  }
  const int x = crop % 2 == 0 ? 0 : now.width - size.width;
  const int y = crop < 2 ? 0 : now.height - size.height;
  view.crop({x, y, size.width, size.height});
}

}  // namespace

void FiveCrop::plan_crop(View& view, std::uint32_t crop) const {
  plan_one_of_five(view, size, crop, kName);
}

void TenCrop::plan_crop(View& view, std::uint32_t crop) const {
  if (crop >= 5) vertical_flip ? view.mirror_y() : view.mirror_x();
  plan_one_of_five(view, size, crop % 5, kName);
}

}  // namespace tundish
