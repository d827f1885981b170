#include "data/source/chunks/chunk_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "codec/decode/decode.h"

namespace tundish {
namespace {

using Sides = std::vector<std::uint64_t>;

// Returns the distance of neighbors along every axis, in elements.
Sides strides_of(const Sides& shape, const std::vector<std::size_t>& order) {
  Sides out(shape.size());
  std::uint64_t step = 1;
  for (std::size_t n = shape.size(); n > 0; --n) {
    const std::size_t axis = order.empty() ? n - 1 : order[n - 1];
    out[axis] = step;
    step *= shape[axis];
  }
  return out;
}

// The same for a sample; 0 along the sample axis.
Sides sample_strides(const ChunkGrid& grid, std::size_t axis) {
  Sides shape = grid.shape;
  shape[axis] = 1;
  Sides out = strides_of(shape, {});
  out[axis] = 0;
  return out;
}

// The part of a sample that a chunk holds: a box of the array from `first`, with `size` elements
// along each axis. `covered` is the part of the box inside the stored chunk.
struct Box {
  Sides first, size, covered;
};

Box box_of(const ChunkGrid& grid, std::size_t axis, std::uint64_t i,
           std::span<const std::uint64_t> at, const Chunk& chunk) {
  Box box;
  for (std::size_t a = 0; a < grid.shape.size(); ++a) {
    const std::uint64_t start = at[a] * grid.chunk[a];
    const std::uint64_t size = std::min(grid.chunk[a], grid.shape[a] - start);
    const std::uint64_t stored = chunk.bytes.empty() ? 0 : std::min(chunk.shape[a], size);
    const std::uint64_t skip = a == axis ? i - start : 0;
    box.first.push_back(start + skip);
    box.size.push_back(a == axis ? 1 : size);
    box.covered.push_back(a == axis ? (skip < stored ? 1 : 0) : stored);
  }
  return box;
}

bool is_orders_of_axes(const std::vector<std::size_t>& order, std::size_t axes) {
  if (order.size() != axes) return false;
  std::vector<bool> seen(axes);
  for (const std::size_t axis : order) {
    if (axis >= axes || seen[axis]) return false;
    seen[axis] = true;
  }
  return true;
}

void fill_run(std::byte* to, const std::vector<std::byte>& fill, std::uint64_t elements) {
  for (; elements > 0; --elements, to += fill.size()) std::memcpy(to, fill.data(), fill.size());
}

}  // namespace

std::optional<Fault> check_grid(const ChunkGrid& grid) {
  const std::size_t axes = grid.shape.size();
  if (axes == 0) return chunk_unsupported("the array has no axes", 0);
  if (axes > kMaxArraySides || grid.chunk.size() != axes) {
    return chunk_damaged("shape and chunk shape have different or too many axes", 0);
  }
  if (!grid.stored_axes.empty() && !is_orders_of_axes(grid.stored_axes, axes)) {
    return chunk_damaged("the order of the axes is none", 0);
  }
  if (std::find(grid.chunk.begin(), grid.chunk.end(), 0u) != grid.chunk.end()) {
    return chunk_damaged("a chunk has no elements", 0);
  }
  const auto bytes = array_bytes({grid.element, grid.chunk});
  if (!bytes || *bytes > Limits{}.max_bytes) {
    return chunk_unsupported(fmt::format("chunks of more than {} bytes", Limits{}.max_bytes), 0);
  }
  if (!array_bytes({grid.element, grid.shape})) {
    return chunk_damaged("the array's size does not fit into 64 bits", 0);
  }
  if (grid.fill.size() != element_bytes(grid.element)) {
    return chunk_damaged("the fill value has another type", 0);
  }
  return std::nullopt;
}

std::uint64_t chunk_bytes(const ChunkGrid& grid) {
  return array_bytes({grid.element, grid.chunk}).value_or(0);
}

std::vector<std::uint64_t> chunk_counts(const ChunkGrid& grid) {
  Sides out;
  for (std::size_t a = 0; a < grid.shape.size(); ++a) {
    out.push_back(grid.shape[a] == 0 ? 0 : (grid.shape[a] - 1) / grid.chunk[a] + 1);
  }
  return out;
}

std::optional<Fault> sample_type(ArrayType& out, const ChunkGrid& grid, std::size_t axis) {
  if (axis >= grid.shape.size()) {
    return Fault{ErrorCode::argument,
                 fmt::format("axis {}: the array has {} axes", axis, grid.shape.size()), 0};
  }
  if (grid.shape[axis] > kMaxGridSamples) {
    return chunk_unsupported(
        fmt::format("{} samples, at most {} are read", with_commas(grid.shape[axis]),
                    with_commas(kMaxGridSamples)),
        0);
  }
  out.element = grid.element;
  out.shape = grid.shape;
  out.shape.erase(out.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  const auto bytes = array_bytes(out);
  if (!bytes || *bytes == 0 || *bytes > Limits{}.max_bytes) {
    return chunk_unsupported(
        fmt::format("a sample of {} bytes; 1 to {} are read",
                    bytes ? with_commas(*bytes) : "too many", with_commas(Limits{}.max_bytes)),
        0);
  }
  std::uint64_t chunks = 1;  // cannot overflow: limited at every step, counts by max_bytes
  const Sides counts = chunk_counts(grid);
  for (std::size_t a = 0; a < counts.size(); ++a) {
    if (a != axis) chunks *= counts[a];
    if (chunks > kMaxChunksPerSample) return chunk_unsupported("a sample has too many chunks", 0);
  }
  return std::nullopt;
}

void copy_part(ByteSpan out, const ChunkGrid& grid, std::size_t axis, std::uint64_t i,
               std::span<const std::uint64_t> at, const Chunk& chunk) {
  const Box box = box_of(grid, axis, i, at, chunk);
  const Sides to_step = sample_strides(grid, axis);
  const Sides from_step =
      strides_of(chunk.bytes.empty() ? grid.chunk : chunk.shape, grid.stored_axes);
  const std::size_t bytes = element_bytes(grid.element);
  const std::size_t last =
      axis + 1 == grid.shape.size() && axis > 0 ? axis - 1 : grid.shape.size() - 1;
  const bool dense = to_step[last] == 1 && from_step[last] == 1;
  Sides place(grid.shape.size(), 0);  // inside the box; `last` is the innermost axis
  for (;;) {
    std::uint64_t to = 0, from = 0;
    bool covered = true;
    for (std::size_t a = 0; a < place.size(); ++a) {
      to += (box.first[a] + place[a]) * to_step[a];
      from += (box.first[a] + place[a] - at[a] * grid.chunk[a]) * from_step[a];
      covered = covered && (a == last || place[a] < box.covered[a]);
    }
    const std::uint64_t stored = covered ? box.covered[last] : 0;
    std::byte* target = out.data() + to * bytes;
    if (stored > 0 && dense) {
      std::memcpy(target, chunk.bytes.data() + from * bytes, stored * bytes);
    } else {
      for (std::uint64_t n = 0; n < stored; ++n) {
        std::memcpy(target + n * to_step[last] * bytes,
                    chunk.bytes.data() + (from + n * from_step[last]) * bytes, bytes);
      }
    }
    // The sample is dense along `last`, except for an array whose only axis counts the samples.
    if (stored < box.size[last])
      fill_run(target + stored * bytes, grid.fill, box.size[last] - stored);
    std::size_t side = place.size();
    while (side > 0 && (side - 1 == last || place[side - 1] + 1 == box.size[side - 1])) {
      place[--side] = 0;
    }
    if (side == 0) return;
    ++place[side - 1];
  }
}

void copy_part_reference(ByteSpan out, const ChunkGrid& grid, std::size_t axis, std::uint64_t i,
                         std::span<const std::uint64_t> at, const Chunk& chunk) {
  const std::size_t bytes = element_bytes(grid.element);
  const Sides to_step = sample_strides(grid, axis);
  const Sides from_step =
      strides_of(chunk.bytes.empty() ? grid.chunk : chunk.shape, grid.stored_axes);
  const std::uint64_t all = chunk_bytes(grid) / bytes;
  for (std::uint64_t n = 0; n < all; ++n) {  // every element of a whole chunk
    std::uint64_t rest = n, to = 0, from = 0;
    bool wanted = true, stored = !chunk.bytes.empty();
    for (std::size_t a = grid.shape.size(); a > 0; --a) {
      const std::uint64_t inside = rest % grid.chunk[a - 1];
      rest /= grid.chunk[a - 1];
      const std::uint64_t whole = at[a - 1] * grid.chunk[a - 1] + inside;
      wanted = wanted && whole < grid.shape[a - 1] && (a - 1 != axis || whole == i);
      stored = stored && inside < chunk.shape[a - 1];
      to += whole * to_step[a - 1];
      from += inside * from_step[a - 1];
    }
    if (!wanted) continue;
    std::memcpy(out.data() + to * bytes,
                stored ? chunk.bytes.data() + from * bytes : grid.fill.data(), bytes);
  }
}

}  // namespace tundish
