// tundish view: a contact sheet of what the network will see, or of a batch that it has seen.
#include <fmt/format.h>

#include "augment/plan_json.h"
#include "augment/transforms_json.h"
#include "cli/evenly_spaced.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/samples/sheet.h"
#include "cli/source_arguments.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "cli/view/describe_step.h"
#include "cli/view/html_sheet.h"
#include "cli/view/recipe_file.h"
#include "cli/view/replay.h"
#include "data/pack/output_file.h"

namespace tundish::cli {
namespace {

constexpr VerbHelp kHelp = {
    .verb = "view",
    .usage = "DATA (--transforms RECIPE | --state STATE) [-o SHEET] [options]",
    .examples = R"(tundish view train.tnd --transforms recipe.json -o sheet.html
tundish view train.tnd --transforms recipe.json -o sheet.png --samples 4 --draws 6
tundish view train.tnd --transforms views.json -o second.html --view 1
tundish view train.tnd --state state.json -o sheet.png
tundish view train.tnd --state state.json --rank 3 --json)",
    .text = R"(Draws a contact sheet of what the network will see, or of a batch that it saw.

--transforms draws a row per sample: first the original, then the images of a loader
with this seed, epoch by epoch. Write the recipe in Python:
open("recipe.json", "w").write(T.to_json(transforms)). A saved state of a loader also
works. If the recipe or the loader has several views, --view N chooses one. The pictures
show the images before ToDtype and Normalize, which only change the numbers, but with
later transforms such as RandomErasing. MixUp and CutMix work on batches, so only
--state shows them. An HTML sheet is one file that includes the pictures.

--state repeats the next batch of a training run from the state of its loader:
json.dump(loader.state_dict(), open("state.json", "w")). It prints the sample, crop and
flip of each image; -o draws a sheet of the images as they are before Normalize. A state
does not contain lists (Subset, Weighted, Mixture, labels, several packs). In these
cases, use loader.replay(state) in Python.)",
    .json = R"({file, transforms, view, seed, epoch, sheet, samples, bad}; samples is an array of
{sample, key, label, draws}, draws of {epoch, image, size, steps, erasures}; bad of
{code, message, title, file, record, key, offset, reason}

with --state --json:
{file, epoch, position, rank, order, sheet, samples, bad}; samples is an array of
{position, sample, repeat, key, label, replaces, image, size, steps} (or views, each
with image, size, steps, if a sample has several images; a mixed image also has mix),
bad of {position, sample, code, message}; rank is null with --batch-size)",
    .exits =
        "0 done, 1 failed, 2 wrong use, 3 data damaged or refused\n"
        "(with --transforms: no sample can be drawn), 130 interrupted"};

constexpr std::uint64_t kNotGiven = UINT64_MAX;
constexpr std::uint64_t kMaxDraws = 10'000;  // per sheet: all draws are in memory at once

struct ViewArguments {
  std::string recipe;
  std::uint64_t samples = 8, draws = 8, seed = kNotGiven, epoch = 0, view = 0;
  bool exif_orientation = false;
  ReplayArguments replay;  // the dataset, the sheet, and options of --state

  const std::string& file() const { return replay.file; }
  const std::string& target() const { return replay.target; }
};

bool is_html(const std::string& target) {
  if (target.ends_with(".html") || target.ends_with(".htm")) return true;
  if (target.ends_with(".png")) return false;
  throw UsageError(fmt::format("-o: {} ends neither in .html nor in .png", printable(target)));
}

void check_before_work(const ViewArguments& arguments) {
  const bool replays = !arguments.replay.state_file.empty();
  if (arguments.recipe.empty() != replays) {
    throw UsageError("give either --transforms RECIPE.json or --state STATE.json");
  }
  const std::string& target = arguments.target();
  if (replays) {
    if (target.empty() || !is_html(target)) return;
    throw UsageError(fmt::format("-o: the sheet of --state is a .png, not {}", printable(target)));
  }
  if (target.empty()) throw UsageError("--output is required: -o SHEET.html or -o SHEET.png");
  (void)is_html(target);
  if (arguments.samples * arguments.draws > kMaxDraws) {
    throw UsageError(fmt::format("--samples {} times --draws {} is more than the {} of a sheet",
                                 arguments.samples, arguments.draws, with_commas(kMaxDraws)));
  }
}

