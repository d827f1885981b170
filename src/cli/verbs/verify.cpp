// tundish verify: every byte of a pack against its checksums; with --pixels every image decoded.
#include <fmt/format.h>

#include <algorithm>

#include "cli/check_pixels.h"
#include "cli/finding.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "core/machine/usable_cpus.h"
#include "pack/reader.h"

namespace tundish::cli {
namespace {

constexpr VerbHelp kHelp = {
    .verb = "verify",
    .usage = "FILE [--pixels]",
    .examples = R"(tundish verify train.tnd
tundish verify train.tnd --pixels)",
    .text = R"(Checks every byte of a pack: each piece, the gaps, the digest over the file.
With --pixels every image is decoded as well, which finds those that were broken
before they were packed. All damage is listed; exit code 3 when there is any.)",
    .json = R"({file, ok, records, bytes, images_decoded, not_decodable, seconds, damage};
damage is an array of {code, message, title, file, record, key, offset, reason})"};

constexpr std::size_t kShown = 50;  // lines of damage for people; JSON has all

void print_as_json(const PixelCheck& found, const std::string& file, const Pack* pack,
                   double seconds, const Shell& shell) {
  Json out;
  out["file"] = json_text(file);
  out["ok"] = found.damage.empty();
  out["records"] = pack ? Json(pack->count()) : Json();
  out["bytes"] = pack ? Json(pack->file_bytes()) : Json();
  out["images_decoded"] = found.decoded;
  out["not_decodable"] = found.not_decodable;
  out["seconds"] = seconds;
  out["damage"] = Json::array();
  for (const Error& error : found.damage) out["damage"].push_back(error_json(error));
  print_json(shell, out);
}

void print_damage(const PixelCheck& found, const std::string& file, const Shell& shell) {
  for (std::size_t i = 0; i < found.damage.size() && i < kShown; ++i) {
    shell.print(fmt::format("  {}\n", finding_line(found.damage[i])));
  }
  if (found.damage.size() > kShown) {
    shell.print(fmt::format("  and {} more; --json lists all\n",
                            with_commas(found.damage.size() - kShown)));
  }
  shell.line("damaged", fmt::format("{}  {} {}", printable(file), with_commas(found.damage.size()),
                                    found.damage.size() == 1 ? "finding" : "findings"));
  // A record can be left out; the file's own parts cannot. An image that was broken before it was
  // packed does not come right by a copy.
  const auto any = [&](auto&& is) {
    return std::any_of(found.damage.begin(), found.damage.end(), is);
  };
  const auto is_image = [](const Error& error) {
    return find_error(error.code()) && static_cast<int>(error.code()) / 100 == 4;
  };
  if (any([&](const Error& error) { return !is_image(error); })) {
    shell.line("next", "copy the file again from where it was made, or pack it again");
  }
  if (any([](const Error& error) { return error.where().record.has_value(); })) {
    shell.line("next", "Loader(..., on_error=\"skip\") trains without damaged records");
  }
}

void print_errors(const PixelCheck& found, const std::string& file, const Shell& shell) {
  for (std::size_t i = 0; i < found.damage.size() && i < kShown; ++i) shell.fail(found.damage[i]);
  if (found.damage.size() > kShown) {
    shell.fail(fmt::format("{}: and {} more; --json lists all", printable(file),
                           with_commas(found.damage.size() - kShown)),
               kDamaged);
  }
}

void print_ok(const PixelCheck& found, const Pack& pack, bool pixels, double seconds,
              const Shell& shell) {
  const auto bytes = static_cast<double>(pack.file_bytes());
  std::string text =
      fmt::format("{}  {} records, {}, every checksum is right ({}, {:.0f} MB/s)",
                  printable(pack.path()), with_commas(pack.count()), bytes_text(bytes),
                  duration_text(seconds), bytes / 1e6 / std::max(seconds, 1e-9));
  if (pixels) text += fmt::format("; {} images decoded", with_commas(found.decoded));
  if (found.not_decodable > 0) {
    text += fmt::format(", {} kept as they came", with_commas(found.not_decodable));
  }
  shell.line("ok", text);
}

}  // namespace

int run_verify(const Words& words, Shell& shell) {
  std::string file;
  bool pixels = false;
  std::uint64_t threads = 0;
  Arguments arguments(kHelp, shell);
  arguments.word(file, "FILE", "a pack");
  arguments.flag(pixels, "--pixels", "decode every image as well");
  add_threads(arguments, threads);
  if (!arguments.parse(words)) return kOk;
  if (threads == 0) threads = usable_cpus();

  PixelCheck found;  // damage of both checks
  std::shared_ptr<const Pack> pack;
  try {
    pack = Pack::open(file);
  } catch (const Error& error) {
    if (exit_of(error.code()) != kDamaged) throw;
    found.damage.push_back(error);
  }
  Progress progress(shell, "checking", "img");
  if (pack) {
    pack->verify([&](const Error& error) { found.damage.push_back(error); },
                 [&](std::uint64_t bytes) {
                   progress.show({.bytes = bytes, .bytes_total = pack->file_bytes()});
                   return !stop_flag().load();
                 });
    progress.wipe();
    check_interrupt(file);
    if (pixels) {
      PixelCheck images = check_pixels(*pack, threads, shell);
      images.damage.insert(images.damage.begin(), found.damage.begin(), found.damage.end());
      found = std::move(images);
    }
  }
  if (shell.json) {
    print_as_json(found, file, pack.get(), progress.seconds(), shell);
  } else if (!found.damage.empty()) {
    (shell.quiet || !pack ? print_errors : print_damage)(found, file, shell);
  } else {
    print_ok(found, *pack, pixels, progress.seconds(), shell);
  }
  return found.damage.empty() ? kOk : kDamaged;
}

}  // namespace tundish::cli
