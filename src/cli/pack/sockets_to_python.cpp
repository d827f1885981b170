#include "cli/pack/sockets_to_python.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "cli/arguments.h"

namespace tundish::cli {

std::vector<int> sockets_to_python() {
  const char* const value = std::getenv(kSocketsVariable);
  std::vector<int> out;
  if (value == nullptr) return out;
  const std::string_view text = value;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at <= end; ++at) {
    int socket = -1;
    const auto [stop, error] = std::from_chars(at, end, socket);
    if (error != std::errc{} || socket < 0 || (stop != end && *stop != ',')) {
      throw UsageError("TUNDISH_SAMPLE_SOCKETS is for tundish.pack() of Python; unset it");
    }
    out.push_back(socket);
    at = stop;
  }
  return out;
}

}  // namespace tundish::cli
