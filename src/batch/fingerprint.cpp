#include "batch/fingerprint.h"

#include <fmt/format.h>
#include <xxhash.h>

#include "batch/sampling.h"
#include "batch/transforms_json.h"

namespace tundish {

std::string fingerprint(const Recipe& recipe, const Order& order) {
  std::string text = fmt::format("tundish 1\n{}\n{} {} {}\nexif {}\n", recipe.source->fingerprint(),
                                 order.count, order.seed, order.shuffle, recipe.exif_orientation);
  text += describe(order) + '\n' + transforms_json(recipe.transforms).dump();
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace tundish
