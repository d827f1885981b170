#include "data/source/formats/file_list.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <filesystem>

#include "base/temporary_folder.h"
#include "data/source/formats/tar/tar_maker.h"
#include "data/source/open.h"

namespace tundish {
namespace {

using Texts = std::vector<std::string>;

List list_of(std::string_view text, char separator = ',') {
  List list;
  const auto fault = parse_list(list, text, separator);
  REQUIRE_FALSE(fault);
  return list;
}

Fault fault_of(std::string_view text) {
  List list;
  return parse_list(list, text, ',').value_or(Fault{});
}

Texts keys_of(const Texts& paths, const std::string& folder) {
  StringTable table;
  for (const std::string& path : paths) table.add(path);
  const StringTable keys = make_keys(table, folder);
  Texts out;
  for (std::size_t i = 0; i < keys.size(); ++i) out.emplace_back(keys[i]);
  return out;
}

}  // namespace

TEST_CASE("a list gives paths, labels and fields") {
  const List list = list_of(
      "id,Path,label,caption,raw\n"
      "1,a.jpg,dog,\"one, two\",\xff\n"
      "2.5,b.jpg,cat,\xc3\xa4,x\n");
  CHECK(list.schema.fields == std::vector<Field>{{"image", FieldType::image},
                                                 {"label", FieldType::label},
                                                 {"id", FieldType::number},
                                                 {"caption", FieldType::text},
                                                 {"raw", FieldType::bytes}});
  CHECK(list.schema.classes == Texts{"cat", "dog"});
  CHECK(list.labels == std::vector<std::int64_t>{1, 0});
  CHECK(list.paths[1] == "b.jpg");
  CHECK(list.columns[1][0] == "one, two");
}

TEST_CASE("labels with their numbers in label:number, and classes without files") {
  const List list = list_of(
      "path,label,label:number,weight\n"
      "a.jpg,10, 1 ,0.5\n"
      "b.jpg,,-1,2\n"
      "c.jpg,,0,3\n"
      "\"\",\" \"\"dog\n\xff\",0,\n"
      ",,2,\n");
  CHECK(list.schema.classes == Texts{" \"dog\n\xff", "10", ""});
  CHECK(list.labels == std::vector<std::int64_t>{1, -1, 0});
  CHECK(list.paths.size() == 3);
  CHECK(list.schema.fields == std::vector<Field>{{"image", FieldType::image},
                                                 {"label", FieldType::label},
                                                 {"weight", FieldType::number}});
  const List plain = list_of("image,Label:Number,class\na.jpg,7,\n");  // no class has a name
  CHECK(plain.labels == std::vector<std::int64_t>{7});
  CHECK(plain.schema.classes.empty());
  const List vectors = list_of("path,label:number\na.jpg,1\n");  // no column `label`
  CHECK(vectors.schema.classes == Texts{"number"});
  CHECK(vectors.label_vectors == std::vector<float>{1});
}

TEST_CASE("a list of parts of files") {
  const List list = list_of("path,Path:Offset,path:bytes,label\na.bin, 3 ,2,1\na.bin,0,3,0\n");
  CHECK(list.offsets == std::vector<std::uint64_t>{3, 0});
  CHECK(list.sizes == std::vector<std::uint64_t>{2, 3});
  CHECK(list.columns.empty());
  CHECK(fault_of("path,path:offset\na,1\n").reason.find("needs a column 'path:bytes'") !=
        std::string::npos);
  for (const char* row : {"-1,2", "1.5,2", "x,2", "1,0", ",1", "1,", "1,4611686018427387905",
                          "99999999999999999999,1"}) {
    CAPTURE(row);
    const Fault fault = fault_of(fmt::format("path,path:offset,path:bytes\na,{}\n", row));
    CHECK(fault.code == ErrorCode::csv_damaged);
    CHECK(fault.reason.find("is no whole number") != std::string::npos);
  }
}

TEST_CASE("parts of files are read where they are, and what lies behind the end is an error") {
  const TemporaryFolder folder;
  folder.write("a.bin", "abcdefgh");
  const auto source = open_loose(folder.write(
      "list.csv",
      "path,path:offset,path:bytes\na.bin,2,3\na.bin,0,8\na.bin,7,2\na.bin,9,1\nno,0,1\n"));
  const auto text = [&](std::uint64_t i) {
    Sample sample;
    source->read(sample, i);
    const std::vector<std::byte>& bytes = sample.fields[0];
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  CHECK(text(0) == "cde");
  CHECK(text(1) == "abcdefgh");
  CHECK(source->key(0) == "a.bin/2");
  CHECK(source->bytes(0) == 3);
  Extent extent;
  REQUIRE(source->extent(0, 0, extent));
  CHECK(extent.offset == 2);
  CHECK(extent.bytes == 3);
  CHECK_THROWS_AS(text(2), SampleError);
  CHECK_THROWS_AS(text(3), SampleError);
  CHECK_THROWS_AS(text(4), SampleError);
}

TEST_CASE("columns label:NAME are a vector, beside other columns") {
  const List list = list_of("label:b,path,note, Label: a\n1,x.jpg,n,0\n 0.5 ,y.jpg,m,-1e-3\n");
  CHECK(list.schema.fields == std::vector<Field>{{"image", FieldType::image},
                                                 {"label", FieldType::array},
                                                 {"note", FieldType::text}});
  CHECK(list.schema.classes == Texts{"b", "a"});
  CHECK(list.label_vectors == std::vector<float>{1, 0, 0.5f, -1e-3f});
  CHECK(list.labels.empty());
  CHECK(list.columns[0][1] == "m");

  std::string many = "path";
  for (int i = 0; i < 20'000; ++i) many += fmt::format(",label:{}", i);
  CHECK(fault_of(many + "\n").code == ErrorCode::csv_damaged);  // one too many
  many.resize(many.rfind(','));
  CHECK(list_of(many + "\n").schema.classes.size() == 19'999);
}

TEST_CASE("columns are found by any of their names") {
  CHECK(list_of("file\nx\n").paths[0] == "x");
  CHECK(list_of("filename,path\ny,x\n").paths[0] == "x");
  CHECK(list_of("image,class\nx,3\n").labels == std::vector<std::int64_t>{3});
  CHECK(list_of(",path\n0,x\n").schema.fields[1] == Field{"column_1", FieldType::number});
  CHECK(list_of("path\tlabel\na b.jpg\t1\n", '\t').paths[0] == "a b.jpg");
}

TEST_CASE("a list that cannot be read is refused by line and column") {
  const auto says = [](std::string_view text, ErrorCode code, std::string_view reason) {
    const Fault fault = fault_of(text);
    CHECK(fault.code == code);
    CHECK(fault.reason == reason);
  };
  says("", ErrorCode::csv_damaged, "the first line, which names the columns, is missing");
  says(
      "name,label\na,1\n", ErrorCode::csv_damaged,
      "line 1: no column is named 'path' (or 'file', 'filename', 'image'); it has 'name', 'label'");
  says("path;label\na;1\n", ErrorCode::csv_damaged,
       "line 1: no column is named 'path' (or 'file', 'filename', 'image'); it has 'path;label'. "
       "Columns are separated by commas, in a .tsv by tabs");
  says("path,a,a\nx,1,2\n", ErrorCode::csv_damaged,
       "line 1, column 'a': two columns have this name");
  says("path,label:a\nx,1\ny,\n", ErrorCode::label_unreadable,
       "line 3, column 'label:a': it is empty; a label needs a number for every class");
  says("path,label:a\nx,inf\n", ErrorCode::label_unreadable,
       "line 2, column 'label:a': 'inf' is no finite number");
  const std::string head = "path,label,label:number\n";
  const std::string no_number = "is no whole number from 0 on (-1 for none)";
  for (const std::string text : {"", "-2", "0.5", "x"}) {
    says(head + "x,a," + text + "\n", ErrorCode::label_unreadable,
         "line 2, column 'label:number': the label '" + text + "' " + no_number);
  }
  says(head + "x,a,0\ny,b,0\n", ErrorCode::label_unreadable,
       "line 3, column 'label:number': class 0 is 'a' and 'b'");
  says(head + "x,a,-1\n", ErrorCode::label_unreadable,
       "line 2, column 'label:number': 'a' is the class of no label");
  says(head + "x,a,0\ny,b,9000000000\n", ErrorCode::label_unreadable,
       "class 1 has no name, but class 9000000000 has");
  says("path,label:a,label\nx,1,1\n", ErrorCode::csv_damaged,
       "line 1, column 'label:a': column 'label' already is the label");
  says("path,image\nx,1\n", ErrorCode::csv_damaged,
       "line 1, column 'image': another column already is the sample's image");
  says("path," + std::string(4001, 'a') + "\nx,1\n", ErrorCode::csv_damaged,
       "line 1, column '" + std::string(60, 'a') + "...': its name is longer than 4,000 bytes");
  says("path,\xff\nx,1\n", ErrorCode::csv_damaged, "line 1, column '\\xff': its name is not UTF-8");
  says("path,label\na,1\nb\n", ErrorCode::csv_damaged,
       "line 3: 1 columns, but the first line has 2");
  says("path,label\na,1\n,2\n", ErrorCode::csv_damaged, "line 3, column 'path': it is empty");
  says("path\na/..\n", ErrorCode::csv_damaged, "line 2, column 'path': 'a/..' is a folder");
  says("path\n../..\n", ErrorCode::csv_damaged, "line 2, column 'path': '../..' is a folder");
  says("path,label\na,1\n\nb,\n", ErrorCode::label_unreadable,
       "line 4, column 'label': the label is empty");
  says("path,label\na,1\nb,0.5\n", ErrorCode::label_unreadable,
       "line 3, column 'label': the label '0.5' is no whole number from 0 on (-1 for none); for a "
       "number per class use a column 'label:NAME' for each class");
  CHECK(fault_of(std::string_view("path\na\0b\n", 9)).code == ErrorCode::csv_damaged);
  std::string many = "path";
  for (int n = 1; n < 64; ++n) many += ",c" + std::to_string(n);
  CHECK(list_of(many).schema.fields.size() == kMaxFields);
  CHECK(fault_of(many + ",more").code == ErrorCode::csv_damaged);
}

TEST_CASE("a path longer than any file's is refused by line and column") {
  CHECK(list_of("path\n" + std::string(3'996, 'a') + ".jpg\n").paths.size() == 1);
  const Fault fault = fault_of("path\n" + std::string(3'997, 'a') + ".jpg\n");
  CHECK(fault.code == ErrorCode::csv_damaged);
  CHECK(fault.reason.starts_with("line 2, column 'path': 'aaa"));
  CHECK(fault.reason.ends_with("aaa...' is longer than 4,000 bytes"));
}

TEST_CASE("keys are relative and clean, wherever the files are") {
  CHECK(keys_of({"a.jpg", "./b//c.jpg", "b/../d.jpg"}, "/data") ==
        Texts{"a.jpg", "b/c.jpg", "d.jpg"});
  CHECK(keys_of({"/data/a.jpg", "b/c.jpg"}, "/data") == Texts{"a.jpg", "b/c.jpg"});
  CHECK(keys_of({"../images/1.jpg", "../images/2.jpg"}, "/data/lists") == Texts{"1.jpg", "2.jpg"});
  CHECK(keys_of({"../images/1.jpg", "2.jpg"}, "/data/lists") ==
        Texts{"images/1.jpg", "lists/2.jpg"});
  CHECK(keys_of({"/x/1.jpg", "/y/z/2.jpg"}, "/data") == Texts{"x/1.jpg", "y/z/2.jpg"});
  CHECK(keys_of({"/x/ab/1.jpg", "/x/a/2.jpg"}, "/data") == Texts{"ab/1.jpg", "a/2.jpg"});
  CHECK(keys_of({"../../../../1.jpg"}, "/data") == Texts{"1.jpg"});
  CHECK(keys_of({"/data/1.jpg"}, "") == Texts{"data/1.jpg"});
}

TEST_CASE("samples of a list are its files and its columns") {
  const TemporaryFolder folder;
  folder.write("images/a b.jpg", "image a");
  folder.write("images/\xff\n.jpg", "image b");
  const std::string absolute = folder / "images/a b.jpg";
  const std::string path = folder.write("list.csv",
                                        "path,label,weight,note\r\n"
                                        "images/a b.jpg,4,0.5,first\r\n"
                                        "\"images/\xff\n.jpg\",2,-1e3,\r\n"
                                        "missing.jpg,0,0,third\r\n" +
                                            absolute + ",0,0,fourth\r\n");
  const auto source = open_loose(path);
  REQUIRE(source->count() == 4);
  CHECK(source->schema().source == "csv");
  CHECK(source->key(1) == "images/\xff\n.jpg");
  CHECK(source->key(3) == "images/a b.jpg");
  CHECK(source->info(0).label == 4);
  CHECK(source->bytes(0) == 7 + 8 + 5);
  CHECK(source->warnings().size() == 1);
  Sample sample;
  source->read(sample, 1);
  CHECK(text_of(sample.fields[0]) == "image b");
  REQUIRE(sample.fields[2].size() == 8);
  CHECK(std::bit_cast<double>(load<std::uint64_t>(sample.fields[2].data())) == -1000.0);
  CHECK(sample.fields[3].empty());
  source->read(sample, 2, ~FieldSet{1});
  CHECK(text_of(sample.fields[3]) == "third");
  CHECK_THROWS_AS(source->read(sample, 2), SampleError);
  source->read(sample, 3);
  CHECK(text_of(sample.fields[0]) == "image a");
  Extent extent;
  REQUIRE(source->extent(3, 0, extent));
  CHECK(extent.file == absolute);
  CHECK_FALSE(source->extent(2, 0, extent));

  const std::string before = source->fingerprint();
  CHECK(open_loose(path)->fingerprint() == before);
  folder.write("list.csv", "path,note\nimages/a b.jpg,x\n");
  const std::string changed = open_loose(path)->fingerprint();
  folder.write("list.csv", "path,note\nimages/a b.jpg,y\n");
  CHECK(open_loose(path)->fingerprint() != changed);
}

TEST_CASE("the fingerprint of a list depends on its rows, and not on the place of the files") {
  const TemporaryFolder folder, first, second;
  const auto fingerprint = [&](const TemporaryFolder& place, const std::string& head,
                               const std::vector<std::string>& rows) {
    std::string text = "path," + head + '\n';
    for (std::size_t i = 0; i < rows.size(); ++i) {
      text += (place / ("images/" + std::to_string(i) + ".jpg")) + ',' + rows[i] + '\n';
    }
    return open_loose(folder.write("list.csv", text))->fingerprint();
  };
  for (const TemporaryFolder* place : {&first, &second}) {
    place->write("images/0.jpg", "image a");
    place->write("images/1.jpg", "image of b");
  }
  for (const std::string head : {"label", "note", "weight", "label:cat"}) {
    const std::string before = fingerprint(first, head, {"1", "2"});
    CHECK(fingerprint(second, head, {"1", "2"}) == before);
    CHECK(fingerprint(first, head, {"1", "3"}) != before);
    CHECK(fingerprint(first, head, {"2", "1"}) != before);
    CHECK(fingerprint(first, head, {"1"}) != before);
  }
  CHECK(fingerprint(first, "note,more", {"a,bc", "d,e"}) !=
        fingerprint(first, "note,more", {"ab,c", "d,e"}));
  const std::string before = fingerprint(first, "label", {"1", "2"});
  second.write("images/1.jpg", "other image");
  CHECK(fingerprint(second, "label", {"1", "2"}) != before);
}

TEST_CASE("a list in the current folder finds its files") {
  const TemporaryFolder folder;
  folder.write("a.jpg", "image");
  folder.write("list.tsv", "path\tlabel\na.jpg\t1\n");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const auto source = open_loose("list.tsv");
  Sample sample;
  source->read(sample, 0);
  std::filesystem::current_path(before);
  CHECK(text_of(sample.fields[0]) == "image");
  CHECK(source->key(0) == "a.jpg");
}

TEST_CASE("a column that looks like a label, in a list without labels, is warned about") {
  const TemporaryFolder folder;
  folder.write("a.jpg", "image");
  const auto warned = [&](const std::string& columns, const std::string& row) {
    const auto source = open_loose(folder.write("list.csv", columns + '\n' + row + '\n'));
    const std::vector<std::string>& all = source->warnings();
    return all.empty() ? std::string() : all.front();
  };
  for (const std::string name : {"labels", "Classes", "class_id", "target", "y"}) {
    CHECK(warned("path," + name, "a.jpg,1")
              .ends_with("column '" + name + "' is a field: did you mean 'label'?"));
  }
  CHECK(warned("path,label,labels", "a.jpg,1,1").empty());
  CHECK(warned("path,label:cat,labels", "a.jpg,1,1").empty());
  CHECK(warned("path,weight", "a.jpg,1").empty());
}

TEST_CASE("a column whose values repeat, in a list without labels, is warned about") {
  const TemporaryFolder folder;
  folder.write("a.jpg", "image");
  const auto warned = [&](const std::string& column, const std::vector<std::string>& values) {
    std::string text = "path," + column + '\n';
    for (const std::string& value : values) text += "a.jpg," + value + '\n';
    const auto source = open_loose(folder.write("list.csv", text));
    const std::vector<std::string>& all = source->warnings();
    return std::any_of(all.begin(), all.end(), [&](const std::string& one) {
      return one.ends_with("column '" + column + "' is a field: did you mean 'label'?");
    });
  };
  CHECK(warned("klass", {"ant", "bee", "ant", "bee"}));
  CHECK(warned("species", {"1", "2", "1", "2", "2"}));
  CHECK_FALSE(warned("caption", {"an ant", "a bee", "a cat", "a dog"}));
  CHECK_FALSE(warned("origin", {"camera", "camera", "camera"}));
  CHECK_FALSE(warned("label", {"ant", "bee", "ant", "bee"}));
}

TEST_CASE("an empty list is refused") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(open_loose(folder.write("a.csv", "")), Error);
  CHECK_THROWS_AS(open_loose(folder.write("a.csv", "path,label\n")), Error);
}

}  // namespace tundish
