#include "data/source/loose_file.h"

#include <fmt/format.h>

#include "base/file.h"
#include "codec/decode/decode.h"

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

void read_file_part(std::vector<std::byte>& out, const std::string& path, std::uint64_t offset,
                    std::uint64_t bytes, const Where& where) {
  if (bytes > Limits{}.max_bytes) {
    throw SampleError(ErrorCode::image_too_large, where,
                      fmt::format("{} bytes; {} are allowed", with_commas(bytes),
                                  with_commas(Limits{}.max_bytes)));
  }
  try {
    const File file = File::open(path);
    const std::uint64_t size = file.size();
    if (offset > size || bytes > size - offset) {
      throw SampleError(
          ErrorCode::source_changed, where,
          fmt::format("{} has {} bytes, and the image is {} bytes from {} on", printable(path),
                      with_commas(size), with_commas(bytes), with_commas(offset)));
    }
    out.resize(bytes);
    if (file.read_at(out, offset) != bytes) {
      throw SampleError(ErrorCode::source_changed, where, printable(path) + " became shorter");
    }
  } catch (const SampleError&) {
    throw;
  } catch (const Error& error) {
    throw SampleError(error.code(), where, error.reason());
  }
}

}  // namespace tundish
