#include "base/interruption.h"

#include <utility>

#include "base/error.h"

namespace tundish {
namespace {

StopRequest& current() {
  thread_local StopRequest request;
  return request;
}

}  // namespace

StopRequest stop_request(const std::atomic<bool>* flag) {
  if (flag == nullptr) return {};
  return {
      [](const void* context) { return static_cast<const std::atomic<bool>*>(context)->load(); },
      flag};
}

StopScope::StopScope(const StopRequest& request) : before_(std::exchange(current(), request)) {}

StopScope::~StopScope() { current() = before_; }

bool stop_requested() {
  const StopRequest& request = current();
  return request.asked != nullptr && request.asked(request.context);
}

void check_stop(const std::string& file) {
  if (stop_requested()) throw Error(ErrorCode::interrupted, {.file = file}, "");
}

}  // namespace tundish
