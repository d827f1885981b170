// Converts component planes to finished elements: one block of threads per tile of an image.
//
//   upsampling and color, eight pixels per thread  -> some rows of RGB in shared memory
//   horizontal pass, a column of four rows          -> shared memory, four rows to a word
//   vertical pass, a column of the output           -> table or arithmetic -> the batch
//
// Both passes match Pillow's, including the rounding between them. A weight has three bytes, so
// four taps are three exact byte dot products. The order of the weights implements mirroring.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "cuda/decode/kernels.h"
#include "cuda/decode/pixel_fours.h"
#include "cuda/decode/tile_shape.h"
#include "cuda/runtime/runtime.h"

namespace tundish::cuda {
namespace {

constexpr int kMaxThreads = kTileColumns;
constexpr int kMinThreads = 128;
static_assert(kTileRows <= kMinThreads);  // one row's weights per thread

__device__ __forceinline__ std::uint32_t dot(std::uint32_t levels, std::uint32_t weights,
                                             std::uint32_t sum) {
  return __dp4a(levels, weights, sum);
}
__device__ __forceinline__ std::uint32_t dot_signed(std::uint32_t levels, std::uint32_t weights,
                                                    std::uint32_t sum) {
  std::uint32_t out;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(out) : "r"(levels), "r"(weights), "r"(sum));
  return out;
}

// Weighted sums of four levels at a time.
struct Sums {
  std::uint32_t low = 1u << (kWeightBits - 1), middle = 0, high = 0;

  __device__ __forceinline__ void add(std::uint32_t levels, std::uint32_t weights0,
                                      std::uint32_t weights1, std::uint32_t weights2) {
    low = dot(levels, weights0, low);
    middle = dot(levels, weights1, middle);
    high = dot_signed(levels, weights2, high);
  }
  __device__ __forceinline__ int level() const {
    return static_cast<int>(low + (middle << 8) + (high << 16)) >> kWeightBits;
  }
};

// Maps the levels of a channel to elements.
struct Levels {
  using Element = std::uint8_t;
  __device__ Levels(const PixelValues&) {}
  __device__ __forceinline__ Element operator()(int, int level) const {
    return static_cast<Element>(level);
  }
};

template <class T>
struct FromTable {
  using Element = T;
  const std::uint32_t* value;
  __device__ FromTable(const PixelValues& values) : value(values.value) {}
  __device__ __forceinline__ Element operator()(int c, int level) const {
    return static_cast<T>(value[256 * c + level]);
  }
};

// Implements augment/cpu/table_formula.h one element at a time. Only the calls of __fmaf_rn fuse a
// product with a sum.
template <Dtype kDtype>
struct ByFormula {
  using Element = std::conditional_t<kDtype == Dtype::float32, std::uint32_t, std::uint16_t>;
  const PixelValues& values;  // the kernel's parameter
  __device__ ByFormula(const PixelValues& values) : values(values) {}
  __device__ __forceinline__ Element operator()(int c, int level) const {
    const float centered =
        __fsub_rn(__fmul_rn(static_cast<float>(level), values.factor), values.mean[c]);
    const float quotient = __fmul_rn(centered, values.inverse[c]);
    const float rest = __fmaf_rn(-quotient, values.std[c], centered);
    const float out = __fmaf_rn(rest, values.inverse[c], quotient);
    if constexpr (kDtype == Dtype::float32) return __float_as_uint(out);
    if constexpr (kDtype == Dtype::float16) return __half_as_ushort(__float2half_rn(out));
    return __bfloat16_as_ushort(__float2bfloat16_rn(out));
  }
};

// An axis' part of the weights (weights.cu).
struct AxisWeights {
  const std::uint32_t* word;
  int keep, groups;

  __device__ __forceinline__ AxisWeights(const std::uint32_t* weights, const AxisTask& axis)
      : word(weights + axis.weights), keep(axis.keep), groups(axis.groups) {}
  __device__ __forceinline__ int first_input(int output) const {
    return static_cast<int>(word[4 * output + 3]);
  }
  // Returns the first group of an output together with the output's first input.
  __device__ __forceinline__ uint4 first_group(int output) const {
    return __ldg(reinterpret_cast<const uint4*>(word) + output);
  }
};

// The weights of one output. Nearly all outputs have one or two groups of taps, held here. With
// kGroups 0 there may be more groups.
template <int kGroups>
struct Weights {
  static constexpr int kHeld = kGroups == 0 ? 1 : kGroups;
  std::uint32_t held[kHeld][3];
  unsigned first_input;
  const std::uint32_t* further;
  int keep, groups;

