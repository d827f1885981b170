#include "cli/view/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "augment/mixing.h"
#include "augment/transform.h"
#include "base/file.h"
#include "cli/json.h"
#include "cli/samples/sheet.h"
#include "cli/view/describe_step.h"
#include "cli/view/over_white.h"
#include "data/pack/output_file.h"
#include "loader/engine/replay.h"
#include "loader/state/saved_state.h"

namespace tundish::cli {
namespace {

SavedState read_state_file(const std::string& file) {
  std::string text(kMaxStateBytes + 1, '\0');  // one more: read_state() refuses larger texts
  text.resize(File::open(file).read_at(std::as_writable_bytes(std::span(text)), 0));
  try {
    return read_state(text);
  } catch (const Error& error) {
    throw Error(error.code(), {.file = file}, error.reason());
  }
}

// Describes one image of the sample.
std::vector<std::string> words_of(const ReplayedSample& sample, std::size_t image) {
  const View& view = sample.views[image];
  std::vector<std::string> lines = {
      fmt::format("sample {} label {}{}", sample.draw.sample, sample.label,
                  sample.draw.repeat ? fmt::format(" repeat {}", sample.draw.repeat) : ""),
      fmt::format("{}x{}", view.image().width, view.image().height)};
  for (const std::uint64_t bad : sample.replaces) lines[0] += fmt::format(" for {}", bad);
  if (sample.views.size() > 1) lines[0] += fmt::format(" image {}", image);
  for (const std::string& text : describe_steps(view)) lines.push_back(text);
  if (sample.partner) {
    lines.push_back(fmt::format("mixed with {:.0f} % of sample {}", 100 * (1 - sample.mix.share),
                                sample.partner->sample));
  }
  return lines;
}

// Keeps the draws but produces levels: 8 bits per channel, or numbers 0 to 255 if images are mixed.
Transforms as_levels(const Transforms& transforms) {
  std::vector<Transform> out = transforms.list();
  const Dtype dtype = mixing_of(transforms) ? Dtype::float32 : Dtype::uint8;
  for (Transform& transform : out) {
    if (std::holds_alternative<Normalize>(transform) ||
        std::holds_alternative<ToDtype>(transform)) {
      transform = ToDtype{dtype, false};
    }
  }
  return out;
}

void check_state_file(const std::string& file, const std::shared_ptr<const Source>& source,
                      const SavedState& state) {
  if (state.given) {
    throw Error(ErrorCode::wrong_state, {.file = file},
                "its order, labels or packs were given as lists, which a state does not hold; "
                "replay it in Python: loader.replay(state)");
  }
  try {
    const RunIdentity run = Engine(source, state.options).identity();
    if (state.fingerprint != run.fingerprint) {
      throw Error(ErrorCode::wrong_state, {},
                  fmt::format("it was saved with other data than {}, or its seed was changed",
                              printable(source->path())));
    }
    check_state(state, run);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::wrong_state) throw;
    throw Error(error.code(), {.file = file}, error.reason());
  }
}

// Makes the engine that repeats the batch. Errors about the state name the state's file.
void make_engine(std::optional<Engine>& out, const std::shared_ptr<const Source>& source,
                 const LoaderOptions& options, const std::string& state_file) {
  try {
    out.emplace(source, options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::wrong_state) throw;
    throw Error(error.code(), {.file = state_file}, error.reason());
  }
}

// Returns the options of the run, changed to one batch of 8 bits per channel.
LoaderOptions replay_options(const LoaderOptions& saved, const ReplayArguments& arguments) {
  LoaderOptions out = saved;
  out.transforms = as_levels(out.transforms);
  for (Transforms& view : out.views) view = as_levels(view);
  if (arguments.images > 0) {
    out.batch_size = static_cast<std::uint32_t>(arguments.images);
    out.world_size = 1;
    out.uneven = Uneven::exact;
  } else if (arguments.rank >= out.world_size) {
    throw UsageError(
        fmt::format("--rank: the run had {} ranks, the first is 0", with_commas(out.world_size)));
  }
  out.rank = arguments.images > 0 ? 0 : static_cast<std::uint32_t>(arguments.rank);
  out.prefetch = 1;
  out.replay = true;
  return out;
}

// Blocks until the batch after the state is available.
void take_batch(Batch& out, Engine& engine, const SavedState& state,
                const ReplayArguments& arguments) {
  engine.start(state.epoch, state.position);
  Engine::Next next = Engine::Next::again;
  while (next == Engine::Next::again) {
    check_interrupt(arguments.file);
    next = engine.next(out, std::chrono::milliseconds(100));
  }
  if (next == Engine::Next::end) {
    throw UsageError(fmt::format(
        "--state: {} was saved at the end of epoch {}, and no batch of it follows; give a state "
        "that was saved before the batch you want to see",
        printable(arguments.state_file), state.epoch));
  }
}

// Converts `images` images of one size to bytes in three channels. `view` has the element type.
std::vector<std::uint8_t> levels_of(const std::byte* pixels, const BatchView& view, Size size,
                                    std::size_t images) {
  const auto elements = static_cast<std::size_t>(view.channels) *
                        static_cast<std::size_t>(size.width) *
                        static_cast<std::size_t>(size.height) * images;
  std::vector<std::uint8_t> out(elements);
  if (view.has_16_bits) {  // uses the high byte
    for (std::size_t i = 0; i < elements; ++i) {
      out[i] = std::to_integer<std::uint8_t>(pixels[2 * i + 1]);
    }
  } else if (view.dtype == Dtype::uint8) {
    std::memcpy(out.data(), pixels, elements);
  } else {
    const auto* from = reinterpret_cast<const float*>(pixels);
    for (std::size_t i = 0; i < elements; ++i) {
      out[i] = static_cast<std::uint8_t>(std::clamp(from[i] + 0.5f, 0.0f, 255.0f));
    }
  }
  if (view.channels == 3) return out;
  if (view.channels == 4) return over_white(out);
  std::vector<std::uint8_t> rgb;
  rgb.reserve(3 * out.size());
  for (const std::uint8_t level : out) rgb.insert(rgb.end(), 3, level);
  return rgb;
}

// `levels`: per view, or per image of a list; must outlive the tiles.
std::vector<Tile> tiles_of(const Batch& batch, const std::vector<ReplayedSample>& samples,
                           std::vector<std::vector<std::uint8_t>>& levels) {
  std::vector<Tile> tiles;
  for (std::size_t i = 0; i < batch.list.size(); ++i) {
    const BatchImage& image = batch.list[i];
    levels.push_back(levels_of(image.pixels, batch.views.front(), image.size, 1));
    tiles.push_back({levels.back().data(), image.size, words_of(samples[i], 0)});
  }
  if (batch.is_list) return tiles;
  for (const BatchView& view : batch.views) {
    levels.push_back(levels_of(view.pixels, view, view.size, view.crops * samples.size()));
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    std::size_t image = 0;
    for (std::size_t v = 0; v < batch.views.size(); ++v) {
      const BatchView& view = batch.views[v];
      const auto bytes = 3 * static_cast<std::size_t>(view.size.width) *
                         static_cast<std::size_t>(view.size.height);
      for (std::size_t crop = 0; crop < view.crops; ++crop, ++image) {
        tiles.push_back({levels[v].data() + (i * view.crops + crop) * bytes, view.size,
                         words_of(samples[i], image)});
      }
    }
  }
  return tiles;
}

Json report_json(const ReplayArguments& arguments, const SavedState& state, const Engine& engine,
                 const std::vector<ReplayedSample>& samples) {
  Json list = Json::array();
  for (const ReplayedSample& one : samples) list.push_back(replay_json(one));
  Json bad = Json::array();
  for (const BadSample& one : engine.bad_samples()) {
    bad.push_back({{"position", one.position},
                   {"sample", one.sample},
                   {"code", error_name(one.code)},
                   {"message", json_text(one.text)}});
  }
  return {{"file", json_text(arguments.file)},
          {"epoch", state.epoch},
          {"position", state.position},
          {"rank", arguments.images > 0 ? Json() : Json(arguments.rank)},
          {"order", engine.identity().order},
          {"sheet", arguments.target.empty() ? Json() : Json(json_text(arguments.target))},
          {"samples", std::move(list)},
          {"bad", std::move(bad)}};
}

}  // namespace

