#include "loader/engine/batch_rows.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

using namespace tundish;

namespace {

std::vector<std::size_t> rows_of(const Slot& slot) {
  std::vector<std::size_t> rows;
  for (const Place& place : slot.places) {
    if (place.filled) rows.push_back(place.row);
  }
  return rows;
}

}  // namespace

TEST_CASE("rows are the places while nothing is bad, in whatever order they are taken") {
  Slot slot;
  slot.places.resize(4);
  std::vector<Place>& places = slot.places;
  for (const std::size_t number : {2U, 0U, 3U, 1U}) take_row(slot, number);
  for (std::size_t i = 0; i < places.size(); ++i) CHECK(places[i].row == i);
}

TEST_CASE("a place that is known to be empty takes no row") {
  Slot slot;
  slot.places.resize(5);
  std::vector<Place>& places = slot.places;
  take_row(slot, 0);
  leave_empty(slot, 1);
  take_row(slot, 2);
  take_row(slot, 3);
  leave_empty(slot, 3);  // found bad while decoding: its row is free again
  take_row(slot, 4);
  CHECK(places[2].row == 1);
  CHECK(places[4].row == 2);
}

TEST_CASE("a place that is still open keeps room between its neighbors") {
  Slot slot;
  slot.places.resize(4);
  std::vector<Place>& places = slot.places;
  leave_empty(slot, 0);
  take_row(slot, 3);
  CHECK(places[3].row == 2);
  take_row(slot, 1);
  take_row(slot, 2);
  CHECK(places[1].row == 0);
  CHECK(places[2].row == 1);
}

TEST_CASE("a substitute keeps the row of the bad sample") {
  Slot slot;
  slot.places.resize(2);
  std::vector<Place>& places = slot.places;
  take_row(slot, 1);
  leave_empty(slot, 0);
  take_row(slot, 1);
  CHECK(places[1].row == 1);
}

TEST_CASE("whichever samples become bad, images stay in order and none is overwritten") {
  std::mt19937 random(7);
  for (int trial = 0; trial < 2000; ++trial) {
    CAPTURE(trial);
    Slot slot;
    slot.places.resize(1 + random() % 12);
    std::vector<Place>& places = slot.places;
    slot.views.resize(1);
    slot.views[0].pixels.reserve(places.size(), kPlainMemory);
    // Every place is planned, then filled or found empty; some are found empty before planning.
    // Steps of different places are interleaved at random, as with many threads.
    std::vector<std::size_t> steps;        // two for each place
    std::vector<int> fate(places.size());  // 0: good, 1: bad when decoded, 2: bad when read
    for (std::size_t i = 0; i < places.size(); ++i) {
      fate[i] = static_cast<int>(random() % 4) % 3;
      steps.insert(steps.end(), 2, i);
    }
    std::shuffle(steps.begin(), steps.end(), random);
    std::vector<bool> seen(places.size());
    for (const std::size_t i : steps) {
      if (!seen[i]) {
        seen[i] = true;
        if (fate[i] == 2) {
          leave_empty(slot, i);
        } else {
          take_row(slot, i);
        }
      } else if (fate[i] == 1) {
        leave_empty(slot, i);
      } else if (fate[i] == 0) {
        places[i].filled = true;
        REQUIRE(places[i].row <= i);
        *row_of(slot, 0, i, 1) = static_cast<std::byte>(i);
      }
    }
    std::vector<std::byte> expected;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (fate[i] == 0) expected.push_back(static_cast<std::byte>(i));
    }
    const std::vector<std::size_t> rows = rows_of(slot);
    REQUIRE(std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) == rows.end());
    close_gaps(slot, std::array<std::size_t, 1>{1});
    REQUIRE(std::equal(expected.begin(), expected.end(), slot.views[0].pixels.data()));
    std::vector<std::size_t> final_rows(expected.size());
    std::iota(final_rows.begin(), final_rows.end(), std::size_t{0});
    REQUIRE(rows_of(slot) == final_rows);
  }
}