// Returns false if help was requested.
bool parse(ViewArguments& out, const Args& args, Shell& shell) {
  ReplayArguments& replay = out.replay;
  Arguments arguments(kHelp, shell);
  arguments.positional(replay.file, "DATA", "a pack, or another source");
  add_source_arguments(arguments, replay.about);
  arguments.option(out.recipe, "--transforms", "FILE", "T.to_json(...), or a saved state");
  arguments.option(replay.state_file, "--state", "FILE", "state_dict() of the loader, as JSON");
  arguments.option(replay.target, "-o,--output", "FILE",
                   "the sheet: .html or .png; with --state a .png");
  arguments.flag(replay.force, "-f,--force", "replace the sheet if it exists");
  arguments.section("--transforms");
  arguments.option(out.samples, "--samples", "N", "evenly spaced samples (8)", 1, 1000);
  arguments.option(out.draws, "--draws", "N", "draws per sample, one per epoch (8)", 1, 1000);
  arguments.option(out.seed, "--seed", "N", "seed of the loader (0, or that of the state)", 0,
                   kNotGiven - 1);
  arguments.option(out.epoch, "--epoch", "N", "the first epoch (0)", 0, UINT32_MAX);
  arguments.option(out.view, "--view", "N", "view to show of a recipe with several views (0)", 0,
                   UINT32_MAX);
  arguments.flag(out.exif_orientation, "--exif-orientation",
                 "rotate images by their EXIF orientation");
  arguments.section("--state");
  arguments.option(replay.rank, "--rank", "N", "rank whose batch to show (0)", 0, UINT32_MAX);
  arguments.option(replay.images, "--batch-size", "N",
                   "show the next N images of all ranks instead", 1, 4096);
  if (!arguments.parse(args)) return false;
  check_before_work(out);
  return true;
}

const Transforms& view_of(const RecipeFile& recipe, const ViewArguments& arguments) {
  if (arguments.view < recipe.views.size()) return recipe.views[arguments.view];
  throw UsageError(fmt::format(
      "--view {}: {} has {}, and the first is 0", arguments.view, printable(arguments.recipe),
      recipe.views.size() == 1 ? std::string("one view")
                               : fmt::format("{} views", recipe.views.size())));
}

struct Drawn {
  std::vector<DrawnSample> samples;
  std::vector<Error> bad;
};

Drawn draw_all(const Source& source, const DrawOptions& options, std::uint64_t wanted,
               const Shell& shell) {
  if (source.schema().find(FieldType::image) < 0) {
    throw Error(ErrorCode::argument, {.file = source.path()}, "its samples have no image");
  }
  Drawn out;
  const std::uint64_t n = std::min(wanted, source.count());
  Progress progress(shell, "drawing", "img");
  for (std::uint64_t k = 0; k < n; ++k) {
    check_interrupt(source.path());
    try {
      out.samples.push_back(draw_sample(source, evenly_spaced(k, n, source.count()), options));
    } catch (const SampleError& error) {
      out.bad.push_back(error);
    }
    progress.show({.items = k + 1, .items_total = n});
  }
  return out;
}

std::vector<std::byte> png_sheet(const std::vector<DrawnSample>& samples, std::uint64_t draws) {
  std::vector<Tile> tiles;
  for (const DrawnSample& one : samples) {
    const auto add = [&](const Picture& picture, std::vector<std::string> lines) {
      tiles.push_back({picture.rgb.data(), picture.size, std::move(lines)});
    };
    add(one.original, {fmt::format("sample {} label {}", one.sample, one.label),
                       fmt::format("{}x{}", one.stored.width, one.stored.height)});
    for (const DrawnPicture& draw : one.draws) {
      std::vector<std::string> lines = {fmt::format("epoch {}", draw.epoch)};
      for (std::string& word : describe_steps(draw.view)) lines.push_back(std::move(word));
      add(draw.picture, std::move(lines));
    }
  }
  return make_sheet(tiles, draws + 1);
}

