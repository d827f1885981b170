#include "augment/transforms.h"

#include <fmt/format.h>

#include <array>
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

}  // namespace

Transforms::Transforms() : Transforms(std::vector<Transform>{}) {}
Transforms::Transforms(std::vector<Transform> list)
    : list_(std::make_shared<const std::vector<Transform>>(std::move(list))) {}
Transforms::Transforms(std::initializer_list<Transform> list)
    : Transforms(std::vector<Transform>(list)) {}
bool Transforms::operator==(const Transforms& other) const { return *list_ == *other.list_; }

// The type of an element after the transforms so far.
template <class Op>
static void follow(Dtype& dtype, const Op& op) {
  if constexpr (requires { op.result_dtype(dtype); }) dtype = op.result_dtype(dtype);
}

bool may_erase_elements(const Transforms& transforms) {
  Dtype dtype = Dtype::uint8;
  bool erases = false;
  for (const Transform& transform : transforms.list()) {
    erases |= std::holds_alternative<RandomErasing>(transform) && dtype != Dtype::uint8;
    std::visit([&](const auto& op) { follow(dtype, op); }, transform);
  }
  return erases;
}

void check_transforms(const Transforms& transforms) {
  Dtype dtype = Dtype::uint8;
  bool erased = false;  // elements
  for (const Transform& transform : transforms.list()) {
    std::visit(
        [&]<class Op>(const Op& op) {
          check_fields_of(op);
          if constexpr (requires { op.check_on(dtype); }) op.check_on(dtype);
          if constexpr (std::is_same_v<Op, RandomErasing>) erased |= dtype != Dtype::uint8;
          if (std::is_same_v<Op, Normalize> && erased) {
            refuse_argument(RandomErasing::kName, "must come after Normalize, or before ToDtype");
          }
          if constexpr (requires { op.makes_pixels(); }) {
            if (op.makes_pixels() && dtype != Dtype::uint8) {
              refuse_argument(Op::kName, "must come before ToDtype and Normalize");
            }
          }
          if constexpr (requires { op.result_dtype(dtype); }) {
            const Dtype after = op.result_dtype(dtype);
            if (dtype != Dtype::uint8 && after == Dtype::uint8) {
              refuse_argument(Op::kName, "cannot go back to uint8");
            }
            dtype = after;
          }
        },
        transform);
  }
}

View plan_view(const Transforms& transforms, Size image, const Key& key) {
  View view(image);
  Dtype dtype = Dtype::uint8;
  std::array<std::uint32_t, std::variant_size_v<AnyTransform>> before{};  // of the same name
  for (const Transform& transform : transforms.list()) {
    const std::uint32_t number = before[transform.index()]++;
    std::visit(
        [&]<class Op>(const Op& op) {
          if constexpr (requires(Random& random) { op.plan(view, random); }) {
            constexpr std::uint64_t kStream = hash_of(Op::kName);
            Random random(key, kStream + number);
            if constexpr (requires { op.plan_elements(view, random); }) {
              if (dtype != Dtype::uint8) return op.plan_elements(view, random);
            }
            op.plan(view, random);
          }
          follow(dtype, op);
        },
        transform);
  }
  for (const PlanStep& step : view.steps()) {
    const ResizeStep* resize = std::get_if<ResizeStep>(&step);
    if (!resize) continue;
    const Window& keep = resize->keep;
    if (std::int64_t{keep.width} * keep.height <= kMaxResultPixels) continue;
    throw Error(
        ErrorCode::argument, {},
        fmt::format("the transforms would make an image of {}x{} pixels", keep.width, keep.height));
  }
  return view;
}

Size fixed_size(const Transforms& transforms) {
  Size size;
  for (const Transform& transform : transforms.list()) {
    std::visit(
        [&](const auto& op) {
          if constexpr (requires { op.result_size(size); }) size = op.result_size(size);
        },
        transform);
  }
  return size;
}

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
