// Implements the part of include/tundish.h that opens sources while the caller stays responsive.
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/fields_json.h"
#include "base/interruption.h"
#include "base/machine/helper_process.h"
#include "capi/call.h"
#include "capi/handles.h"
#include "data/pack/open.h"

using namespace tundish;

namespace {

constexpr auto kJoinTimeout = std::chrono::milliseconds(900);

// Shared with the thread, which may outlive the handle.
struct Opening {
  Opening(const char* name, const char* about) : path(name) {
    if (about) read_fields(options, parse_json(about), SourceOptions::kName);
  }

  const std::string path;
  SourceOptions options;  // set before the thread starts
  std::atomic<bool> stop = false;
  std::mutex mutex;  // guards the members below
  std::condition_variable changed;
  bool done = false;
  std::unique_ptr<tundish_source> source;
  LastError error;

  void run() {
    const StopScope interruptible(stop_request(&stop));
    std::unique_ptr<tundish_source> opened;
    try {
      opened.reset(new_source(open_source(path, options)));
    } catch (...) {
      keep_exception();
    }
    const std::lock_guard lock(mutex);
    if (!opened) std::swap(error, last_error());
    source = std::move(opened);
    done = true;
    changed.notify_all();
  }

  bool wait(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, timeout, [&] { return done; });
  }
};

}  // namespace

struct tundish_opening {
  const pid_t process = ::getpid();
  std::shared_ptr<Opening> opening;
  std::thread thread;
};

void tundish_set_program(const char* path) try {
  set_helper_program(path ? path : "");
} catch (...) {
  keep_exception();
}

tundish_opening* tundish_opening_new(const char* path, const char* options) try {
  auto handle = std::make_unique<tundish_opening>();
  handle->opening = std::make_shared<Opening>(path, options);
  try {
    handle->thread = std::thread([keep = handle->opening] { keep->run(); });
  } catch (const std::system_error&) {
    handle->opening->run();  // no thread available: open on the caller's thread
  }
  return handle.release();
} catch (...) {
  return failed(nullptr);
}

int32_t tundish_opening_wait(tundish_opening* handle, uint32_t timeout_ms,
                             tundish_source** out) try {
  Opening& opening = *handle->opening;
  if (!opening.wait(std::chrono::milliseconds(timeout_ms))) return TUNDISH_AGAIN;
  if (handle->thread.joinable()) handle->thread.join();
  if (!opening.source) {
    last_error() = opening.error;
    return TUNDISH_ERROR;
  }
  *out = opening.source.release();
  return TUNDISH_OK;
} catch (...) {
  return failed(TUNDISH_ERROR);
}

void tundish_opening_free(tundish_opening* handle) {
  if (handle == nullptr) return;
  if (::getpid() != handle->process) return;  // forked child: no thread, lock may be held
  handle->opening->stop = true;
  if (handle->thread.joinable()) {
    handle->opening->wait(kJoinTimeout) ? handle->thread.join() : handle->thread.detach();
  }
  delete handle;
}
