// Helpers for tests of optimizers: random tensors in memory, and their copies for the reference.
#pragma once

#include <cmath>
#include <cstring>
#include <vector>

#include "base/testing.h"
#include "optim/element.h"
#include "optim/group_values.h"
#include "optim/run_reference.h"
#include "optim/tensor_entry.h"

namespace tundish::optim {

inline std::vector<std::byte> encoded(const std::vector<float>& values, ElementType type) {
  std::vector<std::byte> out(values.size() * (type == ElementType::float32 ? 4 : 2));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t word =
        type == ElementType::bfloat16 ? to_bfloat16(values[i]) : to_float16(values[i]);
    if (type == ElementType::float32) {
      std::memcpy(&out[4 * i], &values[i], 4);
    } else {
      std::memcpy(&out[2 * i], &word, 2);
    }
  }
  return out;
}

inline std::vector<float> decoded(const std::vector<std::byte>& bytes, ElementType type) {
  std::vector<float> out(bytes.size() / (type == ElementType::float32 ? 4 : 2));
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint16_t word = 0;
    if (type == ElementType::float32) {
      std::memcpy(&out[i], &bytes[4 * i], 4);
    } else {
      std::memcpy(&word, &bytes[2 * i], 2);
      out[i] = type == ElementType::bfloat16 ? from_bfloat16(word) : from_float16(word);
    }
  }
  return out;
}

inline std::vector<float> random_floats(Random& random, std::size_t count, double size) {
  std::vector<float> out(count);
  for (float& value : out) value = static_cast<float>(random.uniform(-size, size));
  return out;
}

// One tensor with every array that an entry can have.
struct OwnedTensor {
  struct Kind {
    std::size_t count = 1;
    ElementType parameter = ElementType::float32, gradient = ElementType::float32;
    ElementType copy_type = ElementType::bfloat16;
    bool master = false, average = false, copy = false, left_out = false;
    std::uint32_t group = 0;
  };

  OwnedTensor(const Kind& k, Random& random)
      : kind(k),
        parameter(encoded(random_floats(random, k.count, 1), k.parameter)),
        gradient(parameter.size() * 0),
        first(k.count),
        second(k.count),
        master(decoded(parameter, k.parameter)),
        average(random_floats(random, k.count, 1)),
        copy(2 * k.count) {
    draw_gradient(random);
  }

  void draw_gradient(Random& random, double size = 0.1) {
    gradient = encoded(random_floats(random, kind.count, size), kind.gradient);
  }

  TensorEntry entry() {
    return {.parameter = parameter.data(),
            .gradient = kind.left_out ? nullptr : gradient.data(),
            .state = {first.data(), second.data()},
            .master = kind.master ? master.data() : nullptr,
            .average = kind.average ? average.data() : nullptr,
            .copy = kind.copy ? copy.data() : nullptr,
            .tensor_state = &norm,
            .count = kind.count,
            .parameter_type = kind.parameter,
            .gradient_type = kind.gradient,
            .copy_type = kind.copy_type,
            .group = kind.group};
  }

  std::vector<float> weights() const {
    return kind.master ? master : decoded(parameter, kind.parameter);
  }

  Kind kind;
  std::vector<std::byte> parameter, gradient;
  std::vector<float> first, second, master, average;
  std::vector<std::byte> copy;
  float norm = 0;
};

template <class Number>
std::valarray<Number> valarray_of(const std::vector<float>& values) {
  std::valarray<Number> out(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = static_cast<Number>(values[i]);
  return out;
}

template <class Number>
SlowTensor<Number> slow_tensor(const OwnedTensor& tensor) {
  SlowTensor<Number> out;
  out.weights = valarray_of<Number>(tensor.weights());
  out.gradients = valarray_of<Number>(decoded(tensor.gradient, tensor.kind.gradient));
  out.first = valarray_of<Number>(tensor.first);
  out.second = valarray_of<Number>(tensor.second);
  out.average = valarray_of<Number>(tensor.average);
  out.norm = static_cast<Number>(tensor.norm);
  out.group = tensor.kind.group;
  out.left_out = tensor.kind.left_out;
  return out;
}

inline std::vector<TensorEntry> entries_of(std::vector<OwnedTensor>& tensors) {
  std::vector<TensorEntry> out;
  for (OwnedTensor& tensor : tensors) out.push_back(tensor.entry());
  return out;
}

// Returns the reference's weights, rounded as the parameter's type and the options require.
inline std::vector<float> rounded(const std::valarray<float>& weights, const OwnedTensor& tensor,
                                  const StepOptions& options, std::uint32_t number) {
  std::vector<float> out(weights.size());
  const ElementType type = tensor.kind.parameter;
  const std::int64_t step = options.groups[tensor.kind.group].step;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const float weight = weights[i];
    const std::uint32_t bits = rounding_bits(rounding_key(options.seed, step, number), i);
    out[i] = weight;
    if (tensor.kind.master || type == ElementType::float32) continue;
    if (type == ElementType::bfloat16) {
      out[i] = from_bfloat16(options.stochastic_rounding ? to_bfloat16_randomly(weight, bits)
                                                         : to_bfloat16(weight));
    } else {
      out[i] = from_float16(options.stochastic_rounding ? to_float16_randomly(weight, bits)
                                                        : to_float16(weight));
    }
  }
  return out;
}

}  // namespace tundish::optim
