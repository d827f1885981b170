#include "loader/state/saved_state.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <vector>

#include "augment/transforms_json.h"
#include "base/version.h"
#include "loader/state/transforms_difference.h"

namespace tundish {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorCode::wrong_state, {}, why); }

template <class T>
T value_of(const Json& state, const char* name) {
  T out{};
  const auto found = state.find(name);
  if (found == state.end()) refuse(fmt::format("it has no {}", name));
  if (!read_value(out, *found)) {
    refuse(fmt::format("its {} must be {}, not {}", name, wanted_text<T>({.name = name}),
                       shown(*found)));
  }
  return out;
}

// States before format 2 have no "version".
std::string writer_of(const Json& state) {
  const auto version = state.find("version");
  return version != state.end() && version->is_string() ? version->get<std::string>() : "0.1";
}

void check_versions(const Json& state) {
  const auto format = value_of<std::int64_t>(state, "format");
  const auto same = [&](const char* name, int here) {
    return format == kStateFormat && value_of<std::int64_t>(state, name) == here;
  };
  if (same("order_version", kOrderVersion) && same("random_version", kRandomVersion)) return;
  refuse(fmt::format(
      "tundish {} wrote it (format {}), and this is tundish {} (format {}), which draws another "
      "order or other crops from the same seed: finish the run with the version that began it, or "
      "begin an epoch again with set_epoch()",
      shown_text(writer_of(state)), format, version(), kStateFormat));
}

LoaderOptions read_run_config(const Json& config, bool& given) {
  LoaderOptions options;
  Json fields = config;
  if (!fields.is_object()) refuse("its run_config is not an object");
  if (const auto found = fields.find("given"); found != fields.end()) {
    given = value_of<bool>(fields, "given");
    fields.erase("given");
  }
  read_fields(options, fields, "run_config", true);
  check_fields_of(options, "run_config");
  return options;
}

// Explains how the fingerprints differ. Only the fingerprint contains the data.
std::string difference(const SavedState& state, const RunIdentity& run) {
  std::vector<std::string> out;
  if (state.options.seed != run.seed) {
    out.push_back(fmt::format("another seed ({}, here {})", state.options.seed, run.seed));
  }
  if (state.order != run.order) {
    out.push_back(
        fmt::format("another order ({}, here {})", shown_text(state.order, 200), run.order));
  }
  if (const std::string saved = transforms_text(state.options); saved != run.transforms) {
    out.push_back("other transforms (" +
                  transforms_difference(parse_json(saved), parse_json(run.transforms)) + ")");
  }
  if (state.options.exif_orientation != run.exif_orientation) {
    out.push_back(fmt::format("exif_orientation={}, here {}",
                              state.options.exif_orientation ? "True" : "False",
                              run.exif_orientation ? "True" : "False"));
  }
  if (state.options.mode != run.mode) {
    const auto word = [](ImageMode mode) { return words(mode)[static_cast<std::size_t>(mode)]; };
    out.push_back(
        fmt::format("mode=\"{}\", here \"{}\"", word(state.options.mode), word(run.mode)));
  }
  return out.empty() ? "other data" : fmt::format("{}", fmt::join(out, ", "));
}

}  // namespace

std::string fingerprint(const Source& source, const Order& order, const LoaderOptions& options) {
  std::string text = fmt::format("tundish {}\n{}\n{} {} {}\n", kStateFormat, source.fingerprint(),
                                 order.count, order.seed, order.shuffle);
  if (options.exif_orientation) text += "exif\n";
  if (options.mode != ImageMode::rgb) {
    text += fmt::format("mode {}\n", words(options.mode)[static_cast<std::size_t>(options.mode)]);
  }
  text += describe(order) + '\n' + transforms_text(options);
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

Json run_config_json(const LoaderOptions& options) {
  Json out = json_of_fields(options, true);
  if (!options.order.samples.empty() || !options.order.weights.empty() ||
      !options.order.group_sizes.empty() || !options.labels.empty() ||
      !options.label_vectors.empty()) {
    out["given"] = true;
  }
  return out;
}

Json state_json(const RunIdentity& run, const LoaderOptions& options, std::uint64_t epoch,
                std::uint64_t position) {
  return {{"format", kStateFormat},
          {"version", version()},
          {"order_version", kOrderVersion},
          {"random_version", kRandomVersion},
          {"fingerprint", run.fingerprint},
          {"seed", run.seed},
          {"epoch", epoch},
          {"position", position},
          {"order", run.order},
          {"run_config", run_config_json(options)}};
}

SavedState read_state(const std::string& text) {
  if (text.size() > kMaxStateBytes) {
    refuse(fmt::format("it is no state of a loader: it has more than {} bytes",
                       with_commas(kMaxStateBytes)));
  }
  try {
    const Json state = parse_json(text);
    if (!state.is_object()) refuse("it is not a JSON object");
    check_versions(state);
    SavedState out;
    out.fingerprint = value_of<std::string>(state, "fingerprint");
    out.order = value_of<std::string>(state, "order");
    out.epoch = value_of<std::uint64_t>(state, "epoch");
    out.position = value_of<std::uint64_t>(state, "position");
    if (out.epoch > kMaxEpoch) refuse("its epoch is larger than any");
    if (!state.contains("run_config")) refuse("it has no run_config");
    out.options = read_run_config(state["run_config"], out.given);
    out.options.seed = value_of<std::uint64_t>(state, "seed");
    return out;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::wrong_state) throw;
    refuse("it is no state of a loader: " + error.reason());
  }
}

void check_state(const SavedState& state, const RunIdentity& run) {
  if (state.fingerprint != run.fingerprint) {
    refuse("it was saved with " + difference(state, run));
  }
  if (state.position > run.positions) {
    refuse(fmt::format("its position is {}, and an epoch has {}", with_commas(state.position),
                       with_commas(run.positions)));
  }
}

}  // namespace tundish
