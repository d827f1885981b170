// A second process of the program `tundish` for work that may crash: its output comes back, its
// death is an Error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tundish {

// Where the program is. Set once, before sources are opened; any thread. Empty: not known.
void set_helper_program(std::string path);
std::string helper_program();

struct HelperLimits {
  int seconds = 600;                      // wall time
  std::uint64_t max_output = 4ull << 30;  // bytes
};

// Runs `program words...` with no open files but its output, and waits for it. `file` is what it
// reads, for messages. Throws Error: helper_failed (a signal, a limit, an exit code with its last
// line), format_not_built (exit code kHelperNotBuilt), interrupted, no_memory.
std::vector<std::byte> run_helper(const std::string& program, const std::vector<std::string>& words,
                                  const std::string& file, const HelperLimits& limits = {});

inline constexpr int kHelperNotBuilt = 78;
inline constexpr int kHelperUnsupported = 79;  // the reason is the output: format_unsupported
inline constexpr int kHelperDamaged = 80;      // the same: source_damaged

}  // namespace tundish
