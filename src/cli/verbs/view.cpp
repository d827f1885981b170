// tundish view: a contact sheet of what the network will see.
#include <fmt/format.h>

#include "augment/plan_json.h"
#include "augment/transforms_json.h"
#include "cli/evenly_spaced.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/samples/sheet.h"
#include "cli/source_words.h"
#include "cli/verbs.h"
#include "cli/view/html_sheet.h"
#include "cli/view/recipe_file.h"
#include "cli/view/step_words.h"
#include "pack/output_file.h"

namespace tundish::cli {
namespace {

constexpr VerbHelp kHelp = {
    .verb = "view",
    .usage = "DATA --transforms RECIPE.json -o SHEET.html [options]",
    .examples = R"(tundish view train.tnd --transforms recipe.json -o sheet.html
tundish view train.tnd --transforms recipe.json -o sheet.png --samples 4 --draws 6
tundish view train.tnd --transforms views.json -o second.html --view 1)",
    .text = R"(Draws a contact sheet: a row per sample, first the original, then what a loader with
this seed gives in one epoch after the other. Write the recipe in Python:
open("recipe.json", "w").write(T.to_json(transforms)); a saved state of a loader will
do too. Of T.to_json(views), and of a state of a loader with views, --view N shows
one. The pictures are shown before ToDtype and Normalize, which only change the
numbers; what comes after these, such as RandomErasing, is shown. MixUp and CutMix,
which work on batches, are not: tundish replay shows them. An HTML sheet is one file
with the pictures inside.)",
    .json = R"({file, transforms, view, seed, epoch, sheet, samples, bad}; samples is an array of
{sample, key, label, draws}, draws of {epoch, image, size, steps, erasures}; bad of
{code, message, title, file, record, key, offset, reason})"};

constexpr std::uint64_t kNotGiven = UINT64_MAX;
constexpr std::uint64_t kMaxDraws = 10'000;  // of a sheet: all are in memory at once

struct ViewArguments {
  SourceWords about;
  std::string file, recipe, target;
  std::uint64_t samples = 8, draws = 8, seed = kNotGiven, epoch = 0, view = 0;
  bool exif_orientation = false, force = false;
};

// False when help was asked for.
bool parse(ViewArguments& out, const Words& words, Shell& shell) {
  Arguments arguments(kHelp, shell);
  arguments.word(out.file, "DATA", "a pack, or another source");
  add_source_words(arguments, out.about);
  arguments.option(out.recipe, "--transforms", "FILE", "T.to_json(...), or a saved state", true);
  arguments.option(out.target, "-o,--output", "FILE", "the sheet: .html or .png", true);
  arguments.option(out.samples, "--samples", "N", "evenly spaced samples (8)", 1, 1000);
  arguments.option(out.draws, "--draws", "N", "draws of each: of so many epochs (8)", 1, 1000);
  arguments.option(out.seed, "--seed", "N", "seed of the loader (0, or that of the state)", 0,
                   kNotGiven - 1);
  arguments.option(out.epoch, "--epoch", "N", "the first epoch (0)", 0, UINT32_MAX);
  arguments.option(out.view, "--view", "N", "of a recipe with several views, which one (0)", 0,
                   UINT32_MAX);
  arguments.flag(out.exif_orientation, "--exif-orientation", "turn images as their EXIF says");
  arguments.flag(out.force, "-f,--force", "replace the sheet if it exists");
  return arguments.parse(words);
}

bool is_html(const std::string& target) {
  if (target.ends_with(".html") || target.ends_with(".htm")) return true;
  if (target.ends_with(".png")) return false;
  throw UsageError(fmt::format("-o: {} ends neither in .html nor in .png", printable(target)));
}

void check_before_work(const ViewArguments& arguments) {
  (void)is_html(arguments.target);
  if (arguments.samples * arguments.draws > kMaxDraws) {
    throw UsageError(fmt::format("--samples {} times --draws {} is more than the {} of a sheet",
                                 arguments.samples, arguments.draws, with_commas(kMaxDraws)));
  }
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
      for (std::string& word : words_of_steps(draw.view)) lines.push_back(std::move(word));
      add(draw.picture, std::move(lines));
    }
  }
  return make_sheet(tiles, draws + 1);
}

void write_file(const std::string& target, bool force, Bytes bytes) {
  OutputFile file(target, force);
  file.write_at(bytes, 0);
  file.commit(bytes.size());
}

void write_sheet(const Drawn& drawn, const DrawOptions& options, const ViewArguments& arguments) {
  if (!is_html(arguments.target)) {
    return write_file(arguments.target, arguments.force, png_sheet(drawn.samples, options.draws));
  }
  const SheetText text{
      .title = arguments.file,
      .about = fmt::format(
          "Seed {}, view {}, epochs {} to {}. First the original, then a draw per epoch.",
          options.seed, options.view, options.epoch, options.epoch + options.draws - 1),
      .recipe = transforms_json(options.transforms).dump(1)};
  const std::string page = html_sheet(drawn.samples, text);
  write_file(arguments.target, arguments.force, std::as_bytes(std::span(page)));
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
  return {{"file", json_text(arguments.file)},
          {"transforms", Json(transforms_json(options.transforms))},
          {"view", options.view},
          {"seed", options.seed},
          {"epoch", options.epoch},
          {"sheet", drawn.samples.empty() ? Json() : Json(json_text(arguments.target))},
          {"samples", std::move(samples)},
          {"bad", std::move(bad)}};
}

}  // namespace

int run_view(const Words& words, Shell& shell) {
  ViewArguments arguments;
  if (!parse(arguments, words, shell)) return kOk;
  check_before_work(arguments);
  const RecipeFile recipe = read_recipe_file(arguments.recipe);
  const DrawOptions options{
      .transforms = view_of(recipe, arguments),
      .seed = arguments.seed == kNotGiven ? recipe.seed.value_or(0) : arguments.seed,
      .epoch = arguments.epoch,
      .view = static_cast<std::uint32_t>(arguments.view),
      .draws = arguments.draws,
      .exif_orientation = arguments.exif_orientation || recipe.exif_orientation,
      .mode = recipe.mode};
  const std::shared_ptr<const Source> source = open_source(arguments.file, arguments.about);
  const Drawn drawn = draw_all(*source, options, arguments.samples, shell);
  if (!drawn.samples.empty()) write_sheet(drawn, options, arguments);
  if (shell.json) {
    print_json(shell, report_json(drawn, options, arguments));
  } else if (!drawn.samples.empty()) {
    shell.line("wrote", fmt::format("{}: {} samples, {} draws of each", printable(arguments.target),
                                    drawn.samples.size(), options.draws));
  }
  for (const Error& error : drawn.bad) shell.warn(error.what());
  return drawn.samples.empty() ? kDamaged : kOk;
}

}  // namespace tundish::cli