  __device__ __forceinline__ Weights(const AxisWeights& axis, int output, const uint4& first)
      : further(axis.word + output), keep(axis.keep), groups(axis.groups) {
    held[0][0] = first.x;
    held[0][1] = first.y;
    held[0][2] = first.z;
    first_input = first.w;
#pragma unroll
    for (int i = 3; i < 3 * kHeld; ++i) held[i / 3][i % 3] = of(i / 3, i % 3);
  }
  __device__ __forceinline__ std::uint32_t of(int group, int byte) const {
    return further[(3 * group + 1 + byte) * keep];
  }
};

// Returns the weighted sum over words that are `step` apart, starting `shift` bits into the first.
template <int kGroups>
__device__ __forceinline__ int weighted(const std::uint32_t* word, int step, int shift,
                                        const Weights<kGroups>& weights) {
  std::uint32_t low = word[0];
  Sums sums;
#pragma unroll
  for (int group = 0; group < weights.kHeld; ++group) {
    const std::uint32_t high = word[(group + 1) * step];
    const auto& bytes = weights.held[group];
    sums.add(__funnelshift_r(low, high, shift), bytes[0], bytes[1], bytes[2]);
    low = high;
  }
  if (kGroups == 0) {
#pragma unroll 1
    for (int group = 1; group < weights.groups; ++group) {
      const std::uint32_t high = word[(group + 1) * step];
      sums.add(__funnelshift_r(low, high, shift), weights.of(group, 0), weights.of(group, 1),
               weights.of(group, 2));
      low = high;
    }
  }
  return sums.level();
}

// Resizes a column of the RGB rows in shared memory, from `tap` on, and stores four rows per word.
template <int kGroups>
__device__ __forceinline__ void pass_across(std::uint32_t* to, int to_row, int to_channel,
                                            const std::uint8_t* from, int pitch, int channel,
                                            int rows, int tap, const Weights<kGroups>& weights) {
  from += tap & ~3;
  for (int row = 0; row < rows; row += 4, from += 4 * pitch, to += to_row) {
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      int level[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const auto* word = reinterpret_cast<const std::uint32_t*>(from + c * channel + j * pitch);
        level[j] = weighted(word, 1, 8 * (tap & 3), weights);
      }
      to[c * to_channel] = clip_four(level);
    }
  }
}

// Makes rows `begin`, begin + step, ... of a column of the tile. `from` is the column after the
// horizontal pass; its first row is input row `base`. `groups` are the rows' first groups.
template <int kGroups, class Finish>
__device__ __forceinline__ void pass_down(typename Finish::Element* to, std::ptrdiff_t to_row,
                                          std::ptrdiff_t to_channel, const std::uint32_t* from,
                                          int columns, int channel, int begin, int end, int step,
                                          int base, const AxisWeights& axis, int first_output,
                                          const uint4* groups, const Finish& finish) {
#pragma unroll 2
  for (int row = begin; row < end; row += step, to += to_row) {
    const Weights<kGroups> weights(axis, first_output + row, groups[row]);
    const unsigned input = weights.first_input - static_cast<unsigned>(base);
    const std::uint32_t* word = from + static_cast<int>(input / 4) * columns;
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      const int level = weighted(word + c * channel, columns, 8 * (input & 3), weights);
      to[c * to_channel] = finish(c, clamped(level, 0, 255));
    }
  }
}

// Calls `act` with the number of groups as a constant: 1, 2, or 0 for any number.
template <class Act>
__device__ __forceinline__ void with_groups(int groups, const Act& act) {
  if (groups == 1) return act(std::integral_constant<int, 1>());
  if (groups == 2) return act(std::integral_constant<int, 2>());
  return act(std::integral_constant<int, 0>());
}

// Lies in shared memory.
struct TileMemory {
  alignas(16) std::uint8_t rgb[kTileRgbBytes];
  std::uint32_t passed[kTileRowWords];
  uint4 group_y[kTileRows];  // the first groups of the tile's rows
};

