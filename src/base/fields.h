// How a struct describes its fields, once: a transform, the loader's options, its statistics.
//
//   struct RandomHorizontalFlip {
//     static constexpr const char* kName = "RandomHorizontalFlip";
//     static constexpr const char* kAbout = "Mirrors left and right with probability p.";
//     double p = 0.5;
//     bool operator==(const RandomHorizontalFlip&) const = default;
//
//     template <class Self, class Visit>
//     static void fields(Self& self, Visit&& visit) {
//       visit(FieldInfo{.name = "p", .about = "probability", .low = 0, .high = 1}, self.p);
//     }
//   };
//
// Code that needs all fields is a visitor. The range check is in this file; reading, writing and
// the reference page are in base/fields_json.h. A field's default is its value in a new struct.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/image.h"

namespace tundish {

inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();
inline constexpr double kMaxNumber = std::numeric_limits<double>::max();  // the largest finite one
inline constexpr double kMaxSide = 65'535;  // pixels per side of an image

struct FieldInfo {
  const char* name;
  const char* about = "";    // one clause for the reference page, with the unit
  double low = -kUnlimited;  // the allowed range, both ends included
  double high = kUnlimited;
  bool saved = false;  // part of a saved state, as the next batch depends on the option
};

// Levels of red, green and blue. A single number sets all three.
using Fill = std::array<std::uint8_t, 3>;

// One number per channel. A single number sets all channels.
struct PerChannel : std::array<double, 3> {
  std::optional<double> fourth{};  // alpha, if four numbers were given
  bool operator==(const PerChannel&) const = default;
};

// Pixels added around an image. One number: every side; two: left and right, top and bottom.
struct Padding {
  int left = 0, top = 0, right = 0, bottom = 0;
  bool operator==(const Padding&) const = default;
};

// A size for which one number means the length of the shorter side; height is then 0.
struct SideOrSize : Size {
  bool operator==(const SideOrSize&) const = default;
};

// A size that may change between epochs. The base class is the size of epoch 0; `later` holds each
// later size with the first epoch that uses it, in order.
template <class T>
struct Scheduled : T {
  std::vector<std::pair<std::uint64_t, T>> later;

  Scheduled() = default;
  Scheduled(const T& size) : T(size) {}
  Scheduled(int across, int down) {
    this->width = across;
    this->height = down;
  }
  bool operator==(const Scheduled&) const = default;

  const T& at(std::uint64_t epoch) const {
    const T* now = this;
    for (const auto& [first, size] : later) {
      if (first <= epoch) now = &size;
    }
    return *now;
  }
};

template <class T>
struct IsScheduled : std::false_type {};
template <class T>
struct IsScheduled<Scheduled<T>> : std::true_type {};

// The range of a uniform draw. One number x means kCenter - x to kCenter + x, but not below 0 if
// kCenter is 1. None means kCenter, which changes nothing.
template <int kCenter>
struct Spread {
  double low = kCenter, high = kCenter;
  bool changes() const { return low != kCenter || high != kCenter; }
  bool operator==(const Spread&) const = default;
};

template <class T>
struct IsSpread : std::false_type {};
template <int kCenter>
struct IsSpread<Spread<kCenter>> : std::true_type {};

// An enumeration with named values: constexpr std::array<const char*, N> words(Filter).
template <class T>
concept Worded = std::is_enum_v<T> && requires(T value) { words(value); };

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <class T>
struct ArrayOf {  // primary template: T is no array
  static constexpr std::size_t kSize = 0;
};
template <class T, std::size_t N>
struct ArrayOf<std::array<T, N>> {
  static constexpr std::size_t kSize = N;
};

// Returns " from 0 to 1" or " of at least 1"; empty if the range is unlimited.
std::string range_text(const FieldInfo& field);

// Describes valid values of the field: "a whole number from 1 to 9", "one of pad, drop, exact".
template <class T>
std::string wanted_text(const FieldInfo& field) {
  constexpr std::size_t count = ArrayOf<T>::kSize;
  if constexpr (IsOptional<T>::value) {
    return wanted_text<typename T::value_type>(field) + ", or none";
  } else if constexpr (Worded<T>) {
    return fmt::format("one of {}", fmt::join(words(T{}), ", "));
  } else if constexpr (std::is_same_v<T, bool>) {
    return "true or false";
  } else if constexpr (std::is_same_v<T, Fill>) {
    return "a level from 0 to 255, or three";
  } else if constexpr (std::is_same_v<T, PerChannel>) {
    return "three numbers (four with mode=\"RGBA\"), or one for all channels" + range_text(field);
  } else if constexpr (std::is_same_v<T, Padding>) {
    return "one, two or four numbers of pixels" + range_text(field);
  } else if constexpr (IsSpread<T>::value) {
    return "a number of at least 0, or two in order" + range_text(field) + ", or none";
  } else if constexpr (std::is_base_of_v<Size, T>) {
    return "a number of pixels or (height, width)" + range_text(field) +
           (IsScheduled<T>::value ? ", or a Schedule {0: size, epoch: size, ...} of such sizes"
                                  : "");
  } else if constexpr (count > 0) {
    constexpr std::array kCounts = {"no", "one", "two", "three", "four"};
    return fmt::format("{} numbers{}", kCounts[count], range_text(field));
  } else if constexpr (std::is_integral_v<T>) {
    return "a whole number" + range_text(field);
  } else if constexpr (std::is_floating_point_v<T>) {
    return "a number" + range_text(field);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return "a text";
  } else {
    return "a list";
  }
}

// Throws Error(argument): "RandomCrop: padding must be ..., not 5".
[[noreturn]] void refuse_argument(const std::string& owner, const std::string& text);

// Compares every number with the range of its field. Throws Error(argument).
class CheckRanges {
 public:
  explicit CheckRanges(std::string owner) : owner_(std::move(owner)) {}

