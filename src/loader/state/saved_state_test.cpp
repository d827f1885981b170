#include "loader/state/saved_state.h"

#include <doctest/doctest.h>

#include "augment/transform.h"
#include "augment/transforms_json.h"
#include "base/version.h"
#include "data/order/order.h"
#include "data/source/memory_source.h"

namespace tundish {
namespace {

// A source whose fingerprint never changes.
class FixedSource : public MemorySource {
 public:
  std::string fingerprint() const override { return "0123"; }
};

const RunIdentity kRun{
    .fingerprint = "abc", .order = "shuffled", .seed = 5, .positions = 9, .transforms = "[]"};

Json plain_state() { return state_json(kRun, {}, 2, 7); }

std::string refusal_of_text(const std::string& text) {
  try {
    read_state(text);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::wrong_state);
    return error.reason();
  }
  return "nothing";
}

std::string refusal(const Json& state) { return refusal_of_text(state.dump()); }

Json with(const char* name, const Json& value) {
  Json state = plain_state();
  state[name] = value;
  return state;
}

Json with_config(const char* name, const Json& value) {
  return with("run_config", Json{{name, value}});
}

Json without(const char* name) {
  Json state = plain_state();
  state.erase(name);
  return state;
}

std::string print_of(const Transforms& transforms, Order order = {.count = 9, .seed = 5},
                     bool exif = false) {
  LoaderOptions options;
  options.transforms = transforms;
  options.exif_orientation = exif;
  return fingerprint(FixedSource{}, order, options);
}

}  // namespace

TEST_CASE("a state comes back from its JSON, with the options that its next batch depends on") {
  LoaderOptions options;
  options.batch_size = 4;
  options.transforms = {RandomCrop{.size = {8, 9}, .padding = {1, 2, 3, 4}}, Normalize{}};
  options.shuffle = true;
  options.world_size = 3;
  options.on_error = OnError::fail;
  options.uneven = Uneven::drop;
  options.exif_orientation = true;
  options.order.sampling = Sampling::groups;
  options.order.draws = 11;
  options.order.repeats = 2;
  const SavedState state = read_state(state_json(kRun, options, kMaxEpoch, UINT64_MAX).dump());
  CHECK(state.fingerprint == "abc");
  CHECK(state.order == "shuffled");
  CHECK(state.epoch == kMaxEpoch);
  CHECK(state.position == UINT64_MAX);
  CHECK_FALSE(state.given);
  options.seed = 5;
  CHECK(state.options.transforms == options.transforms);
  CHECK(json_of_all_fields(state.options) == json_of_all_fields(options));
}

TEST_CASE("a state says that lists were given, whichever they were") {
  const auto given = [](auto set) {
    LoaderOptions options;
    set(options);
    return read_state(state_json(kRun, options, 0, 0).dump()).given;
  };
  CHECK_FALSE(given([](LoaderOptions&) {}));
  CHECK(given([](LoaderOptions& options) { options.order.samples = {1}; }));
  CHECK(given([](LoaderOptions& options) { options.order.weights = {1}; }));
  CHECK(given([](LoaderOptions& options) { options.order.group_sizes = {1}; }));
  CHECK(given([](LoaderOptions& options) { options.labels = {1}; }));
  CHECK(refusal(with_config("given", 1)) == "its given must be true or false, not 1");
  CHECK_FALSE(read_state(with_config("given", false).dump()).given);
}

TEST_CASE("every part of a state is needed, and of its type") {
  CHECK(refusal(plain_state()) == "nothing");
  for (const char* name : {"format", "order_version", "random_version", "fingerprint", "seed",
                           "epoch", "position", "order", "run_config"}) {
    CHECK(refusal(without(name)) == fmt::format("it has no {}", name));
    CHECK(refusal(with(name, true)) != "nothing");
    CHECK(refusal(with(name, Json())) != "nothing");
  }
  CHECK(refusal(without("version")) == "nothing");
  CHECK(refusal(with("version", 1)) == "nothing");  // only used in the message
  CHECK(refusal(with("epoch", -1)) == "its epoch must be a whole number, not -1");
  CHECK(refusal(with("position", 2.0)) == "its position must be a whole number, not 2.0");
  CHECK(refusal(with("order", 2)) == "its order must be a text, not 2");
  CHECK(refusal(with("epoch", kMaxEpoch + 1)) == "its epoch is larger than any");
  CHECK(refusal(with("run_config", Json::array())) == "its run_config is not an object");
}

TEST_CASE("what is no state is refused as a state, not as an argument") {
  CHECK(refusal_of_text("[]") == "it is not a JSON object");
  CHECK(refusal_of_text("null") == "it is not a JSON object");
  CHECK(refusal_of_text("").starts_with("it is no state of a loader: it is not JSON"));
  CHECK(refusal_of_text(std::string(40, '[')) ==
        "it is no state of a loader: the JSON is nested too deep");
  CHECK(refusal_of_text("{\"format\": 2, \"format\": 2}") ==
        "it is no state of a loader: the JSON has 'format' twice in one object");
  const std::string text = plain_state().dump();
  CHECK(refusal_of_text(text + std::string(kMaxStateBytes - text.size(), ' ')) == "nothing");
  CHECK(refusal_of_text(text + std::string(kMaxStateBytes - text.size() + 1, ' ')) ==
        "it is no state of a loader: it has more than 1,048,576 bytes");
}

