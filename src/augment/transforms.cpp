#include "augment/transforms.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

#include "augment/transform.h"
#include "core/error.h"

namespace tundish {
namespace {

// FNV-1a: turns a transform's name into a word of its random stream's key.
constexpr std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

template <class Op>
concept Container = requires(const Op& op, Random& random) { op.choose(random); };

// `inside`: the transform that holds the list; empty for a loader's list.
Dtype check_list(const std::vector<Transform>& list, const std::string& inside,
                 Dtype dtype = Dtype::uint8) {
  for (const Transform& transform : list) {
    std::visit(
        [&]<class Op>(const Op& op) {
          check_fields_of(op);
          if constexpr (Container<Op>) (void)check_list(op.transforms.list(), Op::kName, dtype);
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
            const Dtype after = op.result_dtype(dtype);
            if (dtype != Dtype::uint8 && after == Dtype::uint8) {
              refuse_argument(Op::kName, "cannot go back to uint8");
            }
            dtype = after;
          }
        },
        transform);
  }
  return dtype;
}

// How many transforms of each name came before, also those that were not chosen: which one a
// container chooses changes no draw of the others.
using Numbers = std::array<std::uint32_t, std::variant_size_v<AnyTransform>>;

void plan_one(View& view, const Transform& transform, const Key& key, Numbers& numbers,
              bool chosen) {
  const std::uint32_t number = numbers[transform.index()]++;
  std::visit(
      [&]<class Op>(const Op& op) {
        constexpr std::uint64_t kStream = hash_of(Op::kName);
        if constexpr (Container<Op>) {
          std::vector<Numbers> before;
          for (const Transform& one : op.transforms.list()) {
            before.push_back(numbers);
            plan_one(view, one, key, numbers, false);
          }
          if (!chosen) return;
          Random random(key, kStream + number);
          for (const std::size_t i : op.choose(random)) {
            plan_one(view, op.transforms.list()[i], key, before[i], true);
          }
        } else if constexpr (requires(Random& random) { op.plan(view, random); }) {
          if (!chosen) return;
          Random random(key, kStream + number);
          op.plan(view, random);
        }
      },
      transform);
}

// {0, 0}: it depends on the image, or on what is drawn.
Size size_after(const std::vector<Transform>& list, Size size) {
  for (const Transform& transform : list) {
    std::visit(
        [&]<class Op>(const Op& op) {
          if constexpr (Container<Op>) {
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

}  // namespace

Transforms::Transforms() : Transforms(std::vector<Transform>{}) {}
Transforms::Transforms(std::vector<Transform> list)
    : list_(std::make_shared<const std::vector<Transform>>(std::move(list))) {}
Transforms::Transforms(std::initializer_list<Transform> list)
    : Transforms(std::vector<Transform>(list)) {}
bool Transforms::operator==(const Transforms& other) const { return *list_ == *other.list_; }

void check_transforms(const Transforms& transforms) { (void)check_list(transforms.list(), ""); }

View plan_view(const Transforms& transforms, Size image, const Key& key) {
  View view(image);
  Numbers numbers{};
  for (const Transform& transform : transforms.list()) {
    plan_one(view, transform, key, numbers, true);
  }
  for (const PlanStep& step : view.steps()) {
    const ResizeStep* resize = std::get_if<ResizeStep>(&step);
    const Size size =
        resize ? Size{resize->keep.width, resize->keep.height} : std::get<PixelStep>(step).size;
    if (std::int64_t{size.width} * size.height <= kMaxResultPixels) continue;
    throw Error(
        ErrorCode::argument, {},
        fmt::format("the transforms would make an image of {}x{} pixels", size.width, size.height));
  }
  return view;
}

Size fixed_size(const Transforms& transforms) { return size_after(transforms.list(), {}); }

PixelTable pixel_table(const Transforms& transforms) {
  PixelValues values;
  for (const Transform& transform : transforms.list()) {
    std::visit(
        [&](const auto& op) {
          if constexpr (requires { op.apply(values); }) op.apply(values);
        },
        transform);
  }
  return make_pixel_table(values);
}

}  // namespace tundish
