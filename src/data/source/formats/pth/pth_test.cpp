#include "data/source/formats/pth/pth.h"

#include <doctest/doctest.h>

#include "base/temporary_folder.h"
#include "data/source/formats/cifar_pickle.h"
#include "data/source/zip/zip_maker.h"

using namespace tundish;

namespace {

std::string text(const std::string& value) {
  return "X" + std::string(1, static_cast<char>(value.size())) + std::string(3, '\0') + value;
}

std::string tuple(const std::vector<int>& values) {
  std::string out = "(";
  for (const int value : values) out += "I" + std::to_string(value) + "\n";
  return out + "t";
}

// Returns opcodes that leave a tensor of torch.save() on the stack.
std::string tensor(const std::string& type, const std::string& key, int offset,
                   const std::vector<int>& sides, const std::vector<int>& strides) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\n" + type +
         "Storage\n" + text(key) + text("cpu") + "I0\ntQI" + std::to_string(offset) + "\n" +
         tuple(sides) + tuple(strides) + "\x89" + "ccollections\nOrderedDict\n)RtR";
}

std::string file_of(const std::string& pickle) {
  ZipMaker maker;
  maker.add("a/data.pkl", "\x80\x02" + pickle + ".");
  maker.add("a/byteorder", "little");
  maker.add("a/data/0", "abcdefghijklmnopqrstuvwx");
  maker.add("a/data/1", std::string("\x03\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0", 16));
  return maker.finish();
}

std::string refusal(const TemporaryFolder& folder, const std::string& pickle) {
  try {
    open_pth(folder.write("bad.pth", file_of(pickle)), {});
  } catch (const Error& error) {
    return error_name(error.code()) + " " + error.reason();
  }
  return "opened";
}

std::string first_field(const Source& source, std::uint64_t i) {
  Sample sample;
  source.read(sample, i);
  return {reinterpret_cast<const char*>(sample.fields[0].data()), sample.fields[0].size()};
}

}  // namespace

TEST_CASE(".pth: a dict, a tuple, and a list of samples") {
  const TemporaryFolder folder;
  const std::string images = tensor("Byte", "0", 0, {2, 3, 4}, {12, 4, 1});
  const std::string labels = tensor("Long", "1", 0, {2}, {1});
  const std::string dict =
      "}(" + text("images") + images + text("labels") + labels + text("note") + text("hello") + "u";
  for (const std::string& pickle :
       {dict, "(" + images + labels + "t", "(" + images + labels + "l"}) {
    const auto source = open_pth(folder.write("a.pth", file_of(pickle)), {});
    REQUIRE(source->count() == 2);
    CHECK(source->info(1).label == 4);
    CHECK(first_field(*source, 1) == "mnopqrstuvwx");
  }
  const std::string a = tensor("Byte", "0", 0, {3, 4}, {4, 1});
  const std::string b = tensor("Byte", "0", 5, {3, 4}, {4, 1});
  for (const std::string& pickle : {"(" + a + b + "l", "((" + a + "I7\nt(" + b + "I8\ntl",
                                    "(](" + a + "I7\ne](" + b + "I8\nel"}) {
    const auto source = open_pth(folder.write("b.pth", file_of(pickle)), {});
    REQUIRE(source->count() == 2);
    CHECK(first_field(*source, 1) == "fghijklmnopq");
    CHECK(source->info(1).label == (pickle.find("I8") == std::string::npos ? -1 : 8));
  }
}

