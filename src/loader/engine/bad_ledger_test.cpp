#include "loader/engine/bad_ledger.h"

#include <doctest/doctest.h>

namespace tundish {
namespace {

BadSample bad_sample(std::uint64_t sample) {
  return {.sample = sample,
          .code = ErrorCode::record_checksum,
          .where = {.file = "file", .key = "key" + std::to_string(sample)},
          .reason = "planted",
          .text = "planted",
          .replaced_by = {}};
}

// Fills the slot with samples `first`, `first` + 1, ...; samples listed in `bad` are bad.
void fill(Slot& slot, std::uint64_t epoch, std::uint64_t first, std::size_t size,
          std::initializer_list<std::uint64_t> bad, bool replace) {
  slot.epoch = epoch;
  slot.places.clear();
  slot.places.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    Place& place = slot.places[i];
    place.draw.sample = first + i;
    place.filled = true;
    for (const std::uint64_t sample : bad) {
      if (sample != first + i) continue;
      place.bad.push_back(bad_sample(sample));
      place.filled = replace;
      place.draw.sample = 1'000'000 + sample;
    }
  }
}

}  // namespace

TEST_CASE("a bad sample is recorded with what came instead") {
  BadLedger ledger("file", -1);
  Slot slot;
  fill(slot, 0, 0, 10, {3, 5}, true);
  slot.places[5].bad.push_back(bad_sample(77));  // the first replacement was bad, too
  ledger.record(slot, true);
  fill(slot, 0, 10, 10, {11}, false);
  ledger.record(slot, false);
  CHECK(ledger.replaced() == 2);
  CHECK(ledger.skipped() == 1);
  CHECK(ledger.bad() == 4);
  REQUIRE(ledger.first().size() == 4);
  CHECK(ledger.first()[0].replaced_by == 1'000'003);
  CHECK(ledger.first()[2].sample == 77);
  CHECK(ledger.first()[2].replaced_by == 1'000'005);
  CHECK(ledger.first()[2].delivered == Delivered::substitute);
  CHECK(!ledger.first()[3].replaced_by);
  CHECK(ledger.first()[3].delivered == Delivered::nothing);
}

TEST_CASE("an image of zeros is a bad sample that was delivered") {
  BadLedger ledger("file", 0.2);
  Slot slot;
  fill(slot, 0, 0, 10, {3, 5}, true);
  ledger.record(slot, true);
  CHECK(!ledger.take_error(true));
  BadSample late = bad_sample(7);
  late.position = 7;
  ledger.record_zeros(late, true);
  CHECK(ledger.zeros() == 1);
  CHECK(ledger.replaced() == 2);
  CHECK(ledger.skipped() == 0);
  CHECK(ledger.bad() == 3);
  REQUIRE(ledger.first().size() == 3);
  CHECK(ledger.first()[0].delivered == Delivered::substitute);
  CHECK(ledger.first()[2].delivered == Delivered::zeros);
  CHECK(ledger.first()[2].position == 7);
  CHECK(!ledger.first()[2].replaced_by);
  const auto error = ledger.take_error(true);
  REQUIRE(error);
  CHECK(std::string(error->what()).find("3 of 10 samples are bad") != std::string::npos);
}

TEST_CASE("an image of zeros of another epoch, or of an iteration that was left, is only counted") {
  BadLedger ledger("file", 0);
  Slot slot;
  fill(slot, 1, 0, 10, {}, false);
  ledger.record(slot, true);
  ledger.record_zeros(bad_sample(3), true);  // belongs to epoch 0
  BadSample left = bad_sample(4);
  left.epoch = 1;
  ledger.record_zeros(left, false);
  CHECK(!ledger.take_error(true));
  CHECK(ledger.zeros() == 2);
  CHECK(ledger.bad() == 2);
}

