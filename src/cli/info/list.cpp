#include "cli/info/list.h"

#include <fmt/format.h>

#include "cli/json.h"

namespace tundish::cli {
namespace {

std::string record_line(const Source& source, std::uint64_t record) {
  const SampleInfo info = source.info(record);
  const std::string size = info.width == 0 ? "-" : fmt::format("{}x{}", info.width, info.height);
  const std::string codec = codec_text(source, info);
  const std::string label = info.label < 0 ? "" : std::to_string(info.label);
  return fmt::format("{:>9}  {:<7} {:>11} {:>13} {:>6}  {}\n", with_commas(record),
                     codec.empty() ? "-" : codec, size, with_commas(source.bytes(record)), label,
                     printable(source.key(record)));
}

}  // namespace

void print_list(const Source& source, const std::string& file, const ListOptions& options,
                const Shell& shell) {
  for (const std::string& text : source.warnings()) shell.warn(text);
  const std::uint64_t total = source.count();
  for (std::uint64_t i = options.from; i < total && i - options.from < options.count; ++i) {
    check_interrupt(file);
    if (!shell.json) {
      shell.print(record_line(source, i));
      continue;
    }
    Json row = record_json(source, i);
    row["bytes"] = source.bytes(i);
    print_json(shell, row);
  }
}

}  // namespace tundish::cli
