#include "augment/operations/policies/containers.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "augment/transform.h"

namespace tundish {
namespace {

std::vector<std::size_t> all_of(const Transforms& transforms) {
  std::vector<std::size_t> out(transforms.list().size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

}  // namespace

std::vector<std::size_t> RandomApply::choose(Random& random) const {
  return random.uniform() < p ? all_of(transforms) : std::vector<std::size_t>{};
}

void RandomChoice::check() const {
  if (transforms.list().empty()) refuse_argument(kName, "transforms must not be empty");
  if (!p) return;
  if (p->values.size() != transforms.list().size()) {
    refuse_argument(kName, fmt::format("p has {} numbers for {} transforms", p->values.size(),
                                       transforms.list().size()));
  }
  double sum = 0;
  for (const double one : p->values) {
    if (!(one >= 0)) refuse_argument(kName, "p must not be negative");
    sum += one;
  }
  if (!std::isfinite(sum) || sum <= 0) refuse_argument(kName, "p must have a sum above 0");
}

std::vector<std::size_t> RandomChoice::choose(Random& random) const {
  if (!p) return {static_cast<std::size_t>(random.below(transforms.list().size()))};
  double left = random.uniform() * std::accumulate(p->values.begin(), p->values.end(), 0.0);
  std::size_t last = 0;  // keeps a rounding error from choosing an entry of weight 0
  for (std::size_t i = 0; i < p->values.size(); ++i) {
    if (p->values[i] == 0) continue;
    last = i;
    left -= p->values[i];
    if (left < 0) break;
  }
  return {last};
}

std::vector<std::size_t> RandomOrder::choose(Random& random) const {
  std::vector<std::size_t> out = all_of(transforms);
  for (std::size_t i = out.size(); i > 1; --i) {
    std::swap(out[i - 1], out[static_cast<std::size_t>(random.below(i))]);
  }
  return out;
}

}  // namespace tundish
