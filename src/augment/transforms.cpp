#include "augment/transforms.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "core/error.h"

namespace tundish {
namespace {

template <class... Cases>
struct Match : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Match(Cases...) -> Match<Cases...>;

constexpr int kMaxSide = 65'535;

void require(bool fine, const char* transform, const std::string& what) {
  if (!fine) throw Error(ErrorCode::argument, {}, fmt::format("{}: {}", transform, what));
}

void check_size(const char* transform, Size size) {
  require(size.width >= 1 && size.height >= 1 && size.width <= kMaxSide && size.height <= kMaxSide,
          transform,
          fmt::format("size must be from 1 to {}, not {} (height) x {} (width)", kMaxSide,
                      size.height, size.width));
}

void check_probability(const char* transform, double p) {
  require(p >= 0.0 && p <= 1.0, transform, fmt::format("p must be from 0 to 1, not {}", p));
}

void check(const RandomResizedCrop& op) {
  const char* name = "RandomResizedCrop";
  check_size(name, op.size);
  const auto [small, large] = op.scale;
  require(small >= 0.0 && small <= large && large > 0.0 && std::isfinite(large), name,
          fmt::format("scale must be (min, max) of positive numbers, not ({}, {})", small, large));
  const auto [tall, wide] = op.ratio;
  require(tall > 0.0 && tall <= wide && std::isfinite(wide), name,
          fmt::format("ratio must be (min, max) of positive numbers, not ({}, {})", tall, wide));
}

void check(const Resize& op) {
  const char* name = "Resize";
  const bool shorter_side = op.size.height == 0;
  check_size(name, shorter_side ? Size{op.size.width, op.size.width} : op.size);
  if (op.max_size == 0) return;
  require(shorter_side, name, "max_size needs a size of one number, the shorter side");
  require(op.max_size > op.size.width && op.max_size <= kMaxSide, name,
          fmt::format("max_size must be larger than size ({}) and at most {}, not {}",
                      op.size.width, kMaxSide, op.max_size));
}

void check(const CenterCrop& op) { check_size("CenterCrop", op.size); }

void check(const RandomCrop& op) {
  check_size("RandomCrop", op.size);
  for (const int side : op.padding) {
    require(side >= 0 && side <= kMaxSide, "RandomCrop",
            fmt::format("padding must be from 0 to {}, not {}", kMaxSide, side));
  }
}

void check(const RandomHorizontalFlip& op) { check_probability("RandomHorizontalFlip", op.p); }

void check(const RandomVerticalFlip& op) { check_probability("RandomVerticalFlip", op.p); }

void check(const Normalize& op) {
  for (std::size_t c = 0; c < 3; ++c) {
    require(std::isfinite(op.mean[c]), "Normalize",
            fmt::format("mean must be finite, not {}", op.mean[c]));
    require(std::isfinite(op.std[c]) && op.std[c] != 0.0f, "Normalize",
            fmt::format("std must be finite and not 0, not {}", op.std[c]));
  }
}

void check(const ToDtype&) {}

// The name of a transform that may make new pixels, or nullptr.
const char* maker_of_pixels(const Transform& transform) {
  return std::visit(
      Match{[](const RandomResizedCrop&) { return "RandomResizedCrop"; },
            [](const Resize&) { return "Resize"; }, [](const CenterCrop&) { return "CenterCrop"; },
            [](const RandomCrop& op) {
              const bool pads = op.pad_if_needed || op.padding != std::array{0, 0, 0, 0};
              return pads ? "RandomCrop with padding" : nullptr;
            },
            [](const auto&) { return static_cast<const char*>(nullptr); }},
      transform);
}

}  // namespace

void check_transforms(const Transforms& transforms) {
  bool is_float = false;
  for (const Transform& transform : transforms) {
    std::visit([](const auto& op) { check(op); }, transform);
    const char* maker = maker_of_pixels(transform);
    require(!is_float || !maker, maker, "must come before ToDtype and Normalize");
    if (const auto* op = std::get_if<ToDtype>(&transform)) {
      require(!is_float || op->dtype != Dtype::uint8, "ToDtype", "cannot go back to uint8");
      is_float |= op->dtype != Dtype::uint8;
    }
    is_float |= std::holds_alternative<Normalize>(transform);
  }
}

View plan_view(const Transforms& transforms, Size image, const Key& key) {
  View view(image);
  std::uint32_t operation = 0;
  for (const Transform& transform : transforms) {
    Random random(key, operation++);
    std::visit(
        Match{[&](const RandomResizedCrop& op) { random_resized_crop(view, op, random); },
              [&](const Resize& op) { resize(view, op); },
              [&](const CenterCrop& op) { center_crop(view, op); },
              [&](const RandomCrop& op) { random_crop(view, op, random); },
              [&](const RandomHorizontalFlip& op) { random_horizontal_flip(view, op, random); },
              [&](const RandomVerticalFlip& op) { random_vertical_flip(view, op, random); },
              [](const Normalize&) {}, [](const ToDtype&) {}},
        transform);
  }
  for (const Stage& stage : view.stages()) {
    const Window& keep = stage.keep;
    if (std::int64_t{keep.width} * keep.height <= kMaxResultPixels) continue;
    throw Error(
        ErrorCode::argument, {},
        fmt::format("the transforms would make an image of {}x{} pixels", keep.width, keep.height));
  }
  return view;
}

Size fixed_size(const Transforms& transforms) {
  Size size;
  for (const Transform& transform : transforms) {
    std::visit(Match{[&](const RandomResizedCrop& op) { size = op.size; },
                     [&](const Resize& op) {
                       if (op.size.height != 0) {
                         size = op.size;
                       } else if (size != Size{}) {
                         View view(size);
                         resize(view, op);
                         size = view.size();
                       }
                     },
                     [&](const CenterCrop& op) { size = op.size; },
                     [&](const RandomCrop& op) { size = op.size; }, [](const auto&) {}},
               transform);
  }
  return size;
}

PixelTable pixel_table(const Transforms& transforms) {
  std::array<std::array<float, 256>, 3> value{};
  for (auto& levels : value) {
    for (std::size_t i = 0; i < 256; ++i) levels[i] = static_cast<float>(i);
  }
  // torchvision multiplies by the float nearest to 1/255; dividing by 255 would differ.
  float factor = 1;
  constexpr auto k255th = static_cast<float>(1.0 / 255);
  const auto scale = [&] {
    factor = k255th;
    for (auto& levels : value) {
      for (float& x : levels) x *= k255th;
    }
  };

  Dtype dtype = Dtype::uint8;
  Normalize normalize{.mean = {0, 0, 0}, .std = {1, 1, 1}};
  int normalizes = 0;
  for (const Transform& transform : transforms) {
    if (const auto* op = std::get_if<ToDtype>(&transform)) {
      if (dtype == Dtype::uint8 && op->dtype != Dtype::uint8 && op->scale) scale();
      dtype = op->dtype;
    } else if (const auto* op = std::get_if<Normalize>(&transform)) {
      if (dtype == Dtype::uint8) {
        scale();
        dtype = Dtype::float32;
      }
      for (std::size_t c = 0; c < 3; ++c) {
        for (float& x : value[c]) x = normalize_value(x, op->mean[c], op->std[c]);
      }
      normalize = *op;
      ++normalizes;
    }
  }

  const auto bits = [dtype](float x) -> std::uint32_t {
    switch (dtype) {
      case Dtype::uint8:
        return static_cast<std::uint8_t>(x);
      case Dtype::float32:
        return std::bit_cast<std::uint32_t>(x);
      case Dtype::float16:
        return float16_bits(x);
      case Dtype::bfloat16:
        return bfloat16_bits(x);
    }
    return 0;
  };
  PixelTable table{.dtype = dtype};
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t i = 0; i < 256; ++i) table.value[c][i] = bits(value[c][i]);
  }
  if (dtype == Dtype::uint8 || normalizes > 1) return table;
  PixelSteps steps;
  set_steps(steps, factor, normalize.mean.data(), normalize.std.data());
  for (int c = 0; c < 3; ++c) {
    for (unsigned i = 0; i < 256; ++i) {
      const float x = step_slowly(steps, 0, c, static_cast<std::uint8_t>(i));
      if (bits(x) != table.value[static_cast<std::size_t>(c)][i]) return table;
    }
  }
  table.steps = steps;
  return table;
}

}  // namespace tundish
