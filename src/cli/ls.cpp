// tundish ls: one line per record, straight from the index and the names.
#include <fmt/format.h>

#include "cli/verbs.h"
#include "pack/open.h"

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
key_hex with the exact bytes where a name is not UTF-8)"};

}  // namespace

int run_ls(const Words& words, Shell& shell) {
  std::string file;
  std::uint64_t from = 0;
  std::uint64_t count = ~std::uint64_t{0};
  Arguments arguments(kHelp, shell);
  arguments.word(file, "FILE", "a pack, or another source");
  arguments.option(from, "--from", "N", "first record", 0, ~std::uint64_t{0});
  arguments.option(count, "--count", "N", "at most so many", 0, ~std::uint64_t{0});
  if (!arguments.parse(words)) return kOk;

  const std::shared_ptr<const Source> source = open_source(file);
  const Schema& schema = source->schema();
  const std::uint64_t total = source->count();
  for (std::uint64_t i = from; i < total && i - from < count; ++i) {
    check_interrupt(file);
    const SampleInfo info = source->info(i);
    const std::string key = source->key(i);
    const bool named =
        info.label >= 0 && static_cast<std::uint64_t>(info.label) < schema.classes.size();
    const std::string label = info.label < 0 ? "" : std::to_string(info.label);
    const std::string name = named ? schema.classes[static_cast<std::size_t>(info.label)] : "";
    if (shell.json) {
      Json row;
      row["record"] = i;
      put_key(row, key);
      row["label"] = info.label < 0 ? Json() : Json(info.label);
      row["class"] = named ? Json(json_text(name)) : Json();
      row["codec"] = codec_name(info.codec);
      row["width"] = info.width;
      row["height"] = info.height;
      row["bytes"] = source->bytes(i);
      shell.print_json(row);
    } else {
      const std::string size =
          info.width == 0 ? "-" : fmt::format("{}x{}", info.width, info.height);
      shell.print(fmt::format("{:>9}  {:<7} {:>11} {:>13} {:>6}  {}\n", with_commas(i),
                              codec_name(info.codec), size, with_commas(source->bytes(i)), label,
                              printable(key)));
    }
  }
  return kOk;
}

}  // namespace tundish::cli
