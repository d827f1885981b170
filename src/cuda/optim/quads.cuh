// Loads and stores four neighboring elements of any type as floats.
#pragma once

#include "optim/element.h"
#include "optim/tensor_entry.h"

namespace tundish::cuda {

struct Quad {
  float at[4];
};

// A quad of which `count` elements are inside the tensor, with the given alignment.
struct QuadRange {
  std::uint64_t place;  // index of the first element
  int count;            // 1 to 4
  bool whole;           // all four are inside, and every array is aligned: one load
};

__device__ inline float from_word(std::uint16_t word, optim::ElementType type) {
  return type == optim::ElementType::bfloat16 ? optim::from_bfloat16(word)
                                              : optim::from_float16(word);
}

__device__ inline std::uint16_t to_word(float value, optim::ElementType type) {
  return type == optim::ElementType::bfloat16 ? optim::to_bfloat16(value)
                                              : optim::to_float16(value);
}

__device__ inline Quad load_floats(const float* from, const QuadRange& reach) {
  from += reach.place;
  if (reach.whole) {
    const float4 four = *reinterpret_cast<const float4*>(from);
    return {{four.x, four.y, four.z, four.w}};
  }
  Quad out{};
  for (int i = 0; i < reach.count; ++i) out.at[i] = from[i];
  return out;
}

__device__ inline void store_floats(float* to, const QuadRange& reach, const Quad& quad) {
  to += reach.place;
  if (reach.whole) {
    *reinterpret_cast<float4*>(to) = {quad.at[0], quad.at[1], quad.at[2], quad.at[3]};
    return;
  }
  for (int i = 0; i < reach.count; ++i) to[i] = quad.at[i];
}

__device__ inline Quad load(const void* from, optim::ElementType type, const QuadRange& reach) {
  if (type == optim::ElementType::float32) {
    return load_floats(static_cast<const float*>(from), reach);
  }
  const std::uint16_t* words = static_cast<const std::uint16_t*>(from) + reach.place;
  Quad out{};
  if (reach.whole) {
    const ushort4 four = *reinterpret_cast<const ushort4*>(words);
    return {{from_word(four.x, type), from_word(four.y, type), from_word(four.z, type),
             from_word(four.w, type)}};
  }
  for (int i = 0; i < reach.count; ++i) out.at[i] = from_word(words[i], type);
  return out;
}

__device__ inline void store_words(void* to, const QuadRange& reach,
                                   const std::uint16_t (&words)[4]) {
  std::uint16_t* out = static_cast<std::uint16_t*>(to) + reach.place;
  if (reach.whole) {
    *reinterpret_cast<ushort4*>(out) = {words[0], words[1], words[2], words[3]};
    return;
  }
  for (int i = 0; i < reach.count; ++i) out[i] = words[i];
}

__device__ inline void store(void* to, optim::ElementType type, const QuadRange& reach,
                             const Quad& quad) {
  if (type == optim::ElementType::float32) {
    store_floats(static_cast<float*>(to), reach, quad);
    return;
  }
  std::uint16_t words[4];
  for (int i = 0; i < 4; ++i) words[i] = to_word(quad.at[i], type);
  store_words(to, reach, words);
}

__device__ inline void store_randomly(void* to, optim::ElementType type, const QuadRange& reach,
                                      const Quad& quad, std::uint64_t key) {
  std::uint16_t words[4];
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t random =
        optim::rounding_bits(key, reach.place + static_cast<std::uint64_t>(i));
    words[i] = type == optim::ElementType::bfloat16
                   ? optim::to_bfloat16_randomly(quad.at[i], random)
                   : optim::to_float16_randomly(quad.at[i], random);
  }
  store_words(to, reach, words);
}

// True if the gradient and all other arrays are aligned to 16 bytes, so that a quad is one access.
__device__ inline bool is_aligned(const optim::TensorEntry& tensor, const void* gradient) {
  const auto bits = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address); };
  return ((bits(tensor.parameter) | bits(gradient) | bits(tensor.state[0]) | bits(tensor.state[1]) |
           bits(tensor.master) | bits(tensor.average) | bits(tensor.copy)) &
          15) == 0;
}

}  // namespace tundish::cuda
