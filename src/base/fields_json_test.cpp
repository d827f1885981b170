#include "base/fields_json.h"

#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "base/testing.h"

namespace tundish {
namespace {

enum class Color : std::uint8_t { red = 0, green = 1 };
constexpr std::array<const char*, 2> words(Color) { return {"red", "green"}; }

// One field of every kind.
struct Described {
  static constexpr const char* kName = "Described";
  static constexpr const char* kAbout = "Every kind of field.";

  bool flag = false;
  std::uint8_t small = 3;
  int number = -1;
  std::uint64_t large = 7;
  double share = 0.5;
  std::optional<int> maybe = {};
  Color color = Color::green;
  std::string text = "plain";
  std::array<double, 2> pair = {1, 2};
  Size size = {4, 5};
  SideOrSize side = {{6, 0}};
  Padding padding = {};
  Fill fill = {};
  Spread<1> spread = {};

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{.name = "flag", .saved = true}, self.flag);
    visit(FieldInfo{"small", "", 0, 200}, self.small);
    visit(FieldInfo{"number", "", -5, 5, true}, self.number);
    visit(FieldInfo{"large", ""}, self.large);
    visit(FieldInfo{"share", "", 0, 1}, self.share);
    visit(FieldInfo{"maybe", "", 1, 9}, self.maybe);
    visit(FieldInfo{"color", ""}, self.color);
    visit(FieldInfo{"text", ""}, self.text);
    visit(FieldInfo{"pair", "", -kMaxNumber, kMaxNumber}, self.pair);
    visit(FieldInfo{"size", "", 1, kMaxSide}, self.size);
    visit(FieldInfo{"side", "", 1, kMaxSide}, self.side);
    visit(FieldInfo{"padding", "", 0, kMaxSide}, self.padding);
    visit(FieldInfo{"fill", "", 0, 255}, self.fill);
    visit(FieldInfo{"spread", "", 0, 9}, self.spread);
  }
  bool operator==(const Described&) const = default;
};

Described read(const std::string& json, bool saved = false) {
  Described out;
  read_fields(out, parse_json(json), "Owner", saved);
  return out;
}

template <class Call>
std::string refusal_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::argument);
    return error.reason();
  }
  return "nothing";
}

std::string refusal(const std::string& json, bool saved = false) {
  return refusal_of([&] { check_fields_of(read(json, saved)); });
}

// Returns copies of one value, each with a different field changed.
std::vector<Described> variants() {
  std::vector<Described> out;
  const auto vary = [&](auto change) { change(out.emplace_back()); };
  vary([](Described& d) { d.flag = true; });
  vary([](Described& d) { d.small = 200; });
  vary([](Described& d) { d.number = 5; });
  vary([](Described& d) { d.large = UINT64_MAX; });
  vary([](Described& d) { d.share = 0.1; });
  vary([](Described& d) { d.maybe = 9; });
  vary([](Described& d) { d.color = Color::red; });
  vary([](Described& d) { d.text = "\"\\\n\xc3\xa9" + std::string(1, '\0'); });
  vary([](Described& d) { d.pair = {-kMaxNumber, 5e-324}; });
  vary([](Described& d) { d.size = {5, 4}; });
  vary([](Described& d) { d.side = {{6, 7}}; });
  vary([](Described& d) { d.padding = {1, 2, 3, 4}; });
  vary([](Described& d) { d.fill = {1, 2, 255}; });
  vary([](Described& d) { d.spread = {0.5, 9}; });
  return out;
}

}  // namespace

TEST_CASE("every kind of field comes back from its JSON, and is left out at its default") {
  CHECK(json_of_fields(Described{}).dump() == "{}");
  CHECK(read("{}") == Described{});
  CHECK(read(json_of_all_fields(Described{}).dump()) == Described{});
  const std::vector<Described> all = variants();
  REQUIRE(all.size() == json_of_all_fields(Described{}).size());
  const Json names = json_of_all_fields(Described{});
  std::size_t at = 0;
  for (const auto& [name, value] : names.items()) {
    const Described& changed = all[at++];
    const Json some = json_of_fields(changed);
    CAPTURE(some.dump());
    REQUIRE(some.size() == 1);
    CHECK(some.begin().key() == name);
    CHECK(read(some.dump()) == changed);
    CHECK(read(json_of_all_fields(changed).dump()) == changed);
  }
}

