#include "data/source/formats/joined.h"

#include <doctest/doctest.h>

#include "data/source/memory_source.h"

namespace tundish {

TEST_CASE("joined sources are concatenated") {
  const auto first = std::make_shared<MemorySource>(image_source(3, 4, 1));
  const auto second = std::make_shared<MemorySource>(image_source(2, 4, 2));
  const auto joined = join_sources({first, second});
  REQUIRE(joined->count() == 5);
  for (std::uint64_t i = 0; i < 5; ++i) {
    const MemorySource& from = i < 3 ? *first : *second;
    const std::uint64_t local = i < 3 ? i : i - 3;
    CHECK(joined->key(i) == from.key(local));
    CHECK(joined->info(i).label == from.info(local).label);
    CHECK(joined->where(i).record == local);
    Sample a, b;
    joined->read(a, i);
    from.read(b, local, kAllFields);
    CHECK(a.fields == b.fields);
  }
  CHECK(joined->fingerprint() != join_sources({second, first})->fingerprint());
}

TEST_CASE("sources that differ in classes or fields are not joined, and the error says how") {
  const auto first = std::make_shared<MemorySource>(image_source(3, 4));
  const auto why = [&](const auto& change) {
    const auto second = std::make_shared<MemorySource>(image_source(3, 4));
    change(second->schema_);
    try {
      join_sources({first, second});
      return std::string("joined");
    } catch (const Error& error) {
      return error.reason();
    }
  };
  CHECK(why([](Schema&) {}) == "joined");
  CHECK(why([](Schema& schema) { schema.classes[1] = "cow"; }) ==
        "it cannot be joined to memory: class 1 is 'dog' in the first and 'cow' here (3 and 3 of "
        "them)");
  CHECK(why([](Schema& schema) { schema.classes.pop_back(); }) ==
        "it cannot be joined to memory: class 2 is 'emu' in the first and missing here (3 and 2 "
        "of them)");
  CHECK(why([](Schema& schema) { schema.fields.push_back({"text", FieldType::text}); }) ==
        "it cannot be joined to memory: field 2 is missing in the first and 'text (text)' here (2 "
        "and 3 of them)");
  const auto give_array = [&](ArrayElement element, bool channels_first) {
    return [element, channels_first](Schema& schema) {
      schema.fields[0].array = ArrayType{element, {2, 3}};
      schema.fields[0].channels_first = channels_first;
    };
  };
  give_array(ArrayElement::float32, false)(first->schema_);
  CHECK(why(give_array(ArrayElement::float32, false)) == "joined");
  CHECK(why(give_array(ArrayElement::int32, false)) ==
        "it cannot be joined to memory: field 0 is 'image (image of float32 (2, 3))' in the first "
        "and 'image (image of int32 (2, 3))' here (2 and 2 of them)");
  CHECK(why(give_array(ArrayElement::float32, true)) ==
        "it cannot be joined to memory: field 0 is 'image (image of float32 (2, 3))' in the first "
        "and 'image (image of float32 (2, 3), channels first)' here (2 and 2 of them)");
  CHECK(why([](Schema&) {}).starts_with("it cannot be joined"));  // a file with images of any size
}

}  // namespace tundish