TEST_CASE("data of which every image is zeros are an error") {
  BadLedger ledger("file", -1);
  Slot slot;
  fill(slot, 0, 0, 3, {2}, false);
  ledger.record(slot, true);
  ledger.check_any_good(2, true);
  ledger.record_zeros(bad_sample(0), true);
  ledger.check_any_good(0, true);  // one sample may still be good
  ledger.record_zeros(bad_sample(1), true);
  CHECK_THROWS_AS(ledger.check_any_good(0, true), Error);
}

TEST_CASE("the list is bounded, the counts are not") {
  BadLedger ledger("file", -1);
  Slot slot;
  for (std::uint64_t i = 0; i < BadLedger::kKept + 500; ++i) {
    fill(slot, 0, i, 1, {i}, true);
    ledger.record(slot, i == 0);
    ledger.check_any_good(1, false);
  }
  CHECK(ledger.bad() == BadLedger::kKept + 500);
  CHECK(ledger.first().size() == BadLedger::kKept);
}

TEST_CASE("a budget is exceeded by one sample more than its share") {
  for (const bool replace : {false, true}) {
    BadLedger ledger("file", 0.01);
    Slot slot;
    fill(slot, 0, 0, 400, {7, 8, 9, 10}, replace);
    ledger.record(slot, true);
    CHECK(!ledger.take_error(false));
    fill(slot, 0, 400, 1, {400}, replace);
    ledger.record(slot, false);
    const auto error = ledger.take_error(false);
    REQUIRE(error);
    CHECK(std::string(error->what())
              .find("5 of 401 samples are bad (1.25 %) and max_bad=0.01 allows 1.00 %; record 7 "
                    "(key7): TND-203, record 8") != std::string::npos);
    CHECK(!ledger.take_error(false));  // reported once; the count restarts
  }
}

TEST_CASE("after few draws max_bad is checked at the end of the epoch only") {
  BadLedger ledger("file", 0.2);
  Slot slot;
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    fill(slot, epoch, 0, 10, {0, 1}, false);
    ledger.record(slot, true);
    CHECK(!ledger.take_error(true));  // exactly the allowed share
    fill(slot, epoch, 10, 1, {10}, false);
    ledger.record(slot, false);
    CHECK(!ledger.take_error(false));  // over the limit, but too early to report
    CHECK(ledger.take_error(true));
  }
  fill(slot, 2, 0, 10, {0, 1}, false);
  ledger.record(slot, true);
  CHECK(!ledger.take_error(true));
}

TEST_CASE("max_bad is not checked for few draws of an epoch entered in the middle") {
  BadLedger ledger("file", 0.2), all_bad("file", -1), all_bad_from_0("file", -1);
  Slot slot;
  fill(slot, 0, 0, 2, {0, 1}, false);
  ledger.record(slot, false);
  CHECK(!ledger.take_error(true));
  fill(slot, 0, 2, 300, {}, false);
  ledger.record(slot, false);
  CHECK(!ledger.take_error(true));
  all_bad.record(slot, false);
  fill(slot, 1, 0, 2, {0, 1}, false);
  all_bad.record(slot, false);
  all_bad.check_any_good(0, true);
  all_bad_from_0.record(slot, true);
  CHECK_THROWS_AS(all_bad_from_0.check_any_good(0, true), Error);
}

TEST_CASE("max_bad of 0 allows no bad sample, max_bad of 1 allows all") {
  Slot slot;
  fill(slot, 0, 0, 1000, {999}, false);
  BadLedger strict("file", 0), any("file", 1);
  strict.record(slot, true);
  any.record(slot, true);
  CHECK(strict.take_error(false));
  CHECK(!any.take_error(true));
}

TEST_CASE("a bad sample is named by the file that holds it") {
  BadLedger ledger("a + b", 0);
  Slot slot;
  fill(slot, 0, 0, 1, {0}, false);
  slot.places[0].bad[0].where = {.file = "b", .record = 7, .key = "k"};
  ledger.record(slot, true);
  const auto error = ledger.take_error(true);
  REQUIRE(error);
  CHECK(std::string(error->what()).find("; b: record 7 (k): TND-203.") != std::string::npos);
}

}  // namespace tundish
