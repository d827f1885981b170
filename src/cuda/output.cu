// Planes of components to finished elements: one block of threads per tile of an image's output.
//
//   upsampling and colour, four pixels per thread   -> rows of RGB in shared memory, a few at a
//   time horizontal pass, a column of four rows          -> shared memory, four rows to a word
//   vertical pass, a column of the output           -> table or arithmetic -> the batch
//
// Both passes are Pillow's, with its rounding between them. A weight is three bytes, so four taps
// are three dot products of bytes; their sum is exact. Mirroring is in the weights' order.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "cuda/kernels.h"
#include "cuda/pixel_fours.h"
#include "cuda/runtime.h"
#include "cuda/tile_shape.h"

namespace tundish::cuda {
namespace {

constexpr int kMaxThreads = kTileColumns;
constexpr int kMinThreads = 128;

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

// What a level of a channel becomes.
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

// augment/pixel_steps.h, one element at a time; no product is fused with a sum but where it says.
template <Dtype kDtype>
struct BySteps {
  using Element = std::conditional_t<kDtype == Dtype::float32, std::uint32_t, std::uint16_t>;
  const PixelValues& values;  // the kernel's parameter
  __device__ BySteps(const PixelValues& values) : values(values) {}
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

// One axis' weights for one output.
struct Weights {
  const std::uint32_t* word;
  int keep, groups;  // of the axis

  __device__ __forceinline__ std::uint32_t of(int group, int byte) const {
    return word[(3 * group + byte) * keep];
  }
};

// The weighted sum over words that stand `step` apart, from `shift` bits of the first on. Nearly
// all outputs have one group of four taps, whose weights are at hand.
template <bool kOneGroup>
__device__ __forceinline__ int weighted(const std::uint32_t* word, int step, int shift,
                                        const std::uint32_t (&first)[3], const Weights& weights) {
  std::uint32_t low = word[0], high = word[step];
  Sums sums;
  sums.add(__funnelshift_r(low, high, shift), first[0], first[1], first[2]);
  if (!kOneGroup) {
#pragma unroll 1
    for (int group = 1; group < weights.groups; ++group) {
      low = high;
      high = word[(group + 1) * step];
      sums.add(__funnelshift_r(low, high, shift), weights.of(group, 0), weights.of(group, 1),
               weights.of(group, 2));
    }
  }
  return sums.level();
}

// A column of the rows of RGB in shared memory, four rows to a word of `to`.
template <bool kOneGroup>
__device__ __forceinline__ void pass_across(std::uint32_t* to, int to_row, int to_channel,
                                            const std::uint8_t* from, int pitch, int channel,
                                            int rows, int shift, const std::uint32_t (&first)[3],
                                            const Weights& weights) {
  for (int row = 0; row < rows; row += 4, from += 4 * pitch, to += to_row) {
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      int level[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const auto* word = reinterpret_cast<const std::uint32_t*>(from + c * channel + j * pitch);
        level[j] = weighted<kOneGroup>(word, 1, shift, first, weights);
      }
      to[c * to_channel] = clip_four(level);
    }
  }
}

// Rows `begin`, begin + step, ... of a column of the output; `from` is that column behind the pass
// across.
template <bool kOneGroup, class Finish>
__device__ __forceinline__ void pass_down(typename Finish::Element* to, std::ptrdiff_t to_row,
                                          std::ptrdiff_t to_channel, const std::uint32_t* from,
                                          int columns, int channel, int begin, int end, int step,
                                          const int* first_input, int base,
                                          const std::uint32_t* words, int keep, int groups,
                                          const Finish& finish) {
#pragma unroll 2
  for (int row = begin; row < end; row += step, to += to_row) {
    const int input = first_input[row] - base;
    const Weights weights = {words + row, keep, groups};
    const std::uint32_t first[3] = {weights.of(0, 0), weights.of(0, 1), weights.of(0, 2)};
    const std::uint32_t* word = from + input / 4 * columns;
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      const int level =
          weighted<kOneGroup>(word + c * channel, columns, 8 * (input & 3), first, weights);
      to[c * to_channel] = finish(c, clamped(level, 0, 255));
    }
  }
}

template <class Finish>
__global__ void __launch_bounds__(kMaxThreads, 4)
    make_output_kernel(typename Finish::Element* __restrict__ out, const BatchMemory memory,
                       const BatchLayout layout, const __grid_constant__ PixelValues values) {
  __shared__ __align__(16) std::uint8_t rgb[kTileRgbBytes];
  __shared__ __align__(16) std::uint32_t passed[kTileRowWords];
  const auto* images = reinterpret_cast<const ImageTask*>(memory.batch + layout.images_at);
  const Item item = reinterpret_cast<const Item*>(memory.batch + layout.items_at)[blockIdx.x];
  const ImageTask& image = images[item.image];
  const AxisTask axis_x = image.axis[0], axis_y = image.axis[1];
  const auto* first_x = reinterpret_cast<const int*>(memory.weights + axis_x.first);
  const auto* first_y = reinterpret_cast<const int*>(memory.weights + axis_y.first);
  const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);

