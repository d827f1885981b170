#include "augment/pixels/blur/blur.h"

#include <algorithm>

#include "augment/pixels/blur/blur_rows.h"
#include "augment/pixels/blur/gaussian_taps.h"

namespace tundish {
namespace {

std::size_t size_of(int i) { return static_cast<std::size_t>(i); }

template <class T>
void grow(std::vector<T>& memory, std::size_t elements) {
  if (memory.size() < elements) memory.resize(elements);
}

const BoxRows& box_rows(Cpu cpu) {
  if (cpu == Cpu::avx512) return kBoxRowsAvx512;
  return cpu == Cpu::avx2 ? kBoxRowsAvx2 : kBoxRowsBaseline;
}

// Pads a line with `pixels` pixels at both ends; line[0] is the first sample.
template <class T>
void pad_line(T* line, int width, int pixels, PadMode mode) {
  for (int i = 1; i <= pixels; ++i) {
    const int left = padded_index(-i, width, mode);
    const int right = padded_index(width - 1 + i, width, mode);
    for (int c = 0; c < 3; ++c) {
      line[-3 * i + c] = line[3 * left + c];
      line[3 * (width - 1 + i) + c] = line[3 * right + c];
    }
  }
}

}  // namespace

const GaussianRows& gaussian_rows(Cpu cpu) {
  if (cpu == Cpu::avx512) return kGaussianRowsAvx512;
  return cpu == Cpu::avx2 ? kGaussianRowsAvx2 : kGaussianRowsBaseline;
}

void Blur::run(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size size) {
  if (step.op == PixelOp::gaussian_blur) gaussian(step, rgb.data(), size);
  if (step.op == PixelOp::box_blur) box(step, rgb.data(), size);
}

// Works in place: each line is read before the line reach_y above it is written, and only once.
void Blur::gaussian(const PixelStep& step, std::uint8_t* rgb, Size size) {
  const auto across = gaussian_taps(static_cast<int>(step.value[0]), step.value[4]);
  const auto down = gaussian_taps(static_cast<int>(step.value[1]), step.value[5]);
  const int reach_x = static_cast<int>(across.size()) - 1;
  const int reach_y = static_cast<int>(down.size()) - 1;
  if (reach_x == 0 && reach_y == 0) return;
  const GaussianRows& rows = gaussian_rows(cpu_);
  const int samples = 3 * size.width;
  const std::size_t stride = blur_stride(size_of(samples));
  const int count = static_cast<int>(stride);
  const int kept = std::min(2 * reach_y + 1, size.height);
  const std::size_t border = 3 * size_of(reach_x);
  grow(line_, stride + 2 * border);
  grow(rows_, stride * size_of(kept));
  grow(sums_, stride);
  grow(around_, size_of(2 * reach_y + 1));
  float* line = line_.data() + border;
  int done = 0;
  for (int y = 0; y < size.height; ++y) {
    for (; done <= std::min(y + reach_y, size.height - 1); ++done) {
      const std::uint8_t* from = rgb + std::ptrdiff_t{done} * samples;
      rows.widen(line, from, samples);
      pad_line(line, size.width, reach_x, PadMode::reflect);
      rows.across(rows_.data() + size_of(done % kept) * stride, line, count, across.data(), reach_x,
                  3);
    }
    const float** middle = around_.data() + reach_y;
    for (int d = -reach_y; d <= reach_y; ++d) {
      const int row = padded_index(y + d, size.height, PadMode::reflect);
      middle[d] = rows_.data() + size_of(row % kept) * stride;
    }
    rows.down(sums_.data(), middle, count, down.data(), reach_y);
    rows.narrow(rgb + std::ptrdiff_t{y} * samples, sums_.data(), samples);
  }
}

void Blur::box(const PixelStep& step, std::uint8_t* rgb, Size size) {
  const Box box = box_of(step.value[0]);
  if (box.radius == 0 && box.part == 0) return;
  box_across(box, rgb, size);
  box_down(box, rgb, size);
}

void Blur::box_across(const Box& box, std::uint8_t* rgb, Size size) {
  const BoxRows& rows = box_rows(cpu_);
  const int samples = 3 * size.width;
  const std::size_t stride = blur_stride(size_of(samples));
  const std::size_t border = 3 * size_of(box.radius + 1);
  grow(strip_, stride + 2 * border);
  grow(strip_to_, stride + 2 * border);
  for (int y = 0; y < size.height; ++y, rgb += samples) {
    std::uint16_t* line = strip_.data() + border;
    std::uint16_t* to = strip_to_.data() + border;
    rows.widen(line, rgb, samples);
    for (int pass = 0; pass < kBoxPasses; ++pass) {
      pad_line(line, size.width, box.radius + 1, PadMode::edge);
      rows.across(to, line, static_cast<int>(stride), box);
      std::swap(line, to);
    }
    rows.narrow(rgb, line, samples);
  }
}

void Blur::box_down(const Box& box, std::uint8_t* rgb, Size size) {
  const BoxRows& rows = box_rows(cpu_);
  const std::ptrdiff_t samples = std::ptrdiff_t{3} * size.width;
  const std::ptrdiff_t border = box.radius + 1;
  const auto elements = static_cast<std::size_t>((size.height + 2 * border) * kBoxStrip);
  grow(strip_, elements);
  grow(strip_to_, elements);
  for (std::ptrdiff_t x = 0; x < samples; x += kBoxStrip) {
    const int columns = static_cast<int>(std::min<std::ptrdiff_t>(kBoxStrip, samples - x));
    std::uint16_t* strip = strip_.data() + border * kBoxStrip;
    std::uint16_t* to = strip_to_.data() + border * kBoxStrip;
    for (std::ptrdiff_t y = 0; y < size.height; ++y) {
      rows.widen(strip + y * kBoxStrip, rgb + y * samples + x, columns);
    }
    for (int pass = 0; pass < kBoxPasses; ++pass) {
      const std::uint16_t* last = strip + (size.height - 1) * std::ptrdiff_t{kBoxStrip};
      for (std::ptrdiff_t i = 1; i <= border; ++i) {
        std::copy_n(strip, kBoxStrip, strip - i * kBoxStrip);
        std::copy_n(last, kBoxStrip, strip + (size.height - 1 + i) * kBoxStrip);
      }
      rows.down(to, strip, size.height, box);
      std::swap(strip, to);
    }
    for (std::ptrdiff_t y = 0; y < size.height; ++y) {
      rows.narrow(rgb + y * samples + x, strip + y * kBoxStrip, columns);
    }
  }
}

std::uint64_t Blur::bytes(const PixelStep& step, Size size) {
  const std::uint64_t stride = blur_stride(3 * size_of(size.width));
  if (step.op == PixelOp::gaussian_blur) {
    const auto kernel_x = static_cast<std::uint64_t>(step.value[0]);
    const auto kernel_y = static_cast<std::uint64_t>(step.value[1]);
    const std::uint64_t kept = std::min<std::uint64_t>(kernel_y, size_of(size.height));
    return 4 * (stride * (kept + 2) + 3 * kernel_x) + sizeof(float*) * kernel_y;
  }
  const std::uint64_t border = 2 * size_of(box_of(step.value[0]).radius + 1);
  return 4 * std::max(stride + 3 * border, (size_of(size.height) + border) * kBoxStrip);
}

}  // namespace tundish
