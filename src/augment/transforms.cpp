#include "augment/transforms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

#include "augment/mixing.h"
#include "augment/mode_check.h"
#include "augment/transform.h"
#include "base/error.h"

namespace tundish {
namespace {

// Protects against a saved state of a few kilobytes that requests very many changes.
constexpr std::size_t kMaxChanges = 256;

// State of the checks of a list so far.
struct Checked {
  ImageMode mode;
  Dtype dtype = Dtype::uint8;    // element type
  const char* erased = nullptr;  // name of the transform that erased elements
  const char* crops = nullptr;   // name of the transform that made several images
};

// Calls visit(schedule) for every Schedule of the transform that has later sizes.
template <class AnyOf, class Visit>
void for_each_schedule(AnyOf& transform, const Visit& visit) {
  std::visit(
      [&](auto& op) {
        std::decay_t<decltype(op)>::fields(op, [&]<class Value>(const FieldInfo&, Value& value) {
          if constexpr (IsScheduled<std::remove_const_t<Value>>::value) {
            if (!value.later.empty()) visit(value);
          }
        });
      },
      transform);
}

bool is_scheduled(const Transform& transform) {
  bool found = false;
  for_each_schedule(transform, [&](const auto&) { found = true; });
  return found;
}

// `inside`: name of the transform that contains the list; empty for a loader's list.
void check_list(const std::vector<Transform>& list, const std::string& inside, Checked& so_far) {
  for (const Transform& transform : list) {
    std::visit(
        [&]<class Op>(const Op& op) {
          const Dtype dtype = so_far.dtype;
          check_fields_of(op);
          if (!inside.empty() && is_scheduled(transform)) {
            refuse_argument(inside, fmt::format("cannot hold {} with a Schedule: put it into the "
                                                "list itself",
                                                Op::kName));
          }
          check_mode_of(op, so_far.mode);
          if constexpr (std::is_same_v<Op, Resize>) {
            if (op.draft && (!inside.empty() || &transform != &list.front())) {
              refuse_argument(Op::kName,
                              "draft=True decodes a smaller image: it must come first in the list");
            }
          }
          if constexpr (Container<Op>) check_list(op.transforms.list(), Op::kName, so_far);
          if constexpr (requires { op.check_on(dtype); }) op.check_on(dtype);
          if constexpr (MakesCrops<Op>) {
            if (!inside.empty()) refuse_argument(inside, fmt::format("cannot hold {}", Op::kName));
            if (so_far.crops) {
              refuse_argument(Op::kName, fmt::format("cannot follow {}", so_far.crops));
            }
            so_far.crops = Op::kName;
          }
          if constexpr (ErasesElements<Op>) {
            if (dtype != Dtype::uint8) so_far.erased = Op::kName;
          }
          if (std::is_same_v<Op, Normalize> && so_far.erased) {
            refuse_argument(so_far.erased, "must come after Normalize, or before ToDtype");
          }
          if constexpr (requires { op.makes_pixels(); }) {
            if (op.makes_pixels() && dtype != Dtype::uint8) {
              refuse_argument(Op::kName, "must come before ToDtype and Normalize");
            }
          }
          if constexpr (requires { op.result_dtype(dtype); }) {
            if (!inside.empty()) {
              refuse_argument(inside, fmt::format("cannot hold {}: every image of a batch has the "
                                                  "same; put it at the end of the list",
                                                  Op::kName));
            }
            so_far.dtype = op.result_dtype(dtype);
            if (dtype != Dtype::uint8 && so_far.dtype == Dtype::uint8) {
              refuse_argument(Op::kName, "cannot go back to uint8");
            }
          }
        },
        transform);
  }
}

Size size_after(const std::vector<Transform>& list, Size size);

// Returns the size after any one of the transforms; {0, 0} if the sizes differ.
Size size_of_any(const std::vector<Transform>& list, Size size) {
  if (list.empty()) return size;
  const Size first = size_after({list.front()}, size);
  for (const Transform& one : list) {
    if (size_after({one}, size) != first) return {};
  }
  return first;
}

// Returns {0, 0} if the size depends on the image or on random numbers.
Size size_after(const std::vector<Transform>& list, Size size) {
  for (const Transform& transform : list) {
    std::visit(
        [&]<class Op>(const Op& op) {
          if constexpr (std::is_same_v<Op, RandomChoice>) {
            size = size_of_any(op.transforms.list(), size);
          } else if constexpr (Container<Op>) {
            for (const Transform& one : op.transforms.list()) {
              if (size_after({one}, size) != size) size = {};
            }
          } else if constexpr (requires { op.result_size(size); }) {
            size = op.result_size(size);
          }
        },
        transform);
  }
  return size;
}

PixelValues pixel_values(const Transforms& transforms, PixelValues values = {}) {
  for (const Transform& transform : transforms.list()) {
    std::visit(
        [&](const auto& op) {
          if constexpr (requires { op.apply(values); }) op.apply(values);
        },
        transform);
  }
  return values;
}

}  // namespace

Transforms::Transforms() : Transforms(std::vector<Transform>{}) {}
Transforms::Transforms(std::vector<Transform> list)
    : list_(std::make_shared<const std::vector<Transform>>(std::move(list))),
      scheduled_(std::any_of(list_->begin(), list_->end(), is_scheduled)) {}
Transforms::Transforms(std::initializer_list<Transform> list)
    : Transforms(std::vector<Transform>(list)) {}
bool Transforms::operator==(const Transforms& other) const { return *list_ == *other.list_; }

Transforms Transforms::at(std::uint64_t epoch) const {
  if (!scheduled_) return *this;
  std::vector<Transform> now = *list_;
  for (Transform& transform : now) {
    for_each_schedule(transform, [&](auto& size) {
      size = std::remove_cvref_t<decltype(size.at(0))>(size.at(epoch));
    });
  }
  return now;
}

std::vector<std::uint64_t> Transforms::changes() const {
  std::set<std::uint64_t> epochs{0};
  for (const Transform& transform : *list_) {
    for_each_schedule(transform, [&](const auto& size) {
      for (const auto& [epoch, of_epoch] : size.later) epochs.insert(epoch);
    });
  }
  return {epochs.begin(), epochs.end()};
}

void check_transforms(const Transforms& transforms, ImageMode mode) {
  const std::vector<std::uint64_t> epochs = transforms.changes();
  if (epochs.size() > kMaxChanges) {
    refuse_argument("", fmt::format("the Schedules of a list change it in {} epochs; at most {}",
                                    epochs.size(), kMaxChanges));
  }
  for (const std::uint64_t epoch : epochs) {
    Checked so_far{.mode = mode};
    check_list(transforms.at(epoch).list(), "", so_far);
  }
  check_mixing(transforms);
}

bool begins_with_draft(const Transforms& transforms) {
  if (transforms.list().empty()) return false;
  const Resize* const resize = std::get_if<Resize>(&transforms.list().front());
  return resize && resize->draft;
}

std::uint32_t crops_of(const Transforms& transforms) {
  std::uint32_t crops = 1;
  for (const Transform& transform : transforms.list()) {
    std::visit(
        [&]<class Op>(const Op&) {
          if constexpr (MakesCrops<Op>) crops = Op::kCrops;
        },
        transform);
  }
  return crops;
}

Size fixed_size(const Transforms& transforms, std::uint64_t epoch) {
  return size_after(transforms.at(epoch).list(), {});
}

Size largest_size(const Transforms& transforms) {
  Size out;
  for (const std::uint64_t epoch : transforms.changes()) {
    const Size size = fixed_size(transforms, epoch);
    if (size == Size{}) return {};
    out = {std::max(out.width, size.width), std::max(out.height, size.height)};
  }
  return out;
}

PixelTable pixel_table(const Transforms& transforms, ImageMode mode) {
  PixelTable table = make_pixel_table(pixel_values(transforms));
  if (mode == ImageMode::rgba) {
    PixelValues fourth;
    fourth.of_alpha = true;
    table.alpha =
        std::make_shared<const PixelTable>(make_pixel_table(pixel_values(transforms, fourth)));
  }
  if (mode != ImageMode::i16 || table.dtype == Dtype::uint8) return table;
  auto wide = std::make_shared<std::vector<std::uint32_t>>();
  for (int high = 0; high < 256; ++high) {
    PixelValues values;
    values.largest = 65535;
    for (float& level : values.value[0]) level += static_cast<float>(256 * high);
    values = pixel_values(transforms, values);
    for (const float value : values.value[0]) wide->push_back(element_bits(value, table.dtype));
  }
  table.wide = std::move(wide);
  return table;
}

PixelTable float_table(const Transforms& transforms) {
  PixelValues values = pixel_values(transforms);
  values.dtype = Dtype::float32;
  return make_pixel_table(values);
}

}  // namespace tundish
