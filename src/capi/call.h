// How every function of the C interface is wrapped: no exception leaves, the error is kept.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "core/error.h"

namespace tundish {

struct LastError {
  int code = 0;
  std::string text;
};

LastError& last_error();  // of this thread

void keep_error(ErrorCode code, const char* text) noexcept;

// A text for the caller, valid until the next call of this thread.
const char* keep_text(std::string text);

// Runs `body`; when it throws, keeps the error and returns `failed`.
template <class Result, class Body>
Result guarded(Result failed, const Body& body) noexcept {
  try {
    return body();
  } catch (const Error& error) {
    keep_error(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    keep_error(ErrorCode::no_memory, "TND-505 out of memory");
  } catch (const std::exception& error) {
    keep_error(ErrorCode::argument, error.what());
  } catch (...) {
    keep_error(ErrorCode::argument, "TND-601 an exception of no known kind");
  }
  return failed;
}

}  // namespace tundish
