#include "data/source/pickle/pickle.h"

#include <doctest/doctest.h>

#include "data/source/memory_source.h"
#include "data/source/pickle/pickle_arrays.h"

using namespace tundish;

namespace {

std::string refusal(const std::string& text) {
  Pickle pickle;
  const auto bytes = bytes_of(text);
  const auto fault = pickle.read(bytes, "test");
  return fault ? error_name(fault->code) + " " + fault->reason : "read";
}

}  // namespace

TEST_CASE("pickle: a dict of protocol 0 and of protocol 4") {
  // {"a": [1, 2.5, None, True], b"b": (3,)}
  const std::string old = "(dVa\n(lI1\naF2.5\naNaI01\nasS'b'\n(I3\ntds.";
  const std::string zero = "(dp0\nVa\np1\n(lp2\nI1\naF2.5\naNaI01\nasS'b\\x00'\n(I3\ntp3\ns.";
  const std::string four = std::string("\x80\x04\x95\x20\0\0\0\0\0\0\0}\x94(\x8c\x01", 16) +
                           "a\x94]\x94(K\x01G\x40\x04" + std::string(6, '\0') + "N\x88" + "eC\x02" +
                           std::string("b\0", 2) + "\x94K\x03\x85\x94u.";
  for (const std::string& text : {zero, std::string(four)}) {
    Pickle pickle;
    const auto bytes = bytes_of(text);
    if (const auto fault = pickle.read(bytes, "test")) FAIL(fault->reason);
    CHECK(pickle.end() == text.size());
    const PickleValue* list = pickle.find(pickle.root(), "a");
    REQUIRE(list);
    const auto& items = pickle.items(*list);
    REQUIRE(items.size() == 4);
    CHECK(items[0].number == 1);
    CHECK(pickle.real(items[1]) == 2.5);
    CHECK(items[2].is(PickleKind::none));
    CHECK(items[3].is(PickleKind::boolean));
    const PickleValue* tuple = pickle.find(pickle.root(), std::string_view("b\0", 2));
    REQUIRE(tuple);
    CHECK(pickle.items(*tuple)[0].number == 3);
  }
  CHECK(refusal(old).starts_with("TND-314"));  // "d" without a mark
}

TEST_CASE("pickle: (bytes, label) of every protocol, and of Python 2") {
  const std::string pickles[] = {
      std::string(
          "(c_codecs\012encode\012p0\012(V\377\330\134u0000\012p1\012Vlatin1\012p2\012tp3\012R"
          "p4\012I7\012tp5\012.",
          61),
      std::string(
          "(c_codecs\012encode\012q\000(X\005\000\000\000\303\277\303\230\000q\001X\006\000\000"
          "\000latin1q\002tq\003Rq\004K\007tq\005.",
          57),
      std::string(
          "\200\002c_codecs\012encode\012q\000X\005\000\000\000\303\277\303\230\000q\001X\006"
          "\000\000\000latin1q\002\206q\003Rq\004K\007\206q\005.",
          57),
      std::string("\200\003C\003\377\330\000q\000K\007\206q\001.", 15),
      std::string("\200\004\225\013\000\000\000\000\000\000\000C\003\377\330\000\224K\007\206\224.",
                  22),
      std::string(
          "\200\005\225\013\000\000\000\000\000\000\000\226\003\000\000\000\000\000\000\000\377"
          "\330\000\224K\007\206\224.",
          29),
      std::string("(S'\\xff\\xd8\\x00'\012I7\012t."),  // Python 2, protocol 0
      std::string("\200\002U\003\377\330\000q\000\212\001\007\206q\001.", 16),  // Python 2, a long
  };
  for (const std::string& text : pickles) {
    Pickle pickle;
    const auto bytes = bytes_of(text);
    if (const auto fault = pickle.read(bytes, "test")) FAIL(fault->reason);
    REQUIRE(pickle.root().is(PickleKind::tuple));
    const auto& pair = pickle.items(pickle.root());
    REQUIRE(pair.size() == 2);
    CHECK(pair[0].is(PickleKind::bytes));
    CHECK(pickle.text(pair[0]) == std::string_view("\377\330\000", 3));
    CHECK(read_integer(pickle, pair[1]) == 7);
    const bool in_place = text[0] == '\200' && pickle.place(pair[0]).has_value();
    if (in_place) CHECK(text.substr(*pickle.place(pair[0]), 2) == "\377\330");
    CHECK(in_place == (text[0] == '\200' && text.find("latin1") == std::string::npos));
  }
}

TEST_CASE("pickle: no bytes, and NumPy's integer, of protocols 2 and 4") {
  const std::string pickles[] = {
      std::string(
          "\200\002c__builtin__\012bytes\012q\000)Rq\001cnumpy._core.multiarray\012scalar\012q"
          "\002cnumpy\012dtype\012q\003X\002\000\000\000i8q\004\211\210\207q\005Rq\006(K\003X"
          "\001\000\000\000<q\007NNNJ\377\377\377\377J\377\377\377\377K\000tq\010bc_codecs\012"
          "encode\012q\011X\020\000\000\000\303\271\303\277\303\277\303\277\303\277\303\277\303"
          "\277\303\277q\012X\006\000\000\000latin1q\013\206q\014Rq\015\206q\016Rq\017\206q\020.",
          192),
      std::string(
          "\200\004\225o\000\000\000\000\000\000\000C\000\224\214\026numpy._core.multiarray\224"
          "\214\006scalar\224\223\224\214\005numpy\224\214\005dtype\224\223\224\214\002i8\224"
          "\211\210\207\224R\224(K\003\214\001<\224NNNJ\377\377\377\377J\377\377\377\377K\000t"
          "\224bC\010\371\377\377\377\377\377\377\377\224\206\224R\224\206\224.",
          122),
  };
  for (const std::string& text : pickles) {
    Pickle pickle;
    const auto bytes = bytes_of(text);
    if (const auto fault = pickle.read(bytes, "test")) FAIL(fault->reason);
    const auto& pair = pickle.items(pickle.root());
    REQUIRE(pair.size() == 2);
    CHECK(pair[0].is(PickleKind::bytes));
    CHECK(pickle.text(pair[0]).empty());
    CHECK(read_integer(pickle, pair[1]) == -7);
  }
}

