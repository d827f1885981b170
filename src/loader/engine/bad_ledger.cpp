#include "loader/engine/bad_ledger.h"

#include <fmt/format.h>

namespace tundish {
namespace {

constexpr std::uint64_t kHopeless = 100;     // number of bad samples without a good one
constexpr std::uint64_t kBudgetDraws = 300;  // a share of fewer draws means little
constexpr int kNamed = 3;                    // number of bad samples in a message

// Names the file of the sample unless the message already begins with this file.
std::string brief(const BadSample& one, const std::string& file) {
  return fmt::format(
      "{}record {}{}: {}", one.where.file == file ? "" : printable(one.where.file) + ": ",
      with_commas(one.where.record.value_or(one.sample)),
      one.where.key.empty() ? "" : " (" + printable(one.where.key) + ")", error_name(one.code));
}

}  // namespace

void BadLedger::record(const Slot& slot, bool first) {
  if (first || budget_.epoch != slot.epoch) budget_ = {.epoch = slot.epoch, .whole = first};
  budget_.drawn += slot.own();
  for (const Place& place : slot.own_places()) {
    if (place.bad.empty()) continue;
    replaced_ += place.filled;
    skipped_ += !place.filled && !place.error;
    judge(place.bad.front());
    for (BadSample one : place.bad) {
      if (place.filled) {
        one.delivered = Delivered::substitute;
        one.replaced_by = place.draw.sample;
      }
      keep(one);
    }
  }
}

void BadLedger::record_zeros(BadSample sample, bool judged) {
  ++zeros_;
  if (judged && sample.epoch == budget_.epoch) judge(sample);
  sample.delivered = Delivered::zeros;
  keep(sample);
}

void BadLedger::judge(const BadSample& sample) {
  ++budget_.bad;
  if (budget_.named++ < kNamed) {
    budget_.examples += (budget_.examples.empty() ? "" : ", ") + brief(sample, file_);
  }
}

void BadLedger::keep(const BadSample& sample) {
  ++bad_;
  if (first_.size() < kKept) first_.push_back(sample);
}

// A run of batches without images trains nothing but looks like training. It is an error if the
// first kHopeless samples, or all samples of an epoch, are bad. Bad samples after the first good
// one are only counted. An image of zeros counts as bad.
void BadLedger::check_any_good(std::uint64_t delivered, bool last) {
  delivered_ += delivered;
  const bool epoch_over = last && budget_.whole;
  const std::uint64_t tried = skipped_ + zeros_;
  if (delivered_ > zeros_ || tried == 0 || (tried < kHopeless && !epoch_over)) return;
  throw Error(ErrorCode::too_many_bad, {.file = file_},
              fmt::format("{} samples were tried and not one could be loaded; the first: {}",
                          with_commas(tried), first_.empty() ? "?" : first_.front().text));
}

std::optional<Error> BadLedger::take_error(bool last) {
  const bool epoch_over = last && budget_.whole;
  if (max_bad_ < 0 || (budget_.drawn < kBudgetDraws && !epoch_over)) return {};
  if (static_cast<double>(budget_.bad) <= max_bad_ * static_cast<double>(budget_.drawn)) return {};
  const Budget spent = std::exchange(budget_, {.epoch = budget_.epoch});
  return Error(
      ErrorCode::too_many_bad, {.file = file_},
      fmt::format("{} of {} samples are bad ({:.2f} %) and max_bad={} allows {:.2f} %; {}{}. "
                  "Loader(..., max_bad=None) takes any number",
                  with_commas(spent.bad), with_commas(spent.drawn),
                  100 * static_cast<double>(spent.bad) / static_cast<double>(spent.drawn), max_bad_,
                  100 * max_bad_, spent.examples, spent.named > kNamed ? ", ..." : ""));
}

}  // namespace tundish
