#include "cli/python.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace tundish::cli {
namespace {

// Starts a program with the signal handling from before our changes; quiet: without output. Exec
// resets our handlers, and a signal that was ignored (nohup) stays ignored.
int run(const std::vector<std::string>& args, bool quiet) {
  std::vector<char*> arguments;
  for (const std::string& word : args) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);

  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t usual;
  ::sigemptyset(&usual);
  for (const int number : {SIGPIPE, SIGXFSZ}) ::sigaddset(&usual, number);
  ::posix_spawnattr_setsigdefault(&attributes, &usual);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  if (quiet) {
    for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
      ::posix_spawn_file_actions_addopen(&files, descriptor, "/dev/null", O_WRONLY, 0);
    }
  }
  pid_t child = 0;
  const int failed =
      ::posix_spawnp(&child, arguments[0], &files, &attributes, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (failed != 0) {
    throw Error(failed == ENOMEM ? ErrorCode::no_memory : ErrorCode::io_read, {.file = args[0]},
                std::strerror(failed));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  return WTERMSIG(status) == SIGINT ? int{kInterrupted} : 128 + WTERMSIG(status);
}

// Exit code of a Python that can import tundish and supports the option -P: 3.11 and later.
constexpr int kHasSafePath = 3;

// Returns the command `python -m tundish ARGS...`, without the current folder on sys.path.
std::vector<std::string> tundish_command(const std::vector<std::string>& python,
                                         const std::vector<std::string>& args) {
  std::vector<std::string> all = python;
  all.emplace_back("-c");
  all.push_back(
      code_outside_folder("from tundish.__main__ import main\nsys.exit(main(sys.argv[1:]))"));
  all.insert(all.end(), args.begin(), args.end());
  return all;
}

// Returns the folder of the program. Does not resolve links: .venv/bin/tundish is a link.
std::string folder_of(const std::string& program) {
  const std::size_t slash = program.rfind('/');
  if (slash != program.npos) return program.substr(0, slash);
  const char* path = std::getenv("PATH");
  std::string rest = path ? path : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string folder = rest.substr(0, end);
    if (::access((folder + '/' + program).c_str(), X_OK) == 0) return folder;
    rest.erase(0, end + 1);
  }
  return {};
}

}  // namespace

std::vector<std::string> python_candidates(const Shell& shell) {
  std::vector<std::string> candidates;
  const std::string folder = folder_of(shell.program);
  if (!folder.empty()) candidates.push_back(folder + "/python");
  if (const char* environment = std::getenv("VIRTUAL_ENV")) {
    candidates.push_back(fmt::format("{}/bin/python", environment));
  }
  candidates.emplace_back("python3");
  std::erase_if(candidates, [](const std::string& python) {
    return python.find('/') != python.npos && ::access(python.c_str(), X_OK) != 0;
  });
  return candidates;
}

std::string code_outside_folder(const std::string& code) {
  return "import sys\nif sys.path[:1] == ['']: del sys.path[0]\n" + code;
}

std::vector<std::string> find_python(const Shell& shell) {
  const std::string probe = code_outside_folder(fmt::format(
      "import tundish\nsys.exit({} if sys.version_info >= (3, 11) else 0)", kHasSafePath));
  for (const std::string& python : python_candidates(shell)) {
    if (stop_flag().load()) return {};  // Ctrl-C ended the previous candidate
    try {
      const int code = run({python, "-c", probe}, true);
      if (code == kHasSafePath) return {python, "-P"};  // child processes of Python inherit -P
      if (code == 0) return {python};
    } catch (const Error&) {
      continue;  // no such program
    }
  }
  return {};
}

int run_python(const std::vector<std::string>& python, const std::vector<std::string>& args) {
  const int code = run(tundish_command(python, args), false);
  return stop_flag().load() ? int{kInterrupted} : code;
}

int run_python_verb(const std::string& verb, const std::vector<std::string>& args, Shell& shell) {
  const std::vector<std::string> python = find_python(shell);
  // Blocked until python/tundish/__main__.py unblocks it: interrupting an import would print a
  // traceback.
  sigset_t interrupt;
  ::sigemptyset(&interrupt);
  ::sigaddset(&interrupt, SIGINT);
  ::sigprocmask(SIG_BLOCK, &interrupt, nullptr);
  if (stop_flag().load()) return kInterrupted;
  if (python.empty()) {
    shell.json = std::find(args.begin(), args.end(), "--json") != args.end();
    return shell.fail(fmt::format("{} is written in Python, and no Python here can import tundish\n"
                                  "  fix: pip install tundish torch, and run the program of that "
                                  "environment",
                                  verb),
                      kFailed);
  }
  std::vector<std::string> all = tundish_command(python, {verb});
  all.insert(all.end(), args.begin(), args.end());
  // Replaces this process, so that signals sent to its process number reach Python.
  std::vector<char*> arguments;
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  return shell.fail(fmt::format("{}: {}", python[0], std::strerror(errno)), kFailed);
}

}  // namespace tundish::cli
