#include "base/machine/helper_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "base/interruption.h"

extern char** environ;

namespace tundish {
namespace {

std::mutex program_mutex;
std::string program_path;

// Kills and reaps the process if it is still running at the end of the scope.
class Child {
 public:
  Child(pid_t id, int output) : id_(id), output_(output) {}
  ~Child() {
    ::close(output_);
    if (id_ <= 0) return;
    ::kill(id_, SIGKILL);
    wait();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int output() const { return output_; }
  int wait() {
    int status = 0;
    while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
    }
    id_ = 0;
    return status;
  }

 private:
  pid_t id_;
  int output_;
};

[[noreturn]] void fail(const std::string& file, std::string reason) {
  throw Error(ErrorCode::helper_failed, {.file = file}, std::move(reason));
}

Child start(const std::string& program, const std::vector<std::string>& words,
            const std::string& file) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) fail(file, ::strerror(errno));
  std::vector<char*> arguments = {const_cast<char*>(program.c_str())};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, pipe[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addclosefrom_np(&files, 3);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t all, none;
  ::sigfillset(&all);
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int failed =
      ::posix_spawn(&child, program.c_str(), &files, &attributes, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  ::close(pipe[1]);
  if (failed != 0) {
    ::close(pipe[0]);
    fail(file, fmt::format("{} cannot be started: {}", printable(program), ::strerror(failed)));
  }
  return Child(child, pipe[0]);
}

void read_output(std::vector<std::byte>& out, const Child& child, const std::string& file,
                 const HelperLimits& limits) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::seconds(limits.seconds);
  constexpr std::size_t kStep = 1 << 16;
  for (;;) {
    check_stop(file);
    if (Clock::now() > deadline) fail(file, fmt::format("not ready after {} s", limits.seconds));
    pollfd ready{child.output(), POLLIN, 0};
    if (::poll(&ready, 1, 100) <= 0) continue;
    const std::size_t before = out.size();
    if (before > limits.max_output) fail(file, "its description is too large");
    out.resize(before + kStep);
    const ssize_t got = ::read(child.output(), out.data() + before, kStep);
    out.resize(before + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got == 0) return;
    if (got < 0 && errno != EINTR) fail(file, ::strerror(errno));
  }
}

}  // namespace

void set_helper_program(std::string path) {
  const std::lock_guard lock(program_mutex);
  program_path = std::move(path);
}

std::string helper_program() {
  const std::lock_guard lock(program_mutex);
  return program_path;
}

std::vector<std::byte> run_helper(const std::string& program, const std::vector<std::string>& words,
                                  const std::string& file, const HelperLimits& limits) {
  std::vector<std::byte> out;
  Child child = start(program, words, file);
  read_output(out, child, file, limits);
  const int status = child.wait();
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    const char* name = ::sigabbrev_np(number);
    fail(file, fmt::format("signal {} ({})", number, name ? name : "?"));
  }
  const int code = WEXITSTATUS(status);
  if (code == 0) return out;
  const std::string text(reinterpret_cast<const char*>(out.data()),
                         std::min<std::size_t>(out.size(), 500));
  if (code == kHelperNotBuilt) throw Error(ErrorCode::format_not_built, {.file = file}, text);
  if (code == kHelperUnsupported) throw Error(ErrorCode::format_unsupported, {.file = file}, text);
  if (code == kHelperDamaged) throw Error(ErrorCode::source_damaged, {.file = file}, text);
  fail(file, fmt::format("exit code {}", code));
}

}  // namespace tundish
