// Runs work that may crash in a second process of the program `tundish`. Returns its output, and
// reports its death as an Error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tundish {

// Sets the path of the program. Call once, before sources are opened; thread-safe. Empty: unknown.
void set_helper_program(std::string path);
std::string helper_program();

struct HelperLimits {
  int seconds = 600;                      // wall time
  std::uint64_t max_output = 4ull << 30;  // bytes
};

// Runs `program words...` with no open files except its output, and waits for the process. `file`
// is its input, for messages. Throws Error: helper_failed (a signal, a limit, or an exit code
// with the last line), format_not_built (exit code kHelperNotBuilt), interrupted, no_memory.
std::vector<std::byte> run_helper(const std::string& program, const std::vector<std::string>& words,
                                  const std::string& file, const HelperLimits& limits = {});

inline constexpr int kHelperNotBuilt = 78;
inline constexpr int kHelperUnsupported = 79;  // format_unsupported; the output is the reason
inline constexpr int kHelperDamaged = 80;      // source_damaged; the output is the reason

}  // namespace tundish
