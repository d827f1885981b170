#include "source/loose_file.h"

#include <fmt/format.h>

#include "core/file.h"
#include "decode/decode.h"

namespace tundish {

void read_loose_file(std::vector<std::byte>& out, const std::string& path, std::uint64_t size,
                     const Where& where) {
  try {
    read_file(out, path, Limits{}.max_bytes);
  } catch (const SampleError&) {
    throw;
  } catch (const Error& error) {
    throw SampleError(error.code(), where, error.reason());
  }
  if (size != 0 && out.size() != size) {
    throw SampleError(ErrorCode::source_changed, where,
                      fmt::format("it had {} bytes when the source was opened, now {}",
                                  with_commas(size), with_commas(out.size())));
  }
  if (out.empty()) throw SampleError(ErrorCode::file_empty, where, "");
}

}  // namespace tundish
