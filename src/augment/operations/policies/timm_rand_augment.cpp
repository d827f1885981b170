#include "augment/operations/policies/timm_rand_augment.h"

#include <vector>

#include "augment/operations/policies/timm_config.h"

namespace tundish {
namespace {

// numpy.random.choice without replacement: draws one at a time, by its share of the rest.
std::vector<TimmOp> weighted(const TimmRandConfig& config, Random& random) {
  std::vector<WeightedTimmOp> left(config.ops.begin(), config.ops.end());
  std::vector<TimmOp> out;
  for (int i = 0; i < config.count; ++i) {
    double sum = 0;
    for (const WeightedTimmOp& one : left) sum += one.weight;
    double place = random.uniform() * sum;
    std::size_t at = 0;
    while (at + 1 < left.size() && (place -= left[at].weight) >= 0) ++at;
    out.push_back(left[at].op);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return out;
}

std::vector<TimmOp> chosen(const TimmRandConfig& config, Random& random) {
  if (!config.repeats) return weighted(config, random);
  std::vector<TimmOp> out;
  for (int i = 0; i < config.count; ++i) {
    out.push_back(config.ops[static_cast<std::size_t>(random.below(config.ops.size()))].op);
  }
  return out;
}

}  // namespace

void TimmRandAugment::check() const { timm_rand_config(kName, config); }

void TimmRandAugment::plan(View& view, Random& random) const {
  const TimmRandConfig parsed = timm_rand_config(kName, config);
  for (const TimmOp op : chosen(parsed, random)) {
    if (random.uniform() >= parsed.p) continue;
    const double magnitude = parsed.magnitude.draw(random);
    add_timm_op(view, random, op, magnitude, {img_mean, interpolation, translate_pct});
  }
}

}  // namespace tundish