template <class Finish>
__global__ void __launch_bounds__(kMaxThreads, 4)
    make_output_kernel(typename Finish::Element* __restrict__ out, const BatchMemory memory,
                       const BatchLayout layout, const __grid_constant__ PixelValues values) {
  extern __shared__ __align__(16) unsigned char shared[];
  auto& [rgb, passed, group_y] = *reinterpret_cast<TileMemory*>(shared);
  const auto* images = reinterpret_cast<const ImageTask*>(memory.batch + layout.images_at);
  const Item item = reinterpret_cast<const Item*>(memory.batch + layout.items_at)[blockIdx.x];
  const ImageTask& image = images[item.image];
  const AxisTask axis_x = image.axis[0], axis_y = image.axis[1];
  const AxisWeights weights_x(memory.weights, axis_x), weights_y(memory.weights, axis_y);
  const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);

  // Each thread processes a column. With more threads than columns, threads split a column's rows.
  const int columns = item.x1 - item.x0;
  const int teams = threads / columns, team = thread / columns, column = thread - team * columns;
  const bool works = team < teams;
  const int place = item.x0 + min(column, columns - 1);
  const std::ptrdiff_t dy = image.dy, dc = image.dc;
  auto* to =
      out + image.out + static_cast<std::ptrdiff_t>(place) * image.dx + (item.y0 + team) * dy;
  if (memory.errors[item.image] != kNoError) {
    for (int row = item.y0 + team; works && row < item.y1; row += teams, to += teams * dy) {
      for (int c = 0; c < 3; ++c) to[c * dc] = 0;
    }
    return;
  }

  const Reach x =
      reach_of(axis_x, weights_x.first_input(item.x0), weights_x.first_input(item.x1 - 1));
  const Reach y =
      reach_of(axis_y, weights_y.first_input(item.y0), weights_y.first_input(item.y1 - 1));
  const int rows = item.y1 - item.y0;
  if (thread < rows) group_y[thread] = weights_y.first_group(item.y0 + thread);
  const TileShape shape(image, x, columns);
  const FourPixels pixels(image, memory.planes);
  const int left = image.crop_x + x.from, top = image.crop_y;
  const bool padded = image.padded;
  const int eights = shape.eights, pitch = shape.pitch;
  const int channel = shape.rows_at_once * pitch;  // bytes
  const std::uint32_t per_eight = 0xffffffffu / static_cast<unsigned>(eights) + 1;

  const int tap = shape.indent + weights_x.first_input(place) - x.from;
  const int passed_channel = shape.words * columns;

  for (int begin = y.from; begin < y.to; begin += shape.rows_at_once) {
    const int inputs = min(shape.rows_at_once, (y.to - begin + 3) & ~3);
    if (begin > y.from) __syncthreads();
    if (padded) {
      for (int i = thread; i < inputs * 8 * eights; i += threads) {
        const int row = i / (8 * eights), at = i - row * 8 * eights;
        std::uint8_t pixel[3];
        pixels.padded(pixel, left + at, top + min(begin + row, y.to - 1));
        for (int c = 0; c < 3; ++c) rgb[c * channel + row * pitch + at] = pixel[c];
      }
    } else {
      for (int i = thread; i < inputs * eights; i += threads) {
        const int row =
            eights == 1 ? i : static_cast<int>(__umulhi(static_cast<unsigned>(i), per_eight));
        const int at = 8 * (i - row * eights);
        FourPixels::Samples samples[2];
        pixels.load_eight(samples, left - shape.indent + at, top + min(begin + row, y.to - 1));
        std::uint32_t levels[2][3];
#pragma unroll
        for (int h = 0; h < 2; ++h) pixels.color(levels[h], samples[h]);
#pragma unroll
        for (int c = 0; c < 3; ++c) {
          *reinterpret_cast<uint2*>(rgb + c * channel + row * pitch + at) =
              make_uint2(levels[0][c], levels[1][c]);
        }
      }
    }
    __syncthreads();
    if (!works) continue;
    // Teams process four rows in turn.
    for (int row = 4 * team; row < inputs; row += 4 * teams) {
      std::uint32_t* four = passed + (begin - y.from + row) / 4 * columns + column;
      const std::uint8_t* from = rgb + row * pitch;
      const int some = teams == 1 ? inputs : 4;
      with_groups(axis_x.groups, [&](auto groups) {
        const Weights<groups()> weights(weights_x, place, weights_x.first_group(place));
        pass_across(four, columns, passed_channel, from, pitch, channel, some, tap, weights);
      });
      if (teams == 1) break;
    }
  }
  if (teams > 1) __syncthreads();
  if (!works) return;

  const Finish finish(values);
  with_groups(axis_y.groups, [&](auto groups) {
    pass_down<groups()>(to, teams * dy, dc, passed + column, columns, passed_channel, team, rows,
                        teams, y.from, weights_y, item.y0, group_y, finish);
  });
}

template <class Finish>
void launch(void* out, const BatchMemory& memory, const BatchLayout& layout,
            const PixelValues& values, cudaStream_t stream) {
  const unsigned threads = max(kMinThreads, (static_cast<int>(layout.tile_columns) + 31) / 32 * 32);
  const auto kernel = make_output_kernel<Finish>;
  constexpr int kBytes = sizeof(TileMemory);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
        "shared memory of make_output_kernel");
  kernel<<<layout.items, threads, kBytes, stream>>>(static_cast<typename Finish::Element*>(out),
                                                    memory, layout, values);
  check(cudaGetLastError(), "launch make_output_kernel");
}

}  // namespace

void make_output(void* out, const BatchMemory& memory, const BatchLayout& layout,
                 const PixelValues& values, cudaStream_t stream) {
  if (layout.items == 0) return;
  switch (values.dtype) {
    case Dtype::uint8:
      return launch<Levels>(out, memory, layout, values, stream);
    case Dtype::float32:
      if (!values.formula)
        return launch<FromTable<std::uint32_t>>(out, memory, layout, values, stream);
      return launch<ByFormula<Dtype::float32>>(out, memory, layout, values, stream);
    case Dtype::float16:
      if (!values.formula)
        return launch<FromTable<std::uint16_t>>(out, memory, layout, values, stream);
      return launch<ByFormula<Dtype::float16>>(out, memory, layout, values, stream);
    case Dtype::bfloat16:
      if (!values.formula)
        return launch<FromTable<std::uint16_t>>(out, memory, layout, values, stream);
      return launch<ByFormula<Dtype::bfloat16>>(out, memory, layout, values, stream);
  }
}

}  // namespace tundish::cuda
