#include "batch/fingerprint.h"

#include <fmt/format.h>
#include <xxhash.h>

#include "batch/sampling.h"

namespace tundish {
namespace {

// One line of text per transform: plain, so that a person can print it when two differ.
std::string describe(const RandomResizedCrop& op) {
  return fmt::format("random_resized_crop {}x{} {} {} {} {} {}", op.size.width, op.size.height,
                     op.scale[0], op.scale[1], op.ratio[0], op.ratio[1],
                     static_cast<int>(op.filter));
}
std::string describe(const Resize& op) {
  return fmt::format("resize {}x{} {} {}", op.size.width, op.size.height, op.max_size,
                     static_cast<int>(op.filter));
}
std::string describe(const CenterCrop& op) {
  return fmt::format("center_crop {}x{}", op.size.width, op.size.height);
}
std::string describe(const RandomCrop& op) {
  return fmt::format("random_crop {}x{} {} {} {} {} {} {} {} {} {}", op.size.width, op.size.height,
                     op.padding[0], op.padding[1], op.padding[2], op.padding[3], op.pad_if_needed,
                     static_cast<int>(op.pad_mode), op.fill[0], op.fill[1], op.fill[2]);
}
std::string describe(const RandomHorizontalFlip& op) {
  return fmt::format("random_horizontal_flip {}", op.p);
}
std::string describe(const RandomVerticalFlip& op) {
  return fmt::format("random_vertical_flip {}", op.p);
}
std::string describe(const Normalize& op) {
  return fmt::format("normalize {} {} {} {} {} {}", op.mean[0], op.mean[1], op.mean[2], op.std[0],
                     op.std[1], op.std[2]);
}
std::string describe(const ToDtype& op) {
  return fmt::format("to_dtype {} {}", dtype_name(op.dtype), op.scale);
}

}  // namespace

std::string fingerprint(const Recipe& recipe, const Order& order) {
  std::string text = fmt::format("tundish 1\n{}\n{} {} {}\nexif {}\n", recipe.source->fingerprint(),
                                 order.count, order.seed, order.shuffle, recipe.exif_orientation);
  text += describe(order) + '\n';
  for (const Transform& transform : recipe.transforms) {
    text += std::visit([](const auto& op) { return describe(op); }, transform) + '\n';
  }
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace tundish
