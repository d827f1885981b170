// Wraps every function of the C interface: catches all exceptions and stores the error.
#pragma once

#include <exception>
#include <new>
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
void keep_unforeseen(const char* why) noexcept;  // for exceptions other than Error

// Stores a text for the caller, valid until the next call of this thread.
const char* keep_text(std::string text);

// Runs `body`. If it throws, stores the error and returns `failed`.
template <class Result, class Body>
Result guarded(Result failed, const Body& body) noexcept {
  try {
    return body();
  } catch (const SampleError& error) {
    keep_error(error.code(), error.what(), true);
  } catch (const Error& error) {
    keep_error(error.code(), error.what());
  } catch (const std::bad_alloc&) {  // a literal text, since formatting could fail too
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
