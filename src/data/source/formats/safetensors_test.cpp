#include "data/source/formats/safetensors.h"

#include <doctest/doctest.h>

#include "base/temporary_folder.h"

using namespace tundish;

namespace {

std::string file_of(const std::string& json, const std::string& data) {
  std::string out(8, '\0');
  store<std::uint64_t>(reinterpret_cast<std::byte*>(out.data()), json.size());
  return out + json + data;
}

std::string refusal(const TemporaryFolder& folder, const std::string& bytes) {
  try {
    open_safetensors(folder.write("bad.safetensors", bytes), {});
  } catch (const Error& error) {
    return error_name(error.code()) + " " + error.reason();
  }
  return "opened";
}

}  // namespace

TEST_CASE(".safetensors: tensors of equal length are fields") {
  const TemporaryFolder folder;
  const std::string json =
      R"({"__metadata__":{"made":"by hand"},"labels":{"dtype":"I16","shape":[2],"data_offsets":[12,16]},)"
      R"("images":{"dtype":"U8","shape":[2,2,3],"data_offsets":[0,12]}})";
  const auto source = open_safetensors(
      folder.write("a", file_of(json, "abcdefghijkl" + std::string("\x07\0\x08\0", 4))), {});
  REQUIRE(source->count() == 2);
  CHECK(source->info(1).label == 8);
  Sample sample;
  source->read(sample, 1);
  CHECK(sample.fields[0].front() == std::byte{'g'});
}

TEST_CASE(".safetensors: what lies is refused") {
  const TemporaryFolder folder;
  const auto one = [&](const std::string& dtype, const std::string& shape, const std::string& at,
                       const std::string& more = "") {
    return refusal(folder, file_of(R"({"x":{"dtype":")" + dtype + R"(","shape":)" + shape +
                                       R"(,"data_offsets":)" + at + "}" + more + "}",
                                   "abcd"));
  };
  CHECK(one("U8", "[4]", "[0,4]") == "opened");
  CHECK(one("U8", "[4]", "[1,4]").find("begins at byte 1, not at 0") != std::string::npos);
  CHECK(one("U8", "[3]", "[0,3]").find("the tensors end at byte 3") != std::string::npos);
  CHECK(one("U8", "[5]", "[0,4]").find("which is not uint8 (5,)") != std::string::npos);
  CHECK(one("U8", "[-1]", "[0,4]").find("a negative number") != std::string::npos);
  CHECK(one("U8", "[4]", "[0]").find("fewer than two") != std::string::npos);
  CHECK(one("U8", "[4]", "[0,4,4]").find("more than two") != std::string::npos);
  CHECK(one("U8", "[[4]]", "[0,4]").find("a list in a wrong place") != std::string::npos);
  CHECK(one("U8", "{}", "[0,4]").find("an object in a wrong place") != std::string::npos);
  CHECK(one("U8", "4", "[0,4]").find("a number in a wrong place") != std::string::npos);
  CHECK(one("F8_E4M3", "[4]", "[0,4]").starts_with("TND-302"));  // omitted: no tensor remains
  CHECK(one("U8", "[18446744073709551615,2]", "[0,4]").starts_with("TND-314"));
  const std::string again = R"(,"x":{"dtype":"U8","shape":[0],"data_offsets":[4,4]})";
  CHECK(one("U8", "[4]", "[0,4]", again).find("the key 'x' twice") != std::string::npos);
  const std::string overlap = R"(,"y":{"dtype":"U8","shape":[2],"data_offsets":[2,4]})";
  CHECK(one("U8", "[4]", "[0,4]", overlap).find("'y' begins at byte 2, not at 4") !=
        std::string::npos);
  CHECK(refusal(folder, file_of(R"({"x":)", "abcd")).find("not valid JSON") != std::string::npos);
  CHECK(refusal(folder, file_of(std::string(5000, '['), "")).starts_with("TND-314"));
  CHECK(refusal(folder, "1234567").find("ends inside its head") != std::string::npos);
  CHECK(refusal(folder, std::string(8, '\xff') + "{}").find("leaves the file") !=
        std::string::npos);
}
