// How every function of the C interface is wrapped: no exception leaves, the error is kept.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "base/error.h"

namespace tundish {

struct LastError {
  int code = 0;
  bool of_sample = false;  // one sample is bad: SampleError
  std::string text;
};

LastError& last_error();  // of this thread

void keep_error(ErrorCode code, const char* text, bool of_sample = false) noexcept;
void keep_unforeseen(const char* why) noexcept;  // an exception that is not ours

// A text for the caller, valid until the next call of this thread.
const char* keep_text(std::string text);

// Runs `body`; when it throws, keeps the error and returns `failed`.
template <class Result, class Body>
Result guarded(Result failed, const Body& body) noexcept {
  try {
    return body();
  } catch (const SampleError& error) {
    keep_error(error.code(), error.what(), true);
  } catch (const Error& error) {
    keep_error(error.code(), error.what());
  } catch (const std::bad_alloc&) {  // a text that takes no memory
    keep_error(ErrorCode::no_memory,
               "TND-505 needs more memory than there is\n  fix: close other programs, use fewer "
               "threads or smaller batches");
  } catch (const std::exception& error) {
    keep_unforeseen(error.what());
  } catch (...) {
    keep_unforeseen("an exception of no known kind");
  }
  return failed;
}

}  // namespace tundish
