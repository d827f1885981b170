// A stop request for long work that returns nothing until its end, such as opening a source.
// The program and the C interface set the request of the current thread; loops that open a source
// poll it. Without a request, nothing is interrupted.
#pragma once

#include <atomic>
#include <string>

namespace tundish {

// How to poll the request. The target of `context` must outlive every scope that uses it.
struct StopRequest {
  bool (*asked)(const void* context) = nullptr;  // thread-safe and fast; null: never stop
  const void* context = nullptr;
};
StopRequest stop_request(const std::atomic<bool>* flag);  // null: never stop

// Makes the current thread poll the request until the scope ends, then restores the previous one.
class StopScope {
 public:
  explicit StopScope(const StopRequest& request);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  StopRequest before_;
};

bool stop_requested();                     // for the current thread; takes nanoseconds
void check_stop(const std::string& file);  // throws Error(interrupted) if stop_requested()

}  // namespace tundish
