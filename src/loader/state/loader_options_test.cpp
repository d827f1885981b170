#include "loader/state/loader_options.h"

#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "augment/transform.h"
#include "augment/transforms_json.h"
#include "base/testing.h"

namespace tundish {
namespace {

std::string refusal(const std::string& json) {
  try {
    check_fields_of(read_loader_options(json), "");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::argument);
    return error.reason();
  }
  return "nothing";
}

// Draws a value in the range of its field that nearly always differs from the default.
template <class T>
void draw(T& value, const FieldInfo& field, Random& random) {
  if constexpr (IsOptional<T>::value) {
    value.reset();
    if (random.below(4) > 0) draw(value.emplace(), field, random);
  } else if constexpr (Worded<T>) {
    value = static_cast<T>(random.below(words(T{}).size()));
  } else if constexpr (std::is_same_v<T, bool>) {
    value = random.below(2) == 0;
  } else if constexpr (std::is_same_v<T, Padding>) {
    for (int* side : {&value.left, &value.top, &value.right, &value.bottom}) {
      draw(*side, field, random);
    }
  } else if constexpr (std::is_base_of_v<Size, T>) {
    draw(value.width, field, random);
    draw(value.height, field, random);
    if (std::is_base_of_v<SideOrSize, T> && random.below(2) == 0) value.height = 0;
    if constexpr (IsScheduled<T>::value) {
      for (std::uint64_t epoch = 1; random.below(3) == 0; epoch += 1 + random.below(99)) {
        value.later.emplace_back();
        value.later.back().first = epoch;
        draw(value.later.back().second, field, random);
      }
    }
  } else if constexpr (ArrayOf<T>::kSize > 0 || std::is_same_v<T, PerChannel>) {
    for (auto& one : value) draw(one, field, random);
  } else if constexpr (std::is_floating_point_v<T>) {
    const double low = std::max(field.low, -1e9), high = std::min(field.high, 1e9);
    value = random.below(8) == 0 ? (random.below(2) == 0 ? low : high) : random.uniform(low, high);
  } else if constexpr (std::is_integral_v<T>) {
    const double low = std::max(field.low, static_cast<double>(std::numeric_limits<T>::min()));
    const double high = std::min(field.high, static_cast<double>(std::numeric_limits<T>::max()));
    const double span = std::min(high - low, 0x1p62);
    value = static_cast<T>(low + std::floor(random.uniform() * span));
    if (random.below(8) == 0) value = static_cast<T>(low);
    if (random.below(8) == 0) value = static_cast<T>(low + span);
  }
}

Transform random_transform(Random& random) {
  Transform out;
  const auto make = [&]<std::size_t... I>(std::index_sequence<I...>) {
    const std::size_t wanted = random.below(sizeof...(I));
    ((I == wanted ? static_cast<void>(out.emplace<I>()) : static_cast<void>(0)), ...);
  };
  make(std::make_index_sequence<std::variant_size_v<AnyTransform>>{});
  std::visit(
      [&]<class Op>(Op& op) {
        Op::fields(op, [&](const FieldInfo& field, auto& value) {
          if (random.below(3) > 0) draw(value, field, random);
        });
      },
      out);
  return out;
}

LoaderOptions random_options(Random& random) {
  LoaderOptions out;
  LoaderOptions::fields(out, [&](const FieldInfo& field, auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Transforms>) {
      std::vector<Transform> list;
      for (int i = between(random, 0, 6); i > 0; --i) list.push_back(random_transform(random));
      value = list;
    } else if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Views>) {
      for (int i = between(random, 0, 2); i > 0; --i) {
        value.push_back({random_transform(random), random_transform(random)});
      }
    } else if (random.below(3) > 0) {
      draw(value, field, random);
    }
  });
  return out;
}

}  // namespace

TEST_CASE("without options everything has its default, and is not written") {
  const LoaderOptions options = read_loader_options("{}");
  CHECK(json_of_fields(options).dump() == "{}");
  CHECK(options.batch_size == 1);
  CHECK(options.prefetch == 4);
  CHECK(options.world_size == 1);
  CHECK(options.decode == DecodeOn::automatic);
  CHECK_FALSE(options.threads);
  CHECK_FALSE(options.on_error);
  CHECK_FALSE(options.uneven);
  CHECK_FALSE(options.max_bad);
  CHECK(refusal("{}") == "nothing");
}

