// A request to stop, for work that may take long before it gives anything: opening a source. The
// program and the C interface set the request of this thread; loops that open a source poll it.
// Without a request nothing is ever interrupted.
#pragma once

#include <atomic>
#include <string>

namespace tundish {

// How the request is polled. What `context` points to must outlive every scope that uses it.
struct StopRequest {
  bool (*asked)(const void* context) = nullptr;  // any thread; quick; null: never
  const void* context = nullptr;
};
StopRequest stop_request(const std::atomic<bool>* flag);  // null: never

// This thread polls the request until the scope ends, and then the one before.
class StopScope {
 public:
  explicit StopScope(const StopRequest& request);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  StopRequest before_;
};

bool stop_requested();                     // of this thread; some nanoseconds
void check_stop(const std::string& file);  // throws Error(interrupted) when it is

}  // namespace tundish
