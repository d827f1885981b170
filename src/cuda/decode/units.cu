// Decodes coded units to samples: one warp per unit, in plan order, longest first.
//
//   states and words -> starts -> masks -> values -> raw bits (signs, DC)        entropy decoding
//   -> blocks by class (DC only, low frequencies, all) -> inverse DCT -> planes  reconstruction
//
// A block of threads fills a multiprocessor: one copy of the tables, and as many warps as shared
// memory holds. Warps decode separate units without barriers. Loops are not unrolled (unroll 1), as
// warps are in different phases and share the instruction cache.
#include "cuda/decode/kernels.h"
#include "cuda/decode/unit_blocks.cuh"
#include "cuda/decode/unit_entropy.cuh"
#include "cuda/runtime/runtime.h"

namespace tundish::cuda {
namespace {

constexpr int kMaxWarps = 32;  // maximum per block; 64 registers per thread

// Selects how much of the work is done, for timing by difference.
enum class Until { entropy, all };

template <Until kUntil>
__device__ __forceinline__ bool decode_unit(const UnitTask& task, const ImageTask* images,
                                            const std::byte* coded, std::uint8_t* planes,
                                            const SharedTables& tables, const DecodeTables* all,
                                            WarpMemory& w, WarpSpace& space) {
  const Unit unit = unit_of(task, images);
  const auto* bytes = reinterpret_cast<const std::uint16_t*>(coded + task.offset);
  Lanes lanes;
  if (!lanes.begin(bytes, task.bytes, w.window)) return false;
  read_starts(w, lanes, unit, tables);
  read_masks(w, lanes, unit, tables);

  Values values = {space.value, space.step, space.escape, lay_out_values(w, unit), 0};
  read_values(values, w, lanes, unit, all->rice[unit.image->set]);
  if (!lanes.all_words_taken()) return false;

  RawBits raw;
  const int stored = static_cast<int>(bytes + task.bytes / 2 - lanes.words_end()) * 16;
  raw.begin(w.raw, lanes.state(), lanes.words_end(), stored);
  if (values.count + count_dc_bits(w, unit) > raw.size()) return false;
  put_signs(values, raw);
  read_dc(w, unit, raw, values.count);
  __syncwarp();

  const Classes classes = sort_blocks(w, unit);
  load_quantizers(w, *unit.image);
  if (kUntil == Until::entropy) {
    if (classes.dc == 1000) planes[0] = static_cast<std::uint8_t>(w.dc[3] + values.value[7]);
    return true;
  }
  const Target target(planes, unit);
  make_flat_blocks(w, unit, target, classes.dc);
  const int low = classes.dc + classes.low, end = low + classes.all;
  make_blocks<true>(w, unit, values, raw, target, classes.dc, low);
  make_blocks<false>(w, unit, values, raw, target, low, end);
  return true;
}

struct BlockMemory {
  SharedTables tables;
  WarpMemory warp[1];  // one per warp of the block
};

template <Until kUntil>
__global__ void __launch_bounds__(32 * kMaxWarps, 1)
    decode_units_kernel(BatchMemory memory, BatchLayout layout, const DecodeTables* all) {
  extern __shared__ __align__(16) unsigned char bytes[];
  auto& shared = *reinterpret_cast<BlockMemory*>(bytes);
  const auto* from = reinterpret_cast<const uint4*>(&all->shared);
  auto* to = reinterpret_cast<uint4*>(&shared.tables);
  for (unsigned i = threadIdx.x; i < sizeof(SharedTables) / 16; i += blockDim.x) to[i] = from[i];
  __syncthreads();

  const auto* tasks = reinterpret_cast<const UnitTask*>(memory.batch + layout.units_at);
  const auto* images = reinterpret_cast<const ImageTask*>(memory.batch + layout.images_at);
  const unsigned warp = threadIdx.x / 32;
  WarpMemory& w = shared.warp[warp];
  auto& space = reinterpret_cast<WarpSpace*>(memory.space)[blockIdx.x * (blockDim.x / 32) + warp];
  for (;;) {
    std::uint32_t number = 0;
    if (lane_id() == 0) number = atomicAdd(memory.next_unit, 1u);
    number = __shfl_sync(kAllLanes, number, 0);
    if (number >= layout.units) return;
    const UnitTask task = tasks[number];
    const bool fine = decode_unit<kUntil>(task, images, memory.batch, memory.planes, shared.tables,
                                          all, w, space);
    if (!fine && lane_id() == 0) {
      atomicMin(&memory.errors[task.image], error_word(task.x, task.y));
    }
    __syncwarp();
  }
}

std::size_t shared_bytes(int warps) {
  return sizeof(SharedTables) + static_cast<std::size_t>(warps) * sizeof(WarpMemory);
}

template <Until kUntil>
void launch(const BatchMemory& memory, const BatchLayout& layout, const DecodeTables* tables,
            const DeviceShape& shape, cudaStream_t stream) {
  const auto bytes = static_cast<int>(shared_bytes(shape.unit_warps));
  const auto kernel = decode_units_kernel<kUntil>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
        "shared memory of decode_units_kernel");
  kernel<<<shape.multiprocessors, 32 * shape.unit_warps, bytes, stream>>>(memory, layout, tables);
  check(cudaGetLastError(), "launch decode_units_kernel");
}

}  // namespace

DeviceShape device_shape(int device) {
  DeviceShape shape;
  int bytes = 0;
  check(cudaDeviceGetAttribute(&shape.multiprocessors, cudaDevAttrMultiProcessorCount, device),
        "number of multiprocessors");
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "shared memory of a block");
  const auto room = static_cast<std::size_t>(bytes) - sizeof(SharedTables);
  const auto warps = static_cast<int>(room / sizeof(WarpMemory));
  shape.unit_warps = warps < kMaxWarps ? warps : kMaxWarps;
  return shape;
}

std::size_t space_bytes(const DeviceShape& shape) {
  return sizeof(WarpSpace) * static_cast<std::size_t>(shape.multiprocessors) *
         static_cast<std::size_t>(shape.unit_warps);
}

void decode_units(const BatchMemory& memory, const BatchLayout& layout, const DecodeTables* tables,
                  const DeviceShape& shape, cudaStream_t stream) {
  check(cudaMemsetAsync(memory.errors, 0xff, sizeof(std::uint32_t) * layout.images, stream),
        "clear the errors");
  check(cudaMemsetAsync(memory.next_unit, 0, sizeof(std::uint32_t), stream), "clear the counter");
  if (layout.units == 0) return;
  launch<Until::all>(memory, layout, tables, shape, stream);
}

void decode_entropy(const BatchMemory& memory, const BatchLayout& layout,
                    const DecodeTables* tables, const DeviceShape& shape, cudaStream_t stream) {
  check(cudaMemsetAsync(memory.next_unit, 0, sizeof(std::uint32_t), stream), "clear the counter");
  if (layout.units > 0) launch<Until::entropy>(memory, layout, tables, shape, stream);
}

}  // namespace tundish::cuda