TEST_CASE("every option and every transform comes back from its JSON") {
  CAPTURE(test_seed());
  std::set<std::string> written;  // keys for which some value was not the default
  std::set<std::size_t> transforms;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    Random random({.seed = test_seed(), .sample = i}, 0);
    const LoaderOptions options = random_options(random);
    const Json some = json_of_fields(options);
    const LoaderOptions back = read_loader_options(some.dump());
    CAPTURE(some.dump());
    REQUIRE(back.transforms == options.transforms);
    REQUIRE(json_of_all_fields(back) == json_of_all_fields(options));
    const LoaderOptions whole = read_loader_options(json_of_all_fields(options).dump());
    REQUIRE(json_of_fields(whole) == some);
    for (const auto& [name, value] : some.items()) written.insert(name);
    for (const Transform& one : options.transforms.list()) transforms.insert(one.index());
  }
  CHECK(written.size() == json_of_all_fields(LoaderOptions{}).size());
  CHECK(transforms.size() == std::variant_size_v<AnyTransform>);
}

TEST_CASE("JSON of transforms has the arguments that are not at their default, and no other") {
  CAPTURE(test_seed());
  for (std::uint64_t i = 0; i < 1000; ++i) {
    Random random({.seed = test_seed(), .sample = i}, 1);
    const Transform transform = random_transform(random);
    const Json one = transforms_json({transform}).at(0);
    std::visit(
        [&]<class Op>(const Op& op) {
          const Json now = json_of_all_fields(op), usual = json_of_all_fields(Op{});
          std::size_t changed = 0;
          for (const auto& [name, value] : now.items()) {
            const bool differs = value != usual[name];
            changed += differs;
            REQUIRE(one.contains(name) == differs);
          }
          REQUIRE(one.size() == changed + 1);
        },
        transform);
  }
}

TEST_CASE("an option that does not exist is named, with those that there are") {
  CHECK(refusal(R"({"batchsize": 2})")
            .starts_with("there is no argument 'batchsize'; there are: batch_size, transforms, "));
  CHECK(refusal(R"({"order": "x"})").starts_with("there is no argument 'order'"));
  CHECK(refusal(R"({"labels": []})").starts_with("there is no argument 'labels'"));
  CHECK(refusal(R"({"trace": "file"})").starts_with("there is no argument 'trace'"));
  CHECK(refusal("[]") == "the arguments must be a JSON object");
  CHECK(refusal("").starts_with("it is not JSON"));
}

TEST_CASE("an option of another type is refused with what it must be") {
  CHECK(refusal(R"({"batch_size": "2"})") ==
        "batch_size must be a whole number from 1 to 2147483647, not \"2\"");
  CHECK(refusal(R"({"shuffle": 1})") == "shuffle must be true or false, not 1");
  CHECK(refusal(R"({"seed": -1})") == "seed must be a whole number, not -1");
  CHECK(refusal(R"({"seed": 1e3})") == "seed must be a whole number, not 1000.0");
  CHECK(refusal(R"({"on_error": "ignore"})") ==
        "on_error must be one of substitute, skip, fail, or none, not \"ignore\"");
  CHECK(refusal(R"({"decode": "automatic"})") ==
        "decode must be one of cpu, gpu, auto, not \"automatic\"");
  CHECK(refusal(R"({"memory_format": 0})").ends_with("not 0"));
  CHECK(refusal(R"({"transforms": {}})") == "transforms: must be a list");
  CHECK(refusal(R"({"transforms": null})") == "transforms: must be a list");
}

