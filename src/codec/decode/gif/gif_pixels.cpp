#include "codec/decode/gif/gif_pixels.h"

#include <algorithm>

namespace tundish {

GifPixels::GifPixels(Bytes blocks, int code_bits)
    : blocks_(blocks), code_bits_(code_bits), clear_(1 << code_bits) {
  reset();
}

void GifPixels::reset() {
  next_ = clear_ + 2;
  code_size_ = code_bits_ + 1;
  last_code_ = -1;
}

bool GifPixels::fail(ErrorCode code, const char* reason) {
  code_ = code;
  reason_ = reason;
  return false;
}

bool GifPixels::next_code(int& code) {
  while (bit_count_ < code_size_) {
    if (block_left_ > 0) {
      bits_ |= std::to_integer<std::uint32_t>(blocks_[at_++]) << bit_count_;
      bit_count_ += 8;
      --block_left_;
      continue;
    }
    // Like Pillow, does not start on an incomplete block.
    const std::size_t left = blocks_.size() - at_;
    if (left == 0 || std::to_integer<std::size_t>(blocks_[at_]) >= left) {
      return fail(ErrorCode::image_cut_off, "the file ends before the last row");
    }
    block_left_ = std::to_integer<std::size_t>(blocks_[at_++]);  // skips an empty block
  }
  code = static_cast<int>(bits_ & ((1u << code_size_) - 1));
  bits_ >>= code_size_;
  bit_count_ -= code_size_;
  return true;
}

// Writes the pixels of the next code to the end of string_.
bool GifPixels::next_string() {
  int code = 0;
  do {
    if (!next_code(code)) return false;
    if (code == clear_) reset();
  } while (code == clear_);
  if (code == clear_ + 1) {
    return fail(ErrorCode::image_cut_off, "the frame ends before its last row");
  }
  string_at_ = kTable + 1;
  if (last_code_ < 0) {  // the first code after a clear code is a pixel
    if (code > clear_) return fail(ErrorCode::image_damaged, "an LZW code that was never defined");
    first_ = static_cast<std::uint8_t>(code);
    last_code_ = code;
    string_[static_cast<std::size_t>(--string_at_)] = first_;
    return true;
  }
  if (code > next_) return fail(ErrorCode::image_damaged, "an LZW code that was never defined");
  int walk = code;
  if (code == next_) {  // the last string plus its first pixel
    string_[static_cast<std::size_t>(--string_at_)] = first_;
    walk = last_code_;
  }
  while (walk >= clear_) {
    if (string_at_ <= 1 || walk >= kTable) {
      return fail(ErrorCode::image_damaged, "an LZW string that is too long");
    }
    string_[static_cast<std::size_t>(--string_at_)] = pixel_[static_cast<std::size_t>(walk)];
    walk = before_[static_cast<std::size_t>(walk)];
  }
  first_ = static_cast<std::uint8_t>(walk);
  string_[static_cast<std::size_t>(--string_at_)] = first_;
  if (next_ < kTable) {
    pixel_[static_cast<std::size_t>(next_)] = first_;
    before_[static_cast<std::size_t>(next_)] = static_cast<std::uint16_t>(last_code_);
    if (next_ == (1 << code_size_) - 1 && code_size_ < kMaxBits) ++code_size_;
    ++next_;
  }
  last_code_ = code;
  return true;
}

bool GifPixels::read(std::uint8_t* to, std::size_t count) {
  while (count > 0) {
    if (string_at_ == kTable + 1 && !next_string()) return false;
    const std::size_t there = static_cast<std::size_t>(kTable + 1 - string_at_);
    const std::size_t taken = std::min(there, count);
    std::copy_n(string_.data() + string_at_, taken, to);
    string_at_ += static_cast<int>(taken);
    to += taken;
    count -= taken;
  }
  return true;
}

}  // namespace tundish
