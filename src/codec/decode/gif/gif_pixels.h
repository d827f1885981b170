// Decodes the LZW codes of a GIF frame to color indices.
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"
#include "base/error.h"

namespace tundish {

class GifPixels {
 public:
  // `blocks` is the file from the first block of pixels on. `code_bits` is 0 to 12.
  GifPixels(Bytes blocks, int code_bits);

  // Reads the next `count` pixels. False if there are fewer or a code is invalid: see fault().
  bool read(std::uint8_t* to, std::size_t count);

  Fault fault() const { return {code_, reason_, at_}; }  // offset from the start of `blocks`

 private:
  static constexpr int kTable = 4096, kMaxBits = 12;

  bool next_string();
  bool next_code(int& code);
  bool fail(ErrorCode code, const char* reason);
  void reset();

  const Bytes blocks_;
  const int code_bits_, clear_;
  std::size_t at_ = 0;          // in blocks_
  std::size_t block_left_ = 0;  // bytes left in the current block
  std::uint32_t bits_ = 0;
  int bit_count_ = 0;
  int code_size_ = 0;
  int next_ = 0;                                   // the first free code
  int last_code_ = -1;                             // -1: after a clear code
  std::uint8_t first_ = 0;                         // first pixel of the last string
  std::array<std::uint8_t, kTable> pixel_{};       // last pixel of a code's string
  std::array<std::uint16_t, kTable> before_{};     // code of the string without its last pixel
  std::array<std::uint8_t, kTable + 1> string_{};  // filled from the end
  int string_at_ = kTable + 1;
  ErrorCode code_ = ErrorCode::none;
  const char* reason_ = "";
};

}  // namespace tundish
