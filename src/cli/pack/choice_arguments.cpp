#include "cli/pack/choice_arguments.h"

#include <fmt/format.h>

#include "cli/progress.h"
#include "cli/text.h"

namespace tundish::cli {
namespace {

constexpr std::size_t kShown = 10;  // duplicates listed on stderr

void name_duplicates(const Choice& choice, const Chosen& chosen, const Source& source,
                     const Shell& shell) {
  const char* done = choice.duplicates == Duplicates::drop ? "left out" : "kept";
  for (std::size_t n = 0; n < chosen.duplicates.size() && n < kShown; ++n) {
    const Duplicate& pair = chosen.duplicates[n];
    const bool same = source.info(pair.sample).label == source.info(pair.first).label;
    shell.warn(fmt::format("duplicate: {} has the bytes of {}{}; {}",
                           printable(source.key(pair.sample)), printable(source.key(pair.first)),
                           same ? "" : ", but another label", done));
  }
  if (chosen.duplicates.size() > kShown) {
    shell.warn(fmt::format("duplicate: {} more; --json lists all",
                           with_commas(chosen.duplicates.size() - kShown)));
  }
}

}  // namespace

void add_choice_options(Arguments& arguments, ChoiceArguments& out) {
  arguments.options(out.filters, "--filter", "TEXT", "only samples such as label=cat; repeatable");
  arguments.option(out.duplicates, "--duplicates", "D", "images with equal bytes: report or drop");
  arguments.option(out.subset, "--subset", "N|P%", "N samples or P% of them, by a hash of the key");
  arguments.option(out.seed, "--seed", "N", "changes the hash and thus the subset (0)", 0,
                   ~std::uint64_t{0});
  arguments.option(out.samples, "--samples", "N", "only the first N samples", 1, ~std::uint64_t{0});
}

Choice choice_of(const ChoiceArguments& arguments) {
  Choice out{.filters = arguments.filters,
             .duplicates = arguments.duplicates == "drop"     ? Duplicates::drop
                           : arguments.duplicates == "report" ? Duplicates::report
                                                              : Duplicates::keep,
             .subset = arguments.subset,
             .seed = arguments.seed,
             .limit = arguments.samples};
  if (!arguments.duplicates.empty() && out.duplicates == Duplicates::keep) {
    throw UsageError(fmt::format("--duplicates is one of report, drop, not '{}'",
                                 printable(arguments.duplicates)));
  }
  try {
    check_choice(out);
  } catch (const Error& error) {
    throw UsageError("--" + error.reason());
  }
  return out;
}

Chosen choose_samples(const std::shared_ptr<const Source>& source, const Choice& choice,
                      std::uint64_t threads, bool progress, const Shell& shell) {
  if (choice.is_all()) return choose(source, choice);
  Progress line(shell, "choosing", "img");
  const auto show = [&](const char* work, std::uint64_t done, std::uint64_t all) {
    if (progress) line.show({.items = done, .items_total = all}, work);
  };
  Chosen out = choose(source, choice, static_cast<int>(threads), show);
  line.wipe();
  name_duplicates(choice, out, *source, shell);
  std::string text =
      fmt::format("{} of {}", with_commas(out.source->count()), counted(out.of, "sample"));
  if (choice.duplicates != Duplicates::keep) {
    text += ", " + counted(out.duplicates.size(), "duplicate");
  }
  shell.message("chosen", text);
  return out;
}

Json choice_json(const Choice& choice, const Chosen& chosen, const Source& source) {
  if (choice.is_all()) return nullptr;
  Json out;
  out["of"] = chosen.of;
  out["samples"] = chosen.source->count();
  out["filter"] = Json::array();
  for (const std::string& text : choice.filters) out["filter"].push_back(json_text(text));
  out["subset"] = choice.subset.empty() ? Json() : Json(choice.subset);
  out["seed"] = choice.seed;
  out["limit"] = choice.limit == 0 ? Json() : Json(choice.limit);
  out["duplicates"] = choice.duplicates == Duplicates::keep ? Json() : Json::array();
  for (const Duplicate& pair : chosen.duplicates) {
    Json row, first;
    put_key(row, source.key(pair.sample));
    put_key(first, source.key(pair.first));
    row["duplicate_of"] = std::move(first);
    row["same_label"] = source.info(pair.sample).label == source.info(pair.first).label;
    out["duplicates"].push_back(std::move(row));
  }
  return out;
}

}  // namespace tundish::cli