TEST_CASE(".pth: a list of tensors that differ in size is refused, [images, labels] is not") {
  const TemporaryFolder folder;
  const std::string wide = tensor("Byte", "0", 0, {1, 2, 4}, {8, 4, 1});
  const std::string small = tensor("Byte", "0", 8, {1, 2, 2}, {4, 2, 1});
  const std::string reason = refusal(folder, "(" + wide + wide + small + wide + "l");
  CHECK(
      reason.starts_with("TND-315 torch.save: a list of tensors that differ: 0 is uint8 "
                         "(1, 2, 4), 2 is uint8 (1, 2, 2); the samples of a file have one"));
  CHECK(reason.find("tundish.pack(torch.load(FILE), \"train.tnd\")") != std::string::npos);
  CHECK(refusal(folder, "(" + wide + small + "t") == "opened");  // a tuple holds columns

  const std::string images = tensor("Byte", "0", 0, {2, 3, 4}, {12, 4, 1});
  const std::string masks = tensor("Byte", "0", 0, {2, 3}, {3, 1});
  const std::string row = tensor("Byte", "0", 0, {2, 1}, {1, 1});
  const std::string three = tensor("Byte", "0", 0, {3}, {1});
  CHECK(refusal(folder, "(" + images + masks + "l") == "opened");
  CHECK(refusal(folder, "(" + masks + row + "l") == "opened");
  CHECK(refusal(folder, "(" + images + three + "l").find("2, 3, 4), 1 is uint8 (3,)") !=
        std::string::npos);
}

TEST_CASE(".pth: of equal keys in a dict the last value counts, at the place of the first") {
  const TemporaryFolder folder;
  const std::string old = tensor("Byte", "0", 0, {2, 2, 2}, {4, 2, 1});
  const std::string images = tensor("Byte", "0", 8, {2, 2, 2}, {4, 2, 1});
  const std::string labels = tensor("Long", "1", 0, {2}, {1});
  const auto dict =
      open_pth(folder.write("a.pth", file_of("}(" + text("image") + old + text("label") + labels +
                                             text("image") + images + "u")),
               {});
  REQUIRE(dict->count() == 2);
  REQUIRE(dict->schema().fields.size() == 2);
  CHECK(first_field(*dict, 0) == "ijkl");
  CHECK(dict->info(1).label == 4);

  const auto sample = [&](const std::string& pixels, const std::string& label) {
    return "}(" + text("image") + old + text("label") + label + text("image") + pixels + "u";
  };
  const std::string a = tensor("Byte", "0", 8, {2, 2}, {2, 1});
  const std::string b = tensor("Byte", "0", 12, {2, 2}, {2, 1});
  const auto list = open_pth(
      folder.write("b.pth", file_of("(" + sample(a, "I7\n") + sample(b, "I8\n") + "l")), {});
  REQUIRE(list->count() == 2);
  CHECK(first_field(*list, 1) == "mnop");
  CHECK(list->info(1).label == 8);
}

TEST_CASE(".pth: keys of a dict are texts or numbers") {
  const TemporaryFolder folder;
  const std::string pixels = tensor("Byte", "0", 8, {2, 2}, {2, 1});
  const auto sample = [&](const std::string& first, const std::string& second) {
    return "}(" + text("image") + pixels + first + "I7\n" + second + "I8\nu";
  };
  const std::string pair = "(" + sample("F0.5\n", "F1.5\n") + sample("F0.5\n", "F1.5\n") + "l";
  const auto reals = open_pth(folder.write("a.pth", file_of(pair)), {});
  REQUIRE(reals->schema().fields.size() == 3);
  CHECK(reals->schema().fields[1].name == "0.5");
  CHECK(reals->schema().fields[2].name == "1.5");
  const std::string other = "TND-315 torch.save: a key of a dict is neither a text nor a number";
  CHECK(refusal(folder, sample("I1\n\x85", "I2\n\x85")) == other);
  CHECK(refusal(folder, "(" + sample("N", "I2\n\x85") + "l") == other);
}

TEST_CASE(".pth: strides are followed") {
  const TemporaryFolder folder;
  const auto source =
      open_pth(folder.write("a.pth", file_of(tensor("Byte", "0", 1, {2, 3, 2}, {6, 1, 3}))), {});
  REQUIRE(source->count() == 2);
  CHECK(first_field(*source, 0) == "becfdg");
  CHECK(first_field(*source, 1) == "hkiljm");
}

TEST_CASE(".pth: tensors with a negative or conjugate bit are refused") {
  const TemporaryFolder folder;
  const auto with_metadata = [&](const std::string& metadata) {
    std::string pickle = tensor("Byte", "0", 0, {2, 3, 4}, {12, 4, 1});
    pickle.insert(pickle.size() - 2, metadata);  // before the end of the tuple of arguments
    return refusal(folder, pickle);
  };
  CHECK(with_metadata("N") == "opened");
  CHECK(with_metadata("}") == "opened");
  CHECK(with_metadata("}" + text("neg") + "\x88s").find("resolve_neg()") != std::string::npos);
  CHECK(with_metadata("}" + text("conj") + "\x88s").find("resolve_conj()") != std::string::npos);
}

