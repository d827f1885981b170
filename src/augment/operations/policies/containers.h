// torchvision's RandomApply, RandomChoice and RandomOrder: transforms that contain others. choose()
// returns which transforms run, in order (augment/transforms.cpp plans the chosen transforms).
#pragma once

#include <vector>

#include "augment/transforms.h"
#include "base/fields.h"
#include "base/fields_json.h"
#include "base/random.h"

namespace tundish {

// A list of numbers, one per entry of another list.
struct Weights {
  std::vector<double> values;
  bool operator==(const Weights&) const = default;
};
inline Json json_of(const Weights& weights) { return weights.values; }
inline bool read_json(Weights& to, const Json& from) {
  to.values.clear();
  return from.is_array() && read_numbers(to.values, from);
}

struct RandomApply {
  static constexpr const char* kName = "RandomApply";
  static constexpr const char* kAbout =
      "Applies all of its transforms with probability p, otherwise none.";

  Transforms transforms;
  double p = 0.5;
  bool operator==(const RandomApply&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"transforms", "transforms that are applied together"}, self.transforms);
    visit(FieldInfo{"p", "probability", 0, 1}, self.p);
  }
  std::vector<std::size_t> choose(Random& random) const;
};

struct RandomChoice {
  static constexpr const char* kName = "RandomChoice";
  static constexpr const char* kAbout = "Applies one of its transforms, chosen at random.";

  Transforms transforms;
  std::optional<Weights> p = {};
  bool operator==(const RandomChoice&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"transforms", "transforms from which one is chosen"}, self.transforms);
    visit(FieldInfo{"p", "relative probability of each transform; default: all are equally likely"},
          self.p);
  }
  void check() const;
  std::vector<std::size_t> choose(Random& random) const;
};

struct RandomOrder {
  static constexpr const char* kName = "RandomOrder";
  static constexpr const char* kAbout = "Applies all of its transforms in random order.";

  Transforms transforms;
  bool operator==(const RandomOrder&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"transforms", "transforms that are applied"}, self.transforms);
  }
  std::vector<std::size_t> choose(Random& random) const;
};

}  // namespace tundish