  template <class T>
  void operator()(const FieldInfo& field, const T& value) const {
    if constexpr (IsOptional<T>::value) {
      if (value) (*this)(field, *value);
    } else if constexpr (std::is_same_v<T, Padding>) {
      const std::array sides{value.left, value.top, value.right, value.bottom};
      for (const int one : sides) {
        if (!inside(field, one)) refuse<T>(field, fmt::format("({})", fmt::join(sides, ", ")));
      }
    } else if constexpr (IsSpread<T>::value) {
      const bool fine = inside(field, value.low) && inside(field, value.high);
      if (!fine || value.low > value.high) {
        refuse<T>(field, fmt::format("({}, {})", value.low, value.high));
      }
    } else if constexpr (std::is_base_of_v<Size, T>) {
      check_size<T>(field, value);
      if constexpr (IsScheduled<T>::value) {
        for (const auto& [epoch, size] : value.later) check_size<T>(field, size);
      }
    } else if constexpr (ArrayOf<T>::kSize > 0 || std::is_same_v<T, PerChannel>) {
      for (const auto& one : value) {
        if (!inside(field, static_cast<double>(one))) {
          refuse<T>(field, fmt::format("({})", fmt::join(value, ", ")));
        }
      }
      if constexpr (std::is_same_v<T, PerChannel>) {
        if (value.fourth && !inside(field, *value.fourth)) {
          refuse<T>(field, fmt::format("({}, {})", fmt::join(value, ", "), *value.fourth));
        }
      }
    } else if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      if (!inside(field, static_cast<double>(value))) refuse<T>(field, fmt::format("{}", value));
    }
  }

 private:
  static bool inside(const FieldInfo& field, double value) {
    return value >= field.low && value <= field.high;
  }
  template <class T>
  void check_size(const FieldInfo& field, const Size& size) const {
    const bool one = std::is_base_of_v<SideOrSize, T> && size.height == 0;
    if (inside(field, size.width) && (one || inside(field, size.height))) return;
    refuse<T>(field, fmt::format("{} (height) x {} (width)", size.height, size.width));
  }
  template <class T>
  [[noreturn]] void refuse(const FieldInfo& field, const std::string& value) const {
    refuse_value(field, wanted_text<T>(field), value);
  }

  [[noreturn]] void refuse_value(const FieldInfo& field, const std::string& wanted,
                                 const std::string& value) const;

  std::string owner_;
};

// Checks every field of a described struct, then calls the struct's check(), if present.
template <class T>
void check_fields_of(const T& described, const char* owner = T::kName) {
  T::fields(described, CheckRanges(owner));
  if constexpr (requires { described.check(); }) described.check();
}

}  // namespace tundish