void write_sheet(const Drawn& drawn, const DrawOptions& options, const ViewArguments& arguments) {
  const std::string& target = arguments.target();
  const bool replace = arguments.replay.force;
  if (!is_html(target)) {
    return write_file(target, replace, png_sheet(drawn.samples, options.draws));
  }
  const SheetText text{
      .title = arguments.file(),
      .about = fmt::format(
          "Seed {}, view {}, epochs {} to {}. First the original, then a draw per epoch.",
          options.seed, options.view, options.epoch, options.epoch + options.draws - 1),
      .recipe = transforms_json(options.transforms).dump(1)};
  const std::string page = html_sheet(drawn.samples, text);
  write_file(target, replace, std::as_bytes(std::span(page)));
}

Json report_json(const Drawn& drawn, const DrawOptions& options, const ViewArguments& arguments) {
  Json samples = Json::array();
  for (const DrawnSample& one : drawn.samples) {
    Json sample = {{"sample", one.sample}};
    put_key(sample, one.key);
    sample["label"] = one.label < 0 ? Json() : Json(one.label);
    sample["draws"] = Json::array();
    for (const DrawnPicture& draw : one.draws) {
      Json body = {{"epoch", draw.epoch}};
      body.update(Json(plan_json(draw.view)));
      sample["draws"].push_back(std::move(body));
    }
    samples.push_back(std::move(sample));
  }
  Json bad = Json::array();
  for (const Error& error : drawn.bad) bad.push_back(error_json(error));
  return {{"file", json_text(arguments.file())},
          {"transforms", Json(transforms_json(options.transforms))},
          {"view", options.view},
          {"seed", options.seed},
          {"epoch", options.epoch},
          {"sheet", drawn.samples.empty() ? Json() : Json(json_text(arguments.target()))},
          {"samples", std::move(samples)},
          {"bad", std::move(bad)}};
}

int draw_sheet(const ViewArguments& arguments, const Shell& shell) {
  const RecipeFile recipe = read_recipe_file(arguments.recipe);
  const DrawOptions options{
      .transforms = view_of(recipe, arguments),
      .seed = arguments.seed == kNotGiven ? recipe.seed.value_or(0) : arguments.seed,
      .epoch = arguments.epoch,
      .view = static_cast<std::uint32_t>(arguments.view),
      .draws = arguments.draws,
      .exif_orientation = arguments.exif_orientation || recipe.exif_orientation,
      .mode = recipe.mode};
  const std::shared_ptr<const Source> source =
      open_source(arguments.file(), arguments.replay.about);
  const Drawn drawn = draw_all(*source, options, arguments.samples, shell);
  if (!drawn.samples.empty()) write_sheet(drawn, options, arguments);
  if (shell.json) {
    print_json(shell, report_json(drawn, options, arguments));
  } else if (!drawn.samples.empty()) {
    shell.line("wrote", fmt::format("{}: {}, {} of each", printable(arguments.target()),
                                    counted(drawn.samples.size(), "sample"),
                                    counted(options.draws, "draw")));
  }
  for (const Error& error : drawn.bad) shell.warn(error.what());
  return drawn.samples.empty() ? kDamaged : kOk;
}

}  // namespace

int run_view(const Args& args, Shell& shell) {
  ViewArguments arguments;
  if (!parse(arguments, args, shell)) return kOk;
  if (arguments.recipe.empty()) {
    print_replay(arguments.replay, shell);
    return kOk;
  }
  return draw_sheet(arguments, shell);
}

}  // namespace tundish::cli
