// Errors of the C interface. Every function that may throw is one try block that ends with
// `catch (...) { return failed(RESULT); }`, so that no exception leaves the library.
#pragma once

#include <string>

#include "base/error.h"

namespace tundish {

struct LastError {
  int code = 0;
  bool of_sample = false;  // a SampleError: only one sample is bad
  std::string text;
};

LastError& last_error();  // per thread

void keep_error(ErrorCode code, const char* text, bool of_sample = false) noexcept;

// Stores the error of the exception being handled. Call it in a catch block.
void keep_exception() noexcept;

// Like keep_exception(). Returns `result`, for the caller to return.
template <class Result>
Result failed(Result result) noexcept {
  keep_exception();
  return result;
}

// Stores a text for the caller, valid until the next call of this thread.
const char* keep_text(std::string text);

}  // namespace tundish
