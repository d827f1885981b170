#include "data/source/label_vector.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace tundish {

TEST_CASE("a vector comes back from its .npy file, which is as NumPy writes it") {
  const std::vector<float> vector{1, 0.25f, -3e-7f};
  const std::vector<std::byte> npy = label_vector_npy(vector);
  CHECK(npy.size() == label_vector_bytes(3));
  CHECK(npy.size() == 128 + 12);
  CHECK(npy[8] == std::byte{118});
  std::vector<float> back(3);
  CHECK_FALSE(read_label_vector(back, npy));
  CHECK(back == vector);
}

TEST_CASE("what is no vector of so many finite numbers is a fault") {
  std::vector<float> back(3);
  const auto fault = [&](const std::vector<std::byte>& npy) {
    const auto found = read_label_vector(back, npy);
    return found ? found->code : ErrorCode::none;
  };
  std::vector<std::byte> npy = label_vector_npy(std::vector<float>{1, 2, 3});
  CHECK(fault(npy) == ErrorCode::none);
  CHECK(fault({}) == ErrorCode::label_unreadable);
  CHECK(fault(label_vector_npy(std::vector<float>{1, 2})) == ErrorCode::label_unreadable);
  CHECK(fault(label_vector_npy(std::vector<float>{1, 2, 3, 4})) == ErrorCode::label_unreadable);
  const float infinite = std::numeric_limits<float>::infinity();
  CHECK(fault(label_vector_npy(std::vector<float>{1, infinite, 3})) == ErrorCode::label_unreadable);
  CHECK(fault(label_vector_npy(std::vector<float>{1, 2, std::nanf("")})) ==
        ErrorCode::label_unreadable);
  for (std::size_t i = 0; i < npy.size() - 12; ++i) {
    std::vector<std::byte> damaged = npy;
    damaged[i] ^= std::byte{1};
    CHECK(fault(damaged) == ErrorCode::label_unreadable);
    damaged = npy;
    damaged.resize(i);
    CHECK(fault(damaged) == ErrorCode::label_unreadable);
  }
}

TEST_CASE("labels are vectors when an array field is called label, and classes have names") {
  Schema schema{.fields = {{"image", FieldType::image}, {"label", FieldType::array}},
                .classes = {"a", "b"},
                .source = "csv"};
  CHECK(label_vector_field(schema) == 1);
  schema.classes.clear();
  CHECK(label_vector_field(schema) == -1);
  schema.classes = {"a"};
  schema.fields[1].type = FieldType::label;
  CHECK(label_vector_field(schema) == -1);
}

}  // namespace tundish