TEST_CASE("pickle: what would be executed is refused by its name") {
  const std::string tail = ", which is not on the list of names that are read; nothing is run";
  const auto names = [&](const std::string& name) {
    return "TND-315 test: pickle: it names " + name + tail;
  };
  CHECK(refusal("cos\nsystem\n(S'echo hi'\ntR.") == names("os.system"));
  CHECK(refusal("\200\004\214\010builtins\214\004eval\223\214\0011\205R.") ==
        names("builtins.eval"));
  CHECK(refusal("(S'echo hi'\nios\nsystem\n.") == names("os.system"));
  // An allowed name does not give access to attributes that are not allowed.
  CHECK(refusal("ccollections\nOrderedDict.__init__\n.") ==
        names("collections.OrderedDict.__init__"));
  CHECK(refusal("\200\004\214\005numpy\214\010dtype\nos\223.").starts_with("TND-315"));
  CHECK(refusal("c\nos\n.") == names(".os"));
  // Names that are not texts, or that result from a call.
  CHECK(refusal("\200\004K\001K\002\223.").starts_with("TND-314"));
  CHECK(refusal("\200\004C\002os\214\006system\223.").starts_with("TND-314"));
  CHECK(refusal("c_codecs\nencode\n(Vsystem\nVlatin1\ntRVos\n\223.").starts_with("TND-314"));
  CHECK(refusal("\200\004\214\002os\223.").starts_with("TND-314"));
  // Classes, extensions, and calls of values that are not names.
  CHECK(refusal("(ccollections\nOrderedDict\no.").starts_with("TND-315"));
  CHECK(refusal("\x82\x01.").starts_with("TND-315"));
  CHECK(refusal("](Vos\nl)R.").starts_with("TND-314"));
  CHECK(refusal("c_codecs\nencode\n(Vx\nVrot13\ntR.").starts_with("TND-315"));
  CHECK(refusal("\x80\x06N.") == "TND-315 test: pickle: protocol 6");
}

TEST_CASE("pickle: bombs are refused before they take memory") {
  // Lengths beyond the bytes: 2 GiB, 2^64 - 1, and the length of a number.
  CHECK(refusal("T\xff\xff\xff\x7f.").starts_with("TND-314"));
  CHECK(refusal("\x8e" + std::string(8, '\xff') + ".").starts_with("TND-314"));
  CHECK(refusal("\x8b" + std::string(4, '\xff') + ".").starts_with("TND-314"));
  CHECK(refusal("\x80\x04\x95" + std::string(8, '\xff') + "N.") == "read");  // a frame is a hint
  // More values than the limit: pushed, duplicated, marked, remembered, copied by calls.
  const std::string many(kMaxPickleValues + 1, 'N');
  CHECK(refusal(many + ".").starts_with("TND-315"));
  CHECK(refusal("N" + std::string(kMaxPickleValues, '2') + ".").starts_with("TND-315"));
  CHECK(refusal(std::string(kMaxPickleValues + 1, '(') + ".").starts_with("TND-315"));
  std::string copies = "cbuiltins\nlist\nq\001(" + std::string(100'000, 'N') + "lq\002";
  for (int i = 0; i < 60; ++i) copies += "h\001h\002\x85R";
  CHECK(refusal(copies + ".").starts_with("TND-315"));
  // The same text, decoded repeatedly.
  std::string decoded = "c_codecs\nencode\nq\001V" + std::string(1000, 'x') + "\nq\002";
  for (int i = 0; i < 1000; ++i) decoded += "h\001h\002\x85R";
  CHECK(refusal(decoded + ".").starts_with("TND-315"));
  // A list that contains itself, and one of 2^60 entries in 60 steps, are ordinary values.
  CHECK(refusal("]q\001h\001a.") == "read");
  std::string doubling = "]q" + std::string(1, '\0');
  for (char i = 0; i < 60; ++i) {
    const std::string last = std::string("h") + i;
    doubling += "](" + last + last + "eq" + static_cast<char>(i + 1);
  }
  CHECK(refusal(doubling + ".") == "read");
}

TEST_CASE("pickle: damage is a fault") {
  for (const char* text :
       {"",       ".",     "N",    "(.",       "0.",        "e.",     "a.",   "h\x01.",
        "q\x01.", "Fx\n.", "I\n.", "\x8b\x04", "V\\u12\n.", "S'a\n.", "NNR.", "]NNs.",
        "}(Nu.",  "\x7f.", "g1",   "K\x01Nb.", "I1x\n.",    "L\n.",   "(Nd."}) {
    CHECK_MESSAGE(refusal(text).starts_with("TND-314"), text);
  }
}

TEST_CASE("pickle: cut off anywhere it is a fault") {
  const std::string text = "(dp0\nVa\np1\n(lp2\nI1\naF2.5\naNaI01\nasS'b\\x00'\n(I3\ntp3\ns.";
  for (std::size_t size = 0; size < text.size(); ++size) {
    CHECK(refusal(text.substr(0, size)).starts_with("TND-314"));
  }
}
