#include "augment/mixing.h"

#include "augment/transform.h"

namespace tundish {
namespace {

constexpr std::uint32_t kBatchView = 0xffffffff;  // no view of a sample has this number

template <class Op>
concept MixesImages = requires(const Op& op, Random& random) { op.draw_mix(Size{}, random); };

template <class Op>
concept Holds = requires(const Op& op) { op.transforms.list(); };

// Calls visit(op) for every mixing operation of the transform.
template <class Visit>
void for_each_mixing(const Transform& transform, const Visit& visit) {
  std::visit(
      [&]<class Op>(const Op& op) {
        if constexpr (MixesImages<Op>) visit(op);
        if constexpr (Holds<Op>) {
          for (const Transform& one : op.transforms.list()) for_each_mixing(one, visit);
        }
      },
      transform);
}

// `number` counts the transforms, so that each one has a separate random stream.
Mix draw_one(const Transform& transform, const Key& key, Size size, std::uint64_t& number,
             bool chosen) {
  Random random(key, number++);
  return std::visit(
      [&]<class Op>(const Op& op) -> Mix {
        Mix out;
        if constexpr (MixesImages<Op>) {
          if (chosen) out = op.draw_mix(size, random);
        } else if constexpr (Holds<Op>) {
          const std::vector<std::size_t> order =
              chosen ? op.choose(random) : std::vector<std::size_t>{};
          for (std::size_t i = 0; i < op.transforms.list().size(); ++i) {
            const bool comes = !order.empty() && order.front() == i;
            const Mix one = draw_one(op.transforms.list()[i], key, size, number, comes);
            if (comes) out = one;
          }
        }
        return out;
      },
      transform);
}

// Throws Error(argument) if a container with a mixing transform `name` also holds other transforms.
void check_container(const Transform& transform, const char* name) {
  std::visit(
      [&]<class Op>(const Op& op) {
        if constexpr (Holds<Op>) {
          if (std::is_same_v<Op, RandomOrder>) {
            refuse_argument(Op::kName, fmt::format("cannot hold {}: images are mixed once", name));
          }
          if (std::is_same_v<Op, RandomApply> && op.transforms.list().size() > 1) {
            refuse_argument(Op::kName,
                            fmt::format("holds {} and another transform: images are mixed once, "
                                        "use RandomChoice",
                                        name));
          }
          for (const Transform& one : op.transforms.list()) {
            if (!mixes_images(one)) {
              refuse_argument(Op::kName,
                              fmt::format("holds {}, which works on batches, and a transform that "
                                          "works on images",
                                          name));
            }
            check_container(one, name);
          }
        }
      },
      transform);
}

}  // namespace

bool mixes_images(const Transform& transform) {
  bool found = false;
  for_each_mixing(transform, [&](const auto&) { found = true; });
  return found;
}

Partners Mixing::partners() const {
  Partners out = Partners::roll;
  for_each_mixing(transforms_.list().back(), [&](const auto& op) {
    if constexpr (requires { op.mode; }) {
      if (op.mode == MixMode::pair) out = Partners::pairs;
    }
  });
  return out;
}

bool Mixing::is_drawn_for_each() const {
  bool out = false;
  for_each_mixing(transforms_.list().back(), [&](const auto& op) {
    if constexpr (requires { op.mode; }) out |= op.mode != MixMode::batch;
  });
  return out;
}

std::optional<std::uint32_t> Mixing::classes() const {
  std::optional<std::uint32_t> out;
  for_each_mixing(transforms_.list().back(), [&](const auto& op) {
    if (op.num_classes) out = op.num_classes;
  });
  return out;
}

double Mixing::label_smoothing() const {
  double out = 0.0;
  for_each_mixing(transforms_.list().back(), [&](const auto& op) {
    if constexpr (requires { op.label_smoothing; }) out = op.label_smoothing;
  });
  return out;
}

Mix Mixing::draw(std::uint64_t seed, std::uint64_t epoch, std::uint64_t start, std::uint64_t number,
                 Size size) const {
  if (partners() == Partners::pairs) number /= 2;  // both images of a pair share one draw
  const Key key{.seed = seed,
                .epoch = epoch,
                .sample = start,
                .repeat = is_drawn_for_each() ? number : 0,
                .view = kBatchView};
  std::uint64_t stream = 0;
  return draw_one(transforms_.list().back(), key, size, stream, true);
}

std::optional<Mixing> mixing_of(const Transforms& transforms) {
  if (transforms.list().empty() || !mixes_images(transforms.list().back())) return {};
  return Mixing(transforms);
}

// MixUp and CutMix must end the list, alone or in one container, with the same number of classes.
void check_mixing(const Transforms& transforms) {
  const std::vector<Transform>& list = transforms.list();
  const char* name = nullptr;
  std::optional<std::optional<std::uint32_t>> classes;
  for (std::size_t i = 0; i < list.size(); ++i) {
    for_each_mixing(list[i], [&]<class Op>(const Op& op) {
      name = Op::kName;
      if (i + 1 < list.size()) refuse_argument(name, "must be the last transform");
      if (classes && *classes != op.num_classes) {
        refuse_argument(name, "num_classes must be the same as of the others beside it");
      }
      classes = op.num_classes;
    });
  }
  if (name) check_container(list.back(), name);
  if (name && crops_of(transforms) > 1) refuse_argument(name, "cannot follow FiveCrop or TenCrop");
}

}  // namespace tundish
