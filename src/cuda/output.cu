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
  const PixelValues& values;
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

template <class Finish>
__global__ void __launch_bounds__(kMaxThreads, 4)
    make_output_kernel(typename Finish::Element* __restrict__ out, BatchMemory memory,
                       BatchLayout layout, PixelValues values) {
  __shared__ __align__(16) std::uint8_t rgb[kTileRgbBytes];
  __shared__ __align__(16) std::uint32_t passed[kTileRowWords];
  const auto* images = reinterpret_cast<const ImageTask*>(memory.batch + layout.images_at);
  const Item item = reinterpret_cast<const Item*>(memory.batch + layout.items_at)[blockIdx.x];
  const ImageTask& image = images[item.image];
  const AxisTask &axis_x = image.axis[0], &axis_y = image.axis[1];
  const auto* first_x = reinterpret_cast<const int*>(memory.weights + axis_x.first);
  const auto* first_y = reinterpret_cast<const int*>(memory.weights + axis_y.first);
  const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);

  // A thread has a column; where there are more threads than columns, each has some of the rows.
  const int columns = item.x1 - item.x0;
  const int teams = threads / columns, team = thread / columns, column = thread - team * columns;
  const bool works = team < teams;
  const int place = item.x0 + min(column, columns - 1);
  auto* to = out + image.out + static_cast<std::int64_t>(place) * image.dx;
  const Finish finish(values);
  if (memory.errors[item.image] != kNoError) {
    for (int y = item.y0 + team; works && y < item.y1; y += teams) {
      for (int c = 0; c < 3; ++c) to[static_cast<std::int64_t>(y) * image.dy + c * image.dc] = 0;
    }
    return;
  }

  const Reach x = reach_of(axis_x, first_x[item.x0], first_x[item.x1 - 1]);
  const Reach y = reach_of(axis_y, first_y[item.y0], first_y[item.y1 - 1]);
  const TileShape shape(image, x, columns);
  const FourPixels pixels(image, memory.planes);
  const int left = image.crop_x + x.from;
  const int indent = shape.indent, fours = shape.fours, pitch = shape.pitch;
  const int rows_at_once = shape.rows_at_once, words = shape.words;
  const int plane_bytes = rows_at_once * pitch;
  const std::uint32_t per_four = 0xffffffffu / static_cast<unsigned>(fours) + 1;

  const std::uint32_t* weights_x = memory.weights + axis_x.weights + place;
  const std::uint32_t k0 = weights_x[0], k1 = weights_x[axis_x.keep],
                      k2 = weights_x[2 * axis_x.keep];
  const int tap = indent + first_x[place] - x.from;
  const int shift_x = 8 * (tap & 3);

  for (int top = y.from; top < y.to; top += rows_at_once) {
    const int rows = min(rows_at_once, (y.to - top + 3) & ~3);
    if (top > y.from) __syncthreads();
    if (image.padded) {
      for (int i = thread; i < rows * 4 * fours; i += threads) {
        const int row = i / (4 * fours), at = i - row * 4 * fours;
        std::uint8_t pixel[3];
        pixels.padded(pixel, left + at, image.crop_y + min(top + row, y.to - 1));
        for (int c = 0; c < 3; ++c) rgb[c * plane_bytes + row * pitch + at] = pixel[c];
      }
    } else {
      const int count = rows * fours;
      for (int i = thread; i < count; i += 2 * threads) {
        FourPixels::Samples samples[2];
        int at[2];
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const int k = min(i + h * threads, count - 1);
          const int row =
              fours == 1 ? k : static_cast<int>(__umulhi(static_cast<unsigned>(k), per_four));
          const int four = k - row * fours;
          at[h] = row * pitch + 4 * four;
          samples[h] =
              pixels.load(left - indent + 4 * four, image.crop_y + min(top + row, y.to - 1));
        }
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          if (h == 1 && i + threads >= count) break;
          std::uint32_t channel[3];
          pixels.colour(channel, samples[h]);
#pragma unroll
          for (int c = 0; c < 3; ++c) {
            *reinterpret_cast<std::uint32_t*>(rgb + c * plane_bytes + at[h]) = channel[c];
          }
        }
      }
    }
    __syncthreads();
    if (!works) continue;

    // Horizontal: four rows of this column.
    for (int row = 4 * team; row < rows; row += 4 * teams) {
      const std::uint8_t* from = rgb + row * pitch + (tap & ~3);
      std::uint32_t* four = passed + (top - y.from + row) / 4 * columns + column;
#pragma unroll
      for (int c = 0; c < 3; ++c) {
        int level[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const auto* word =
              reinterpret_cast<const std::uint32_t*>(from + c * plane_bytes + j * pitch);
          std::uint32_t low = word[0], high = word[1];
          Sums sums;
          sums.add(__funnelshift_r(low, high, shift_x), k0, k1, k2);
#pragma unroll 1
          for (int group = 1; group < axis_x.groups; ++group) {
            low = high;
            high = word[group + 1];
            const std::uint32_t* weights = weights_x + 3 * group * axis_x.keep;
            sums.add(__funnelshift_r(low, high, shift_x), weights[0], weights[axis_x.keep],
                     weights[2 * axis_x.keep]);
          }
          level[j] = sums.level();
        }
        four[c * words * columns] = clip_four(level);
      }
    }
  }
  if (teams > 1) __syncthreads();
  if (!works) return;

  // Vertical: an output of this column from the words of its rows.
  const std::uint32_t* weights_y = memory.weights + axis_y.weights;
  to += static_cast<std::int64_t>(item.y0 + team) * image.dy;
  for (int row = item.y0 + team; row < item.y1; row += teams, to += teams * image.dy) {
    const int first = first_y[row] - y.from;
    const int shift = 8 * (first & 3);
    const std::uint32_t* weights = weights_y + row;
    const std::uint32_t w0 = weights[0], w1 = weights[axis_y.keep], w2 = weights[2 * axis_y.keep];
    const std::uint32_t* from = passed + first / 4 * columns + column;
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      const std::uint32_t* word = from + c * words * columns;
      std::uint32_t low = word[0], high = word[columns];
      Sums sums;
      sums.add(__funnelshift_r(low, high, shift), w0, w1, w2);
#pragma unroll 1
      for (int group = 1; group < axis_y.groups; ++group) {
        low = high;
        high = word[(group + 1) * columns];
        const std::uint32_t* more = weights + 3 * group * axis_y.keep;
        sums.add(__funnelshift_r(low, high, shift), more[0], more[axis_y.keep],
                 more[2 * axis_y.keep]);
      }
      to[c * image.dc] = finish(c, min(max(sums.level(), 0), 255));
    }
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
