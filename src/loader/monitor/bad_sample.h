// A sample that could not be loaded, and the reaction to it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"

namespace tundish {

// Reaction to a sample that cannot be read or decoded.
enum class OnError : std::uint8_t {
  substitute = 0,  // another sample, chosen by the position
  skip = 1,        // the batch is shorter; too_many_bad if no sample at all is good
  fail = 2,        // next() throws
};
constexpr std::array<const char*, 3> words(OnError) { return {"substitute", "skip", "fail"}; }

// Content of the batch at the position of a bad sample.
enum class Delivered : std::uint8_t {
  nothing = 0,     // the batch is shorter, or failed
  substitute = 1,  // BadSample::replaced_by
  zeros = 2,       // a GPU could not decode it: an image of zeros, with its own label
};
constexpr std::array<const char*, 3> words(Delivered) { return {"nothing", "substitute", "zeros"}; }

struct BadSample {
  std::uint64_t sample = 0;
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;
  ErrorCode code = ErrorCode::none;
  Where where;
  std::string reason;
  std::string text;  // the whole message
  Delivered delivered = Delivered::nothing;
  std::optional<std::uint64_t> replaced_by;  // the replacement at the same position, if any
};

}  // namespace tundish
