#include "rewrite/preprocess/target.h"

#include <algorithm>

#include "augment/transform.h"
#include "base/error.h"

namespace tundish {
namespace {

// torchvision's Resize(None, max_size=side): int(side * shorter / longer), at least one pixel.
Size longest_size(Size image, int side) {
  const int longer = std::max(image.width, image.height);
  const auto scaled = [&](int length) {
    if (length == longer) return side;
    return std::max(1, static_cast<int>(static_cast<double>(side) * length / longer));
  };
  return {scaled(image.width), scaled(image.height)};
}

Resize resize_of(const PreprocessOptions& options, Size image) {
  Resize out;
  out.interpolation = options.interpolation;
  if (options.resize == ResizeTo::shortest) {
    out.size = Scheduled<SideOrSize>(SideOrSize{{options.side, 0}});
  } else {
    const Size size =
        options.resize == ResizeTo::exact ? options.exact : longest_size(image, options.side);
    out.size = Scheduled<SideOrSize>(SideOrSize{size});
  }
  return out;
}

constexpr Size kLargest{65'535, 65'535};  // maximum size in every encoding

bool exceeds(Size a, Size b) { return a.width > b.width || a.height > b.height; }

}  // namespace

Target target_of(const PreprocessOptions& options, Size image) {
  const Target unchanged{.transforms = {}, .size = image, .too_small = true};
  std::vector<Transform> list;
  Size size = image;
  bool enlarges = false;
  try {
    if (options.resize != ResizeTo::none) {
      const Resize resize = resize_of(options, image);
      size = resize.result_size(image);
      enlarges = exceeds(size, image);
      list.emplace_back(resize);
    }
    if (options.center_crop != Size{}) {
      enlarges |= exceeds(options.center_crop, size);
      size = options.center_crop;
      list.emplace_back(CenterCrop{.size = options.center_crop});
    }
    if (enlarges && (!options.enlarge || exceeds(size, kLargest))) return unchanged;
    Target out{.transforms = Transforms(std::move(list)), .size = size, .changes = size != image};
    plan_view(out.transforms, image, {});
    return out;
  } catch (const Error&) {  // a thin image would become millions of pixels long
    return unchanged;
  }
}

}  // namespace tundish
