// The LZW codes of a GIF frame to numbers of colors.
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"
#include "base/error.h"

namespace tundish {

class GifPixels {
 public:
  // `blocks`: the file from the first block of pixels on. `code_bits` is 0 to 12.
  GifPixels(Bytes blocks, int code_bits);

  // The next `count` pixels; false when there are fewer, or the codes make no sense: see fault().
  bool read(std::uint8_t* to, std::size_t count);

  Fault fault() const { return {code_, reason_, at_}; }  // the byte counts from `blocks`

 private:
  static constexpr int kTable = 4096, kMaxBits = 12;

  bool next_string();
  bool next_code(int& code);
  bool fail(ErrorCode code, const char* reason);
  void reset();

  const Bytes blocks_;
  const int code_bits_, clear_;
  std::size_t at_ = 0;          // in blocks_
  std::size_t block_left_ = 0;  // bytes of the block at work
  std::uint32_t bits_ = 0;
  int bit_count_ = 0;
  int code_size_ = 0;
  int next_ = 0;                                   // the first free code
  int last_code_ = -1;                             // -1: a clear code came before
  std::uint8_t first_ = 0;                         // pixel of the last string
  std::array<std::uint8_t, kTable> pixel_{};       // the last pixel of a code's string,
  std::array<std::uint16_t, kTable> before_{};     // and the code of the string before it
  std::array<std::uint8_t, kTable + 1> string_{};  // filled from the end
  int string_at_ = kTable + 1;
  ErrorCode code_ = ErrorCode::none;
  const char* reason_ = "";
};

}  // namespace tundish
