#include "data/source/views/pattern.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "base/temporary_folder.h"

namespace tundish {
namespace {

using Texts = std::vector<std::string>;

ErrorCode code_of(const std::string& pattern) {
  try {
    expand_pattern(pattern);
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::none;
}

}  // namespace

TEST_CASE("pattern: numbers and texts between braces") {
  CHECK(expand_pattern("a-{008..011}.tar") ==
        Texts{"a-008.tar", "a-009.tar", "a-010.tar", "a-011.tar"});
  CHECK(expand_pattern("{train,val}-{0..1}.tar") ==
        Texts{"train-0.tar", "train-1.tar", "val-0.tar", "val-1.tar"});
  CHECK(expand_pattern("x{a,bcd,}y") == Texts{"xay", "xbcdy", "xy"});
  CHECK(expand_pattern("{18446744073709551615..18446744073709551615}") ==
        Texts{"18446744073709551615"});
}

TEST_CASE("pattern: what is none stays as it is") {
  for (const char* text : {"a.tar", "a{}b", "{x}", "{1..x}", "{..}", "{-1..2}", "}{", "{",
                           "{1..99999999999999999999}", "{{a,b},c}"}) {
    CAPTURE(text);
    CHECK_FALSE(is_pattern(text));
    CHECK(expand_pattern(text) == Texts{text});
  }
  CHECK(is_pattern("{0..1}"));
  CHECK(is_pattern("*.tar"));
}

TEST_CASE("pattern: globs are files that exist, in order") {
  const TemporaryFolder folder;
  for (const char* name : {"a-10.tar", "a-2.tar", "a-1.tar", "b-1.tar", ".a-0.tar", "a-3.json"}) {
    folder.write(name, "x");
  }
  folder.write("a-9.tar/inner", "x");  // a folder
  CHECK(expand_pattern(folder / "a-*.tar") ==
        Texts{folder / "a-1.tar", folder / "a-10.tar", folder / "a-2.tar"});
  CHECK(expand_pattern(folder / "{b,a}-[12].tar") ==
        Texts{folder / "b-1.tar", folder / "a-1.tar", folder / "a-2.tar"});
  CHECK(code_of(folder / "c*") == ErrorCode::source_missing);
  CHECK(code_of((folder / "*") + "/a.tar") == ErrorCode::argument);
}

TEST_CASE("pattern: a folder may have the letters of a glob in its name") {
  const TemporaryFolder folder;
  for (const char* name : {"run[1]/s-0.tar", "run[1]/s-1.tar"}) folder.write(name, "x");
  const Texts both = {folder / "run[1]/s-0.tar", folder / "run[1]/s-1.tar"};
  CHECK(expand_pattern(folder / "run[1]/s-{0..1}.tar") == both);
  CHECK(expand_pattern(folder / "run[1]/s-*.tar") == both);
}

TEST_CASE("pattern: a file that is named twice, numbers that count down") {
  CHECK(code_of("{a,b,a}.tar") == ErrorCode::argument);
  CHECK(is_pattern("s-{3..1}.tar"));
  CHECK(code_of("s-{3..1}.tar") == ErrorCode::argument);
}

TEST_CASE("pattern: more than a million paths are refused") {
  CHECK(code_of("{0..1000000}") == ErrorCode::argument);
  CHECK(expand_pattern("{000..999}{000..999}").size() == 1'000'000);
  CHECK(code_of("{0..999}{0..999}{0..1}") == ErrorCode::argument);
}

}  // namespace tundish