TEST_CASE("numbers drawn at random come back as the same bits") {
  Random random({.seed = test_seed()}, 0);
  CAPTURE(test_seed());
  for (int i = 0; i < 2000; ++i) {
    Described one;
    one.share = std::ldexp(random.uniform(), -between(random, 0, 1070));
    one.large = random.below(UINT64_MAX);
    one.number = static_cast<int>(random.below(11)) - 5;
    one.pair = {-std::ldexp(random.uniform(), between(random, -1070, 1023)), random.uniform()};
    CHECK(read(json_of_fields(one).dump()) == one);
  }
}

TEST_CASE("a number must be one, and whole where the field is") {
  CHECK(refusal(R"({"number": 1.0})") ==
        "Owner: number must be a whole number from -5 to 5, not 1.0");
  CHECK(refusal(R"({"number": 1e0})") ==
        "Owner: number must be a whole number from -5 to 5, not 1.0");
  CHECK(refusal(R"({"number": true})").ends_with("not true"));
  CHECK(refusal(R"({"number": "1"})").ends_with("not \"1\""));
  CHECK(refusal(R"({"number": null})").ends_with("not null"));
  CHECK(refusal(R"({"number": [1]})").ends_with("not [1]"));
  CHECK(refusal(R"({"share": true})") == "Owner: share must be a number from 0 to 1, not true");
  CHECK(refusal(R"({"flag": 1})") == "Owner: flag must be true or false, not 1");
  CHECK(refusal(R"({"maybe": 1.5})") ==
        "Owner: maybe must be a whole number from 1 to 9, or none, not 1.5");
  CHECK(refusal(R"({"text": 1})") == "Owner: text must be a text, not 1");
  CHECK(refusal(R"({"color": "blue"})") == "Owner: color must be one of red, green, not \"blue\"");
  CHECK(refusal(R"({"color": 1})") == "Owner: color must be one of red, green, not 1");
  CHECK(read(R"({"share": 1})").share == 1.0);
  CHECK_FALSE(read(R"({"maybe": null})").maybe);
}

TEST_CASE("no number is taken for another one that its type can hold") {
  CHECK(refusal(R"({"small": 256})") ==
        "Owner: small must be a whole number from 0 to 200, not 256");
  CHECK(refusal(R"({"small": -1})").ends_with("not -1"));
  CHECK(refusal(R"({"number": 4294967297})").ends_with("not 4294967297"));
  CHECK(refusal(R"({"number": -4294967295})").ends_with("not -4294967295"));
  CHECK(refusal(R"({"number": 18446744073709551615})").ends_with("not 18446744073709551615"));
  CHECK(refusal(R"({"large": -1})") == "Owner: large must be a whole number, not -1");
  CHECK(refusal(R"({"large": 18446744073709551616})").ends_with("not 1.8446744073709552e+19"));
  CHECK(read(R"({"large": 18446744073709551615})").large == UINT64_MAX);
  CHECK(read(R"({"large": -0})").large == 0);
  CHECK(refusal(R"({"fill": 256})") ==
        "Owner: fill must be a level from 0 to 255, or three, not 256");
  CHECK(refusal(R"({"size": [1, 4294967297]})").starts_with("Owner: size must be"));
}

TEST_CASE("a number outside its range is refused by the check, with both ends inside") {
  CHECK(refusal(R"({"small": 201})") ==
        "Described: small must be a whole number from 0 to 200, not 201");
  CHECK(refusal(R"({"small": 200})") == "nothing");
  CHECK(refusal(R"({"number": -6})").ends_with("not -6"));
  CHECK(refusal(R"({"number": -5})") == "nothing");
  CHECK(refusal(R"({"share": 1.0000000000000002})").ends_with("not 1.0000000000000002"));
  CHECK(refusal(R"({"share": -5e-324})").ends_with("not -5e-324"));
  CHECK(refusal(R"({"maybe": 10})").ends_with("not 10"));
  CHECK(refusal(R"({"padding": [0, 0, 0, -1]})") ==
        "Described: padding must be one, two or four numbers of pixels from 0 to 65535, not "
        "(0, 0, 0, -1)");
  CHECK(refusal(R"({"size": [65536, 1]})").ends_with("not 65536 (height) x 1 (width)"));
  CHECK(refusal(R"({"side": 0})").ends_with("not 0 (height) x 0 (width)"));
  Described nan;
  nan.share = std::nan("");
  CHECK(refusal_of([&] { check_fields_of(nan); }).ends_with("not nan"));
  nan.share = 0.5;
  nan.pair[1] = kUnlimited;
  CHECK(refusal_of([&] { check_fields_of(nan); }).ends_with("not (1, inf)"));
}