TEST_CASE("numbers of options have ranges, both ends inside") {
  const auto edge = [](const char* name, const char* fine, const char* wrong) {
    CAPTURE(name);
    CHECK(refusal(fmt::format(R"({{"{}": {}}})", name, fine)) == "nothing");
    const std::string reason = refusal(fmt::format(R"({{"{}": {}}})", name, wrong));
    CHECK(reason.starts_with(fmt::format("{} must be ", name)));
    CHECK(reason.ends_with(fmt::format("not {}", wrong)));
  };
  edge("batch_size", "1", "0");
  edge("batch_size", "2147483647", "2147483648");
  edge("batch_size", "1", "4294967297");
  edge("threads", "1", "0");
  edge("threads", "65535", "65536");
  edge("prefetch", "1", "0");
  edge("prefetch", "2147483647", "2147483648");
  edge("world_size", "1", "0");
  edge("world_size", "2147483647", "2147483648");
  edge("max_bad", "0", "-0.1");
  edge("max_bad", "1", "1.1");
  edge("memory", "4611686018427387904", "9223372036854775808");
  edge("draws", "281474976710656", "281474976710657");
  edge("repeats", "1", "0");
  edge("repeats", "2147483647", "2147483648");
  CHECK(refusal(R"({"max_bad": 1e400})").starts_with("it is not JSON"));
  CHECK(refusal(R"({"max_bad": -0.0})") == "nothing");
}

TEST_CASE("options that contradict each other are refused") {
  CHECK(refusal(R"({"rank": 1})") == "rank 1 does not exist in a world of 1");
  CHECK(refusal(R"({"rank": 1, "world_size": 2})") == "nothing");
  CHECK(refusal(R"({"on_error": "fail", "max_bad": 0})").starts_with("max_bad has no meaning"));
  CHECK(refusal(R"({"on_error": "skip", "max_bad": 0})") == "nothing");
  CHECK(refusal(R"({"resident": true})").ends_with("need device=\"cuda\""));
  CHECK(refusal(R"({"decode": "gpu"})").ends_with("need device=\"cuda\""));
  CHECK(refusal(R"({"decode": "gpu", "for_gpu": true})") == "nothing");
  CHECK(refusal(R"({"decode": "cpu"})") == "nothing");
  CHECK(refusal(R"({"decode": "cpu", "resident": true, "for_gpu": true})") ==
        "resident=True contradicts decode=\"cpu\": the GPU decodes what it keeps");
  CHECK(refusal(R"({"resident": true, "for_gpu": true})") == "nothing");
  CHECK(refusal(R"({"transforms": [{"name": "Normalize"}, {"name": "RandomErasing"}],
                    "for_gpu": true})") == "nothing");
  for (const char* mode : {"I;16", "RGBA"}) {
    const std::string of_mode = fmt::format(R"({{"mode": "{}")", mode);
    CHECK(refusal(of_mode + "}") == "nothing");
    CHECK(refusal(of_mode + R"(, "for_gpu": true})")
              .starts_with(fmt::format("mode=\"{}\" is not offered with device=", mode)));
  }
  CHECK(refusal(R"({"cache": "decoded"})") == "a cache needs memory=, its budget");
  CHECK(refusal(R"({"cache": "decoded", "memory": 1})") == "nothing");
  CHECK(refusal(R"({"transforms": [{"name": "ToDtype"}, {"name": "CenterCrop", "size": 8}]})") ==
        "CenterCrop: must come before ToDtype and Normalize");
  CHECK(
      refusal(R"({"transforms": [{"name": "CenterCrop"}]})").starts_with("CenterCrop: size must"));
}

TEST_CASE("a default that follows from other options is filled in, and no other") {
  const auto resolved = [](LoaderOptions options) {
    resolve_defaults(options);
    CHECK(*options.threads >= 1);
    check_fields_of(options, "");
    return options;
  };
  CHECK(resolved({}).on_error == OnError::skip);
  CHECK(resolved({.world_size = 2}).on_error == OnError::substitute);
  CHECK(resolved({.world_size = 2, .on_error = OnError::fail}).on_error == OnError::fail);
  CHECK(resolved({}).uneven == Uneven::exact);
  CHECK(resolved({.shuffle = true}).uneven == Uneven::pad);
  CHECK(resolved({.shuffle = true, .uneven = Uneven::drop}).uneven == Uneven::drop);
  CHECK(resolved({.order = {.sampling = Sampling::weighted}}).uneven == Uneven::pad);
  CHECK(resolved({.order = {.sampling = Sampling::groups}}).uneven == Uneven::exact);
  CHECK(resolved({.threads = 7}).threads == 7);
  CHECK_FALSE(resolved({}).max_bad);
}

}  // namespace tundish
