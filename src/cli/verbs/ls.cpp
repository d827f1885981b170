// tundish ls: one line per record, straight from the index and the names.
#include <fmt/format.h>

#include "cli/json.h"
#include "cli/record.h"
#include "cli/source_words.h"
#include "cli/verbs.h"

namespace tundish::cli {
namespace {

constexpr VerbHelp kHelp = {
    .verb = "ls",
    .usage = "FILE [options]",
    .examples = R"(tundish ls train.tnd
tundish ls train.tnd --from 1000 --count 10)",
    .text = R"(Lists the records of a pack: number, codec, pixels, bytes, label, name. Any
other source that can be packed is listed too.)",
    .json = R"(one object per line: {record, key, label, class, codec, width, height, bytes};
null what is not known before an image is read; key_hex with the exact bytes
where a name is not UTF-8)"};

}  // namespace

int run_ls(const Words& words, Shell& shell) {
  std::string file;
  std::uint64_t from = 0;
  std::uint64_t count = ~std::uint64_t{0};
  SourceWords about;
  Arguments arguments(kHelp, shell);
  arguments.word(file, "FILE", "a pack, or another source");
  add_source_words(arguments, about);
  arguments.option(from, "--from", "N", "first record", 0, ~std::uint64_t{0});
  arguments.option(count, "--count", "N", "at most so many", 0, ~std::uint64_t{0});
  if (!arguments.parse(words)) return kOk;

  const std::shared_ptr<const Source> source = open_source(file, about);
  for (const std::string& text : source->warnings()) shell.warn(text);
  const std::uint64_t total = source->count();
  for (std::uint64_t i = from; i < total && i - from < count; ++i) {
    check_interrupt(file);
    if (shell.json) {
      Json row = record_json(*source, i);
      row["bytes"] = source->bytes(i);
      print_json(shell, row);
      continue;
    }
    const SampleInfo info = source->info(i);
    const std::string size = info.width == 0 ? "-" : fmt::format("{}x{}", info.width, info.height);
    const std::string codec = codec_text(*source, info);
    const std::string label = info.label < 0 ? "" : std::to_string(info.label);
    shell.print(fmt::format("{:>9}  {:<7} {:>11} {:>13} {:>6}  {}\n", with_commas(i),
                            codec.empty() ? "-" : codec, size, with_commas(source->bytes(i)), label,
                            printable(source->key(i))));
  }
  return kOk;
}

}  // namespace tundish::cli