  // A thread has a column; where there are more threads than columns, each has some of the rows.
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

  const Reach x = reach_of(axis_x, first_x[item.x0], first_x[item.x1 - 1]);
  const Reach y = reach_of(axis_y, first_y[item.y0], first_y[item.y1 - 1]);
  const TileShape shape(image, x, columns);
  const FourPixels pixels(image, memory.planes);
  const int left = image.crop_x + x.from, top = image.crop_y;
  const bool padded = image.padded;
  const int fours = shape.fours, pitch = shape.pitch;
  const int channel = shape.rows_at_once * pitch;  // bytes
  const std::uint32_t per_four = 0xffffffffu / static_cast<unsigned>(fours) + 1;

  const Weights weights_x = {memory.weights + axis_x.weights + place, axis_x.keep, axis_x.groups};
  const std::uint32_t first[3] = {weights_x.of(0, 0), weights_x.of(0, 1), weights_x.of(0, 2)};
  const int tap = shape.indent + first_x[place] - x.from;
  const int passed_channel = shape.words * columns;

  for (int begin = y.from; begin < y.to; begin += shape.rows_at_once) {
    const int rows = min(shape.rows_at_once, (y.to - begin + 3) & ~3);
    if (begin > y.from) __syncthreads();
    if (padded) {
      for (int i = thread; i < rows * 4 * fours; i += threads) {
        const int row = i / (4 * fours), at = i - row * 4 * fours;
        std::uint8_t pixel[3];
        pixels.padded(pixel, left + at, top + min(begin + row, y.to - 1));
        for (int c = 0; c < 3; ++c) rgb[c * channel + row * pitch + at] = pixel[c];
      }
    } else {
      // Two fours at a time: their loads wait together.
      const int count = rows * fours;
      for (int i = thread; i < count; i += 2 * threads) {
        FourPixels::Samples samples[2];
        int at[2];
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const auto k = static_cast<unsigned>(min(i + h * threads, count - 1));
          const int row = static_cast<int>(fours == 1 ? k : __umulhi(k, per_four));
          const int four = static_cast<int>(k) - row * fours;
          at[h] = row * pitch + 4 * four;
          samples[h] =
              pixels.load(left - shape.indent + 4 * four, top + min(begin + row, y.to - 1));
        }
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          if (h == 1 && i + threads >= count) break;
          std::uint32_t levels[3];
          pixels.colour(levels, samples[h]);
#pragma unroll
          for (int c = 0; c < 3; ++c) {
            *reinterpret_cast<std::uint32_t*>(rgb + c * channel + at[h]) = levels[c];
          }
        }
      }
    }
    __syncthreads();
    if (!works) continue;
    // Teams take turns of four rows.
    for (int row = 4 * team; row < rows; row += 4 * teams) {
      std::uint32_t* four = passed + (begin - y.from + row) / 4 * columns + column;
      const std::uint8_t* from = rgb + row * pitch + (tap & ~3);
      const int some = teams == 1 ? rows : 4;
      if (axis_x.groups == 1) {
        pass_across<true>(four, columns, passed_channel, from, pitch, channel, some, 8 * (tap & 3),
                          first, weights_x);
      } else {
        pass_across<false>(four, columns, passed_channel, from, pitch, channel, some, 8 * (tap & 3),
                           first, weights_x);
      }
      if (teams == 1) break;
    }
  }
  if (teams > 1) __syncthreads();
  if (!works) return;

  const Finish finish(values);
  const std::uint32_t* words = memory.weights + axis_y.weights;
  if (axis_y.groups == 1) {
    pass_down<true>(to, teams * dy, dc, passed + column, columns, passed_channel, item.y0 + team,
                    item.y1, teams, first_y, y.from, words, axis_y.keep, 1, finish);
  } else {
    pass_down<false>(to, teams * dy, dc, passed + column, columns, passed_channel, item.y0 + team,
                     item.y1, teams, first_y, y.from, words, axis_y.keep, axis_y.groups, finish);
  }
}

template <class Finish>
void launch(void* out, const BatchMemory& memory, const BatchLayout& layout,
            const PixelValues& values, cudaStream_t stream) {
  const unsigned threads = max(kMinThreads, (static_cast<int>(layout.tile_columns) + 31) / 32 * 32);
  make_output_kernel<Finish><<<layout.items, threads, 0, stream>>>(
      static_cast<typename Finish::Element*>(out), memory, layout, values);
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
      if (!values.steps)
        return launch<FromTable<std::uint32_t>>(out, memory, layout, values, stream);
      return launch<BySteps<Dtype::float32>>(out, memory, layout, values, stream);
    case Dtype::float16:
      if (!values.steps)
        return launch<FromTable<std::uint16_t>>(out, memory, layout, values, stream);
      return launch<BySteps<Dtype::float16>>(out, memory, layout, values, stream);
    case Dtype::bfloat16:
      if (!values.steps)
        return launch<FromTable<std::uint16_t>>(out, memory, layout, values, stream);
      return launch<BySteps<Dtype::bfloat16>>(out, memory, layout, values, stream);
  }
}

}  // namespace tundish::cuda