TEST_CASE(".pth: what lies, and what would be executed, is refused") {
  const TemporaryFolder folder;
  const auto sides = [&](int offset, const std::vector<int>& sides,
                         const std::vector<int>& strides) {
    return refusal(folder, tensor("Byte", "0", offset, sides, strides));
  };
  CHECK(sides(0, {2, 3, 4}, {12, 4, 1}) == "opened");
  CHECK(sides(1, {2, 3, 4}, {12, 4, 1}).find("leaves its storage") != std::string::npos);
  CHECK(sides(0, {2, 3, 4}, {13, 4, 1}).find("leaves its storage") != std::string::npos);
  CHECK(sides(0, {2, 3, 4}, {12, 4}).find("sides, strides") != std::string::npos);
  CHECK(sides(-1, {2, 3, 4}, {12, 4, 1}).find("sides, strides") != std::string::npos);
  CHECK(sides(0, {2, 3, 4}, {0, 4, 1}).find("no elements of their own") != std::string::npos);
  CHECK(refusal(folder, tensor("Byte", "7", 0, {2}, {1})).find("'7' is missing") !=
        std::string::npos);
  CHECK(
      refusal(folder, "cos\nsystem\n(S'echo hi'\ntR") ==
      "TND-315 torch.save: pickle: it names os.system, which is not on the list of names that are "
      "read; nothing is run");
  CHECK(refusal(folder, "I1\n").starts_with("TND-315 torch.save: it holds no tensors"));
  std::string list = "(" + tensor("Byte", "0", 0, {2, 2}, {2, 1}) + "I1\nl";
  CHECK(refusal(folder, list).starts_with("TND-302"));  // neither tensors nor numbers
  list = "((" + tensor("Byte", "0", 0, {2, 2}, {2, 1}) + "I1\nt(" +
         tensor("Byte", "0", 0, {2, 3}, {3, 1}) + "I2\ntl";
  CHECK(refusal(folder, list).find("sample 1 has another shape") != std::string::npos);
}

TEST_CASE("CIFAR of Python: data and labels of pickles") {
  const TemporaryFolder folder;
  const auto batch = [](char first) {
    std::string data(2 * 3072, first);
    data[3072] = 'z';
    const std::string array =
        "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR(I1\n(I2\nI3072\nt"
        "cnumpy\ndtype\n(S'u1'\nI0\nI1\ntR(I3\nS'|'\nNNNI-1\nI-1\nI0\ntbI00\nT" +
        std::string("\0\x18\0\0", 4) + data + "tb";
    return "\x80\x02}(U\x04"
           "data" +
           array + "U\x06labels(lI3\naI5\nau.";
  };
  folder.write("data_batch_1", batch('a'));
  folder.write("data_batch_2", batch('b'));
  const auto meta = [&](const std::string& names) {
    std::string list;
    for (const char name : names) list += std::string("U\x01") + name;
    folder.write("batches.meta", "\x80\x02}U\x0blabel_names(" + list + "ls.");
  };
  meta("abcde");
  std::string reason;
  try {
    open_cifar_pickle(folder.path(), {});
  } catch (const Error& error) {
    reason = error.reason();
    CHECK(error.where().record == 1);
  }
  CHECK(reason == "CIFAR (Python): its label is 5, but batches.meta names the classes 0 to 4");
  meta("abcdef");
  const auto source = open_cifar_pickle(folder.path(), {});
  REQUIRE(source->count() == 4);
  CHECK(source->info(3).label == 5);
  CHECK(first_field(*source, 3).substr(0, 2) == "zb");
  CHECK(source->schema().fields[0].array->shape == std::vector<std::uint64_t>{3, 32, 32});
  Extent extent;
  CHECK(source->extent(3, 0, extent));  // read in place, not from memory
}
