// tundish verify: every byte of a pack against its checksums; with --pixels every image decoded.
#include <fmt/format.h>

#include <mutex>
#include <thread>

#include "cli/progress.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "core/usable_cpus.h"
#include "decode/decode.h"
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

class NoSink : public StripSink {
 public:
  void push(const Strip&) override {}
};

struct Findings {
  std::uint64_t decoded = 0;
  std::uint64_t not_decodable = 0;  // packed as they came
  std::vector<Error> damage;
};

// Decodes every image with all threads; the order of what they find does not matter.
void check_pixels(Findings& findings, const Pack& pack, std::uint64_t threads, const Shell& shell) {
  const int field = pack.schema().find(FieldType::image);
  if (field < 0) return;
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> done{0};
  std::atomic<std::uint64_t> running{0};
  std::mutex mutex;  // guards findings
  std::exception_ptr broke;
  const auto work = [&] {
    Sample sample;
    DecodeScratch scratch;
    NoSink sink;
    for (;;) {
      const std::uint64_t i = next.fetch_add(1);
      if (i >= pack.count() || stop_flag().load()) return;
      bool skipped = false;
      std::optional<Error> bad;
      const auto at = [&] {
        return Where{.file = pack.path(), .record = i, .key = pack.key(i), .offset = {}};
      };
      try {
        ImageHeader header;
        pack.read(sample, i, FieldSet{1} << field);
        const Bytes bytes = sample.fields.at(static_cast<std::size_t>(field));
        if (pack.info(i).codec == Codec::unknown) {
          skipped = true;
        } else if (auto fault = read_header(header, bytes)) {
          bad.emplace(*fault, at());
        } else {
          const Window all{.x = 0,
                           .y = 0,
                           .width = static_cast<int>(header.width),
                           .height = static_cast<int>(header.height)};
          if (auto wrong = decode(sink, bytes, header, all, scratch)) bad.emplace(*wrong, at());
        }
      } catch (const Error& error) {
        // The checksums have been told already.
        if (exit_of(error.code()) != kDamaged) throw;
      }
      const std::lock_guard lock(mutex);
      ++(skipped ? findings.not_decodable : findings.decoded);
      if (bad) findings.damage.push_back(std::move(*bad));
      done.fetch_add(1);
    }
  };
  const auto guarded = [&] {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!broke) broke = std::current_exception();
      next.store(pack.count());
    }
    running.fetch_sub(1);
  };

  Progress progress(shell, "decoding", "img");
  std::vector<std::jthread> workers;
  running.store(threads);
  for (std::uint64_t t = 0; t < threads; ++t) workers.emplace_back(guarded);
  while (running.load() > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    progress.show(
        {.items = done.load(), .items_total = pack.count(), .bytes = 0, .bytes_total = 0});
  }
  workers.clear();
  if (broke) std::rethrow_exception(broke);
  check_interrupt(pack.path());
}

std::string damage_line(const Error& error) {
  const Where& where = error.where();
  const ErrorEntry* entry = find_error(error.code());
  std::string out = error_name(error.code());
  if (where.record) out += fmt::format("  record {}", with_commas(*where.record));
  if (!where.key.empty()) out += fmt::format(" ({})", printable(where.key));
  out += fmt::format("{} {}", where.record ? "" : "  the file", entry ? entry->title : "is wrong");
  if (where.offset) out += fmt::format(" at byte {}", with_commas(*where.offset));
  if (!error.reason().empty()) out += ": " + error.reason();
  return out;
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

  const auto start = std::chrono::steady_clock::now();
  Findings findings;
  std::shared_ptr<const Pack> pack;
  try {
    pack = Pack::open(file);
  } catch (const Error& error) {
    if (exit_of(error.code()) != kDamaged) throw;
    findings.damage.push_back(error);
  }
  if (pack) {
    Progress progress(shell, "checking", "img");
    pack->verify(
        [&](const Error& error) { findings.damage.push_back(error); },
        [&](std::uint64_t bytes) {
          progress.show(
              {.items = 0, .items_total = 0, .bytes = bytes, .bytes_total = pack->file_bytes()});
          return !stop_flag().load();
        });
    progress.wipe();
    check_interrupt(file);
    if (pixels) check_pixels(findings, *pack, threads, shell);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::uint64_t bytes = pack ? pack->file_bytes() : 0;
  const bool ok = findings.damage.empty();

  if (shell.json) {
    Json out;
    out["file"] = json_text(file);
    out["ok"] = ok;
    out["records"] = pack ? Json(pack->count()) : Json();
    out["bytes"] = pack ? Json(bytes) : Json();
    out["images_decoded"] = findings.decoded;
    out["not_decodable"] = findings.not_decodable;
    out["seconds"] = seconds;
    out["damage"] = Json::array();
    for (const Error& error : findings.damage) out["damage"].push_back(error_json(error));
    shell.print_json(out);
    return ok ? kOk : kDamaged;
  }
  for (std::size_t i = 0; i < findings.damage.size() && i < kShown; ++i) {
    shell.print(fmt::format("  {}\n", damage_line(findings.damage[i])));
  }
  if (findings.damage.size() > kShown) {
    shell.print(fmt::format("  and {} more; --json lists all\n",
                            with_commas(findings.damage.size() - kShown)));
  }
  if (ok) {
    std::string text = fmt::format("{}  {} records, {}, every checksum is right ({}, {:.0f} MB/s)",
                                   printable(file), with_commas(pack->count()),
                                   bytes_text(static_cast<double>(bytes)), duration_text(seconds),
                                   static_cast<double>(bytes) / 1e6 / std::max(seconds, 1e-9));
    if (pixels) text += fmt::format("; {} images decoded", with_commas(findings.decoded));
    if (findings.not_decodable) {
      text += fmt::format(", {} kept as they came", with_commas(findings.not_decodable));
    }
    shell.line("ok", text);
    return kOk;
  }
  shell.line("damaged",
             fmt::format("{}  {} {}", printable(file), with_commas(findings.damage.size()),
                         findings.damage.size() == 1 ? "finding" : "findings"));
  shell.line("next",
             "copy the file again from where it was made, or pack it anew;\n"
             "            Loader(..., on_error=\"skip\") trains without damaged records");
  return kDamaged;
}

}  // namespace tundish::cli
