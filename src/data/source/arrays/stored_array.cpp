#include "data/source/arrays/stored_array.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/interruption.h"
#include "codec/decode/decode.h"
#include "data/source/format.h"

namespace tundish {
namespace {

// Returns the bytes from the first to behind the last element; empty over 64 bits; 0 if none.
std::optional<std::uint64_t> span_of(const std::vector<std::uint64_t>& shape,
                                     const std::vector<std::uint64_t>& steps, std::uint64_t bytes) {
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::uint64_t reach;
    if (shape[axis] == 0) return 0;
    if (__builtin_mul_overflow(shape[axis] - 1, steps[axis], &reach) ||
        __builtin_add_overflow(bytes, reach, &bytes)) {
      return std::nullopt;
    }
  }
  return bytes;
}

// Returns true if the elements are in C order; ignores the step of an axis with one element.
bool in_c_order(const ArrayType& type, const std::vector<std::uint64_t>& steps) {
  std::uint64_t step = element_bytes(type.element);
  for (std::size_t axis = type.shape.size(); axis-- > 0;) {
    if (type.shape[axis] != 1 && steps[axis] != step) return false;
    step *= type.shape[axis];
  }
  return true;
}

// Copies a sample's strided elements from `from` to C order.
void gather(std::byte* to, const std::byte* from, const ArrayType& type,
            const std::vector<std::uint64_t>& steps) {
  const std::size_t width = element_bytes(type.element);
  const std::size_t axes = type.shape.size();
  const std::uint64_t columns = type.shape[axes - 1], column = steps[axes - 1];
  std::vector<std::uint64_t> at(axes, 0);
  for (;;) {
    std::uint64_t offset = 0;
    for (std::size_t axis = 0; axis + 1 < axes; ++axis) offset += at[axis] * steps[axis];
    for (std::uint64_t x = 0; x < columns; ++x, to += width) {
      std::copy_n(from + offset + x * column, width, to);
    }
    std::size_t axis = axes - 1;
    while (axis > 0 && ++at[axis - 1] == type.shape[axis - 1]) at[--axis] = 0;
    if (axis == 0) return;
  }
}

void swap_bytes(std::vector<std::byte>& bytes, std::size_t width) {
  for (std::size_t at = 0; at + width <= bytes.size(); at += width) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + width));
  }
}

}  // namespace

std::optional<std::vector<std::uint64_t>> c_order_steps(const ArrayType& type) {
  std::vector<std::uint64_t> steps(type.shape.size());
  std::uint64_t step = element_bytes(type.element);
  for (std::size_t axis = steps.size(); axis-- > 0;) {
    steps[axis] = step;
    if (__builtin_mul_overflow(step, type.shape[axis], &step)) return std::nullopt;
  }
  return steps;
}

std::optional<std::vector<std::uint64_t>> fortran_order_steps(const ArrayType& type) {
  std::vector<std::uint64_t> steps(type.shape.size());
  std::uint64_t step = element_bytes(type.element);
  for (std::size_t axis = 0; axis < steps.size(); ++axis) {
    steps[axis] = step;
    if (__builtin_mul_overflow(step, type.shape[axis], &step)) return std::nullopt;
  }
  return steps;
}

std::optional<std::uint64_t> layout_span(const ArrayLayout& layout) {
  return span_of(layout.type.shape, layout.steps, element_bytes(layout.type.element));
}

std::uint64_t StoredArray::sample_span() const {
  if (steps.empty()) return sample_bytes();
  return *span_of(type.shape, steps, element_bytes(type.element));
}

const StoredArray::Piece& StoredArray::piece_of(std::uint64_t i) const {
  const auto after = std::upper_bound(
      pieces.begin(), pieces.end(), i,
      [](std::uint64_t number, const Piece& piece) { return number < piece.first; });
  return *(after - 1);
}

std::uint64_t StoredArray::offset_of(std::uint64_t i) const {
  const Piece& piece = piece_of(i);
  return piece.offset + (i - piece.first) * sample_step;
}