TEST_CASE("negative zero stays negative zero, and counts as zero in a range") {
  const Described read_back = read(R"({"share": -0.0, "pair": [-0.0, 0.0]})");
  CHECK(std::signbit(read_back.share));
  CHECK(std::signbit(read(json_of_fields(read_back).dump()).pair[0]));
  CHECK(refusal(R"({"share": -0.0})") == "nothing");
}

TEST_CASE("lists have as many numbers as are wanted") {
  CHECK(refusal(R"({"pair": 1})") == "Owner: pair must be two numbers, not 1");
  for (const char* wrong : {"[]", "[1]", "[1,2,3]", "[1,null]", "[1,[2]]", "{\"a\":1}"}) {
    CHECK(refusal(fmt::format(R"({{"pair": {}}})", wrong)).ends_with(fmt::format("not {}", wrong)));
  }
  for (const char* wrong : {"[]", "[1,2,3]", "[1.5]", "{}", "null", "\"1\""}) {
    CHECK(refusal(fmt::format(R"({{"size": {}}})", wrong)).ends_with(fmt::format("not {}", wrong)));
    CHECK(refusal(fmt::format(R"({{"side": {}}})", wrong)).ends_with(fmt::format("not {}", wrong)));
  }
  for (const char* wrong : {"[]", "[1,2,3]", "[1,2,3,4,5]", "[1.5]", "{}"}) {
    CHECK(refusal(fmt::format(R"({{"padding": {}}})", wrong))
              .ends_with(fmt::format("not {}", wrong)));
  }
  for (const char* wrong : {"[]", "[1,2]", "[1,2,3,4]", "[-1]"}) {
    CHECK(refusal(fmt::format(R"({{"fill": {}}})", wrong)).ends_with(fmt::format("not {}", wrong)));
  }
  CHECK(refusal(R"({"side": [0, 9]})").ends_with("not [0,9]"));  // height 0 means "one number"
  CHECK(read(R"({"padding": null})").padding == Padding{});
  CHECK(read(R"({"fill": null})").fill == Fill{});
}

TEST_CASE("an unknown name is named, with those that there are") {
  CHECK(refusal(R"({"flg": true})") ==
        "Owner: there is no argument 'flg'; there are: flag, small, number, large, share, maybe, "
        "color, text, pair, size, side, padding, fill, spread");
  CHECK(refusal(R"({"Flag": true})").starts_with("Owner: there is no argument 'Flag'"));
  CHECK(refusal(R"({"": true})").starts_with("Owner: there is no argument ''"));
  CHECK(refusal(R"({"a\nb": 1})").starts_with("Owner: there is no argument 'a\\x0ab'"));
  CHECK(refusal(R"({"name": "Described"})") == "nothing");  // the key "name" of a transform
  for (const char* wrong : {"[]", "1", "null", "\"text\"", "true"}) {
    CHECK(refusal(wrong) == "Owner: the arguments must be a JSON object");
  }
}

TEST_CASE("where only saved fields are allowed, the others are unknown names") {
  CHECK(read(R"({"flag": true, "number": 2})", true).number == 2);
  CHECK(refusal(R"({"small": 1})", true) ==
        "Owner: there is no argument 'small'; there are: flag, number");
  Described all = variants()[1];
  all.number = 2;
  CHECK(json_of_fields(all, true).dump() == R"({"number":2})");
}

TEST_CASE("what is not JSON is refused with the place") {
  const auto reason = [](const std::string& text) { return refusal_of([&] { parse_json(text); }); };
  for (const std::string wrong : {"", " ", "{", "{}}", "{'a':1}", "{\"a\":}", "[1,]", "nul", "NaN",
                                  "-Infinity", "+1", "01", "\"", "{\"a\" 1}", "// {}\n{}"}) {
    CAPTURE(wrong);
    CHECK(reason(wrong).starts_with("it is not JSON: "));
  }
  CHECK(reason(std::string("{}\0", 3)) == "it is not JSON: a byte is zero");
  CHECK(reason(std::string("{}\0[", 4)) == "it is not JSON: a byte is zero");
  CHECK(reason("1e400").starts_with("it is not JSON: "));
  CHECK(reason("-1e400").starts_with("it is not JSON: "));
  CHECK(reason("[1,\n2,\nx]").find("line 3") != std::string::npos);
  for (const char* wrong : {"\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"",
                            "\"\\ud800\"", "\"\xc3", "\"a\nb\""}) {
    CAPTURE(wrong);
    CHECK(reason(wrong).starts_with("it is not JSON: "));
  }
  CHECK(parse_json("1e-400") == Json(0.0));
  CHECK(parse_json(R"("\u0000")").get<std::string>() == std::string(1, '\0'));
}