TEST_CASE("a state of another version names the version that wrote it") {
  const std::string other = fmt::format(
      "tundish 9 wrote it (format 2), and this is tundish {} (format {})", version(), kStateFormat);
  for (const char* name : {"order_version", "random_version"}) {
    Json state = with(name, 1);
    state["version"] = "9";
    CHECK(refusal(state).starts_with(other));
  }
  Json old{{"format", 1}};
  CHECK(refusal(old).starts_with("tundish 0.1 wrote it (format 1)"));
  old["version"] = std::string(100'000, 'v');
  CHECK(refusal(old).starts_with("tundish " + std::string(kMaxShown, 'v') + "... wrote it"));
  CHECK(refusal(with("format", 3)).find("(format 3)") != std::string::npos);
}

// Threads, prefetched batches and memory belong to the machine that resumes. A state that set them
// could exhaust the machine's memory.
TEST_CASE("a run configuration holds what the next batch depends on, and nothing else") {
  const Json all = json_of_all_fields(LoaderOptions{});
  const auto is_saved = [](const std::string& wanted) {
    bool saved = false;
    const LoaderOptions options;
    LoaderOptions::fields(options, [&](const FieldInfo& field, const auto&) {
      if (field.name == wanted) saved = field.saved;
    });
    return saved;
  };
  int saved = 0;
  for (const auto& [name, value] : all.items()) {
    const std::string reason = refusal(with_config(name.c_str(), value));
    saved += is_saved(name);
    if (is_saved(name)) {
      CHECK(reason == "nothing");
    } else {
      CHECK(reason.starts_with(fmt::format(
          "it is no state of a loader: run_config: there is no argument '{}'; there are: ", name)));
    }
  }
  CHECK(saved == 13);
  CHECK(refusal(with_config("prefetch", 2'147'483'647)) != "nothing");
  CHECK(refusal(with_config("batch_size", 0)) ==
        "it is no state of a loader: run_config: batch_size must be a whole number from 1 to "
        "2147483647, not 0");
}

TEST_CASE("a state goes on where it belongs") {
  const auto refused = [](const SavedState& state) -> std::string {
    try {
      check_state(state, kRun);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::wrong_state);
      return error.reason();
    }
    return "nothing";
  };
  SavedState state = read_state(plain_state().dump());
  CHECK(refused(state) == "nothing");
  state.position = 9;
  CHECK(refused(state) == "nothing");
  state.position = 10;
  CHECK(refused(state) == "its position is 10, and an epoch has 9");
  state.fingerprint = "abd";
  CHECK(refused(state) == "it was saved with other data");
  state.options.seed = 6;
  CHECK(refused(state) == "it was saved with another seed (6, here 5)");
  state.order = "as stored";
  CHECK(refused(state) ==
        "it was saved with another seed (6, here 5), another order (as stored, here shuffled)");
  state.options.seed = 5;
  state.order = "shuffled";
  state.options.exif_orientation = true;
  CHECK(refused(state) == "it was saved with exif_orientation=True, here False");
  state.options.transforms = {RandomHorizontalFlip{}};
  CHECK(refused(state) ==
        "it was saved with other transforms (transforms[0] is RandomHorizontalFlip, here nothing), "
        "exif_orientation=True, here False");
  state.order = std::string(100'000, 'x');
  CHECK(refused(state).size() < 500);
}

// The expected values come from 0.2.0. They may change only together with kStateFormat; otherwise
// states saved earlier would be refused.
TEST_CASE("fingerprints stay what they are, and leave out arguments at their default") {
  const std::string flip = "992d52e605cba0eb6bc077db1568dce4";
  CHECK(print_of({}) == "50cc5af1032f581c1f2440bca2b04347");
  CHECK(print_of({RandomHorizontalFlip{}}) == flip);
  CHECK(print_of(read_transforms(Json::parse(R"([{"name": "RandomHorizontalFlip", "p": 0.5}])"))) ==
        flip);
  CHECK(print_of({Resize{.size = {8, 0}}, CenterCrop{{8, 8}}, Normalize{}}) ==
        "3809268e8a5237e39d07b39a18b411c9");
  CHECK(print_of({RandomHorizontalFlip{.p = 0.4}}) != flip);
  CHECK(print_of({RandomVerticalFlip{}}) != flip);
  CHECK(print_of({}, {.count = 8, .seed = 5}) != print_of({}));
  CHECK(print_of({}, {.count = 9, .seed = 6}) != print_of({}));
  CHECK(print_of({}, {.count = 9, .seed = 5, .shuffle = true}) != print_of({}));
  CHECK(print_of({}, {.count = 9, .seed = 5, .repeats = 2}) != print_of({}));
  CHECK(print_of({}, {.count = 9, .seed = 5}, true) != print_of({}));
}

}  // namespace tundish