std::optional<Fault> place_array(StoredArray& out, const char* format, const ArrayLayout& layout,
                                 SharedStore store, std::uint64_t offset, std::int64_t axis) {
  const ArrayType& type = layout.type;
  const auto axes = static_cast<std::int64_t>(type.shape.size());
  if (axis < 0) axis += axes;
  if (axis < 0 || axis >= axes) {
    return unsupported_source(
        format, fmt::format("an array of {} has no axis that counts the samples", array_text(type)),
        offset);
  }
  const std::optional<std::uint64_t> span =
      span_of(type.shape, layout.steps, element_bytes(type.element));
  if (!span || !array_bytes(type) || !range_fits(offset, *span, store->size())) {
    return damaged_source(format,
                          fmt::format("the elements of an array of {} leave the file, which has {} "
                                      "bytes",
                                      array_text(type), with_commas(store->size())),
                          offset);
  }
  const auto at = static_cast<std::ptrdiff_t>(axis);
  out.type = type;
  out.type.shape.erase(out.type.shape.begin() + at);
  out.steps = layout.steps;
  out.steps.erase(out.steps.begin() + at);
  out.count = type.shape[static_cast<std::size_t>(axis)];
  out.sample_step = layout.steps[static_cast<std::size_t>(axis)];
  out.big_endian = layout.big_endian && element_bytes(type.element) > 1;
  out.pieces = {{std::move(store), offset, 0}};
  if (out.count > kMaxSamples) {
    return unsupported_source(format,
                              fmt::format("{} samples, at most {} are read", with_commas(out.count),
                                          with_commas(kMaxSamples)),
                              offset);
  }
  const std::optional<std::uint64_t> bytes = array_bytes(out.type);
  if (!bytes || *bytes > Limits{}.max_bytes) {
    return unsupported_source(format,
                              fmt::format("a sample is {}, over {} bytes", array_text(out.type),
                                          with_commas(Limits{}.max_bytes)),
                              offset);
  }
  if (*bytes == 0 || (out.sample_step == 0 && out.count > 1)) {
    return unsupported_source(
        format,
        fmt::format("the samples of an array of {} have no elements of their own",
                    array_text(type)),
        offset);
  }
  if (in_c_order(out.type, out.steps)) out.steps.clear();
  return std::nullopt;
}

bool append_array(StoredArray& out, const StoredArray& more) {
  if (out.type != more.type || out.steps != more.steps || out.big_endian != more.big_endian ||
      out.count + more.count > kMaxSamples) {
    return false;
  }
  if (out.sample_step != more.sample_step && more.count > 1) {
    if (out.count > 1) return false;
    out.sample_step = more.sample_step;  // the step of a single sample has no meaning
  }
  if (more.count == 0) return true;
  for (StoredArray::Piece piece : more.pieces) {
    piece.first += out.count;
    out.pieces.push_back(std::move(piece));
  }
  out.count += more.count;
  return true;
}

void read_array(std::vector<std::byte>& out, const StoredArray& array, std::uint64_t i) {
  const ByteStore& store = *array.piece_of(i).store;
  const std::uint64_t offset = array.offset_of(i);
  out.resize(array.sample_bytes());
  if (array.steps.empty()) {
    store.read_at(out, offset);
  } else if (store.in_memory()) {
    gather(out.data(), store.memory().data() + offset, array.type, array.steps);
  } else {
    std::vector<std::byte> span(array.sample_span());
    store.read_at(span, offset);
    gather(out.data(), span.data(), array.type, array.steps);
  }
  if (array.big_endian) swap_bytes(out, element_bytes(array.type.element));
}

void gather_scattered(StoredArray& array, const char* format, std::uint64_t& left) {
  constexpr std::uint64_t kPage = 4096;
  if (array.count == 0 || array.steps.empty()) return;
  if (array.sample_span() <= 4 * array.sample_bytes() + kPage) return;
  for (std::size_t p = 0; p < array.pieces.size(); ++p) {
    StoredArray::Piece& piece = array.pieces[p];
    if (piece.store->in_memory()) continue;
    const std::uint64_t end = p + 1 < array.pieces.size() ? array.pieces[p + 1].first : array.count;
    const std::uint64_t bytes =
        (end - piece.first - 1) * array.sample_step + array.sample_span();  // inside the store
    const std::string& path = piece.store->path();
    if (bytes > left) {
      throw Error(unsupported_source(
                      format,
                      fmt::format("the elements of a sample lie far apart, and the array has {} "
                                  "bytes, of which at most {} are brought into memory: write it in "
                                  "C order (numpy.ascontiguousarray, tensor.contiguous())",
                                  with_commas(bytes), with_commas(left)),
                      piece.offset),
                  {.file = path});
    }
    left -= bytes;
    std::vector<std::byte> memory(bytes);
    constexpr std::size_t kStep = 16 << 20;
    for (std::size_t at = 0; at < memory.size(); at += kStep) {
      check_stop(path);
      piece.store->read_at(std::span(memory).subspan(at, std::min(kStep, memory.size() - at)),
                           piece.offset + at);
    }
    piece = {std::make_shared<ByteStore>(std::move(memory), path), 0, piece.first};
  }
}

}  // namespace tundish