TEST_CASE("JSON may be nested so deep, and no deeper") {
  const auto nested = [](int depth, const std::string& open, const std::string& close) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += open;
    text += "0";
    for (int i = 0; i < depth; ++i) text += close;
    return refusal_of([&] { parse_json(text); });
  };
  CHECK(nested(kMaxJsonDepth, "[", "]") == "nothing");
  CHECK(nested(kMaxJsonDepth, "{\"a\":", "}") == "nothing");
  for (const int deep : {kMaxJsonDepth + 1, 100'000}) {
    CHECK(nested(deep, "[", "]") == "the JSON is nested too deep");
    CHECK(nested(deep, "{\"a\":", "}") == "the JSON is nested too deep");
  }
}

TEST_CASE("an object has no key twice") {
  const auto reason = [](const char* text) { return refusal_of([&] { parse_json(text); }); };
  CHECK(reason(R"({"a": 1, "b": 2, "a": 1})") == "the JSON has 'a' twice in one object");
  CHECK(reason(R"({"a": {"b": 1, "\u0062": 1}})") == "the JSON has 'b' twice in one object");
  CHECK(reason(R"({"a": {"a": 1}, "b": {"a": {"a": 1}}})") == "nothing");
  CHECK(reason(R"([{"a": 1}, {"a": 1}])") == "nothing");
  CHECK(reason(R"({"x": [{"a": 1}], "a": {"x": 1}, "b": 3})") == "nothing");
  CHECK(reason(R"({"x": [{"a": 1}], "a": {"x": 1}, "x": 3})") ==
        "the JSON has 'x' twice in one object");
}

TEST_CASE("an object has no more keys than can be looked for one by one") {
  const auto keys = [](std::size_t count) {
    std::string text = "{";
    for (std::size_t i = 0; i < count; ++i) text += fmt::format("{}\"{}\":0", i ? "," : "", i);
    return text + "}";
  };
  CHECK(parse_json(keys(kMaxJsonKeys)).size() == kMaxJsonKeys);
  const std::string most = keys(kMaxJsonKeys);
  CHECK(parse_json("[" + most + "," + most + "]").size() == 2);  // the limit applies per object
  CHECK(refusal_of([&] { parse_json(keys(kMaxJsonKeys + 1)); }) ==
        "an object of the JSON has more than 256 keys");
  CHECK(refusal_of([&] { parse_json("{\"a\":[" + keys(200'000) + "]}"); }) ==
        "an object of the JSON has more than 256 keys");
}

TEST_CASE("messages stay short whatever the text is, and cut no character in two") {
  const std::string one_long(1'000'000, 'x');
  for (const std::string& text :
       {"{\"" + one_long + "\":1}", "{\"color\":\"" + one_long + "\"}", "{\"" + one_long + "\x01",
        "\"" + one_long + "\xff\"", "{\"" + one_long + "\":1,\"" + one_long + "\":1}", one_long,
        std::string(1'000'000, '9') + "e"}) {
    CHECK(refusal(text) != "nothing");
    CHECK(refusal(text).size() < 500);
  }
  CHECK(shown(Json(one_long)) == "\"" + one_long.substr(0, kMaxShown - 1) + "...");
  CHECK(shown(Json(std::string(58, 'x'))) == "\"" + std::string(58, 'x') + "\"");
  CHECK(shown(Json("\xff")) == "\"\\ufffd\"");
  CHECK(shown_text("abcd", 4) == "abcd");
  CHECK(shown_text("abcde", 4) == "abcd...");
  CHECK(shown_text("abc\xc3\xa9", 4) == "abc...");
  CHECK(shown_text("ab\xc3\xa9x", 4) == "ab\xc3\xa9...");
  CHECK(shown_text("\xff\xff\n", 2) == "\\xff\\xff...");
}

TEST_CASE("the reference has every field with what it must be") {
  const Json reference = reference_of<Described>();
  CHECK(reference["name"] == "Described");
  REQUIRE(reference["fields"].size() == 14);
  CHECK(reference["fields"][5].dump() ==
        R"({"name":"maybe","wanted":"a whole number from 1 to 9, or none","default":null,)"
        R"("about":""})");
  CHECK(json_of_all_fields(Described{}, "data/").begin().key() == "data/flag");
}

}  // namespace tundish
