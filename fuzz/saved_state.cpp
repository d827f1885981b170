// Any bytes as the saved state of a loader: a state that survives a round trip through JSON, or
// an Error with a short reason.
// parser: src/loader/state/saved_state.* src/base/fields_json.*
#include "loader/state/saved_state.h"

#include "augment/transforms_json.h"
#include "json_round_trip.h"

namespace {

using namespace tundish;

std::string text_of(const SavedState& state) {
  LoaderOptions options = state.options;
  if (state.given) options.labels = {0};  // any list: the state records only that labels were given
  const RunIdentity run{state.fingerprint, state.order, options.seed, 0};
  return state_json(run, options, state.epoch, state.position).dump();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto state = read_within_promise(text, ErrorCode::wrong_state, read_state);
  if (!state) return 0;
  const SavedState back = read_state(text_of(*state));
  require(back.fingerprint == state->fingerprint && back.order == state->order);
  require(back.epoch == state->epoch && back.position == state->position);
  require(back.given == state->given);
  require_same(back.options, state->options);
  check_fields_of(back.options, "");
  return 0;
}