void print_replay(const ReplayArguments& arguments, const Shell& shell) {
  const std::shared_ptr<const Source> source = open_source(arguments.file, arguments.about);
  const SavedState state = read_state_file(arguments.state_file);
  check_state_file(arguments.state_file, source, state);
  std::optional<Engine> made;
  make_engine(made, source, replay_options(state.options, arguments), arguments.state_file);
  Engine& engine = *made;
  Batch batch;
  take_batch(batch, engine, state, arguments);
  const std::vector<ReplayedSample> samples = replayed(batch, engine.recipe());
  std::vector<std::vector<std::uint8_t>> levels;
  const std::vector<Tile> tiles = tiles_of(batch, samples, levels);
  if (!arguments.target.empty()) write_file(arguments.target, arguments.force, make_sheet(tiles));
  if (shell.json) {
    print_json(shell, report_json(arguments, state, engine, samples));
    return;
  }
  shell.line("epoch", fmt::format("{}, from position {}, {}", state.epoch,
                                  with_commas(state.position), engine.identity().order));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    shell.line(fmt::format("{}", samples[i].position),
               fmt::format("{}: {}", samples[i].key, fmt::join(tiles[i].lines, ", ")));
  }
  for (const BadSample& one : engine.bad_samples()) {
    shell.line(fmt::format("{}", one.position), "bad: " + one.text);
  }
}

}  // namespace tundish::cli
