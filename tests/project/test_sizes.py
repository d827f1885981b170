"""One idea per file, one step per function: at most 400 lines per file and 60 per function.

tests/project/test_layers.py counts the files of a folder.
"""

import pytest

from tests.helpers import sizes

FILE_LINES = 400
FUNCTION_LINES = 60


def lines_of(path):
    return len(path.read_text().splitlines())


def test_no_file_is_too_long():
    files = sizes.sources()
    assert {file.suffix for file in files} >= sizes.CPP | sizes.OTHERS
    long = [
        f"{file.relative_to(sizes.ROOT)} has {lines_of(file)} lines"
        for file in files
        if lines_of(file) > FILE_LINES
    ]
    assert not long, "\n".join(long)


def test_no_function_is_too_long():
    found = {file: sizes.functions(file) for file in sizes.sources()}
    assert sum(map(len, found.values())) > 4000
    long = [
        f"{file.relative_to(sizes.ROOT)}:{one.line}: {one.name} has {one.lines} lines"
        for file, all_of_it in found.items()
        for one in all_of_it
        if one.lines > FUNCTION_LINES
    ]
    assert not long, "\n".join(long)


PYTHON = """
def one(a):
    def two():
        pass

    return two

class A:
    async def f(self): ...
"""


def test_functions_of_python_are_counted_with_what_is_inside_them():
    assert set(sizes.python_functions(PYTHON)) == {("one", 2, 5), ("two", 3, 2), ("f", 9, 1)}


CPP = r"""
// int not_code() {
#define BROKEN(a) \
  if (a) {
namespace tundish {
namespace {

struct alignas(64) Point {
  int x = 0, y[2] = {1, 2};
  std::string text{"} // {"};

  template <class T, int kN = 3>
  Point(T a, std::vector<int> b)
      : x{static_cast<int>(a)},
        text(b.empty() ? R"(})" : "") {
    y[0] = '{';
  }
  int sum() const noexcept { return x + y[0]; }
};

constexpr int kTable[] = {1, 2, 3};
enum class Kind : int { one, two };

// A comment before it does not count.
auto longest(const std::vector<int>& all)
    -> std::vector<int> {
  const auto twice = [](int a) {
    return 2 * a;
  };
  for (const int a : all) {
    if (a > 1'000'000) return {twice(a)};
  }
  return {};
}

__global__ void kernel(int* out) {
  out[0] = 1;
}

}  // namespace

bool operator==(const Point& a, const Point& b) {
  return a.x == b.x;
}

TEST_CASE("a { b") {
  CHECK(true);
}
}  // namespace tundish
extern "C" {
int tundish_f(void) {
  return 0;
}
}
"""


def test_functions_of_cpp_are_counted():
    assert sizes.cpp_functions(CPP) == [
        ("Point", 12, 6),
        ("sum", 18, 1),
        ("longest", 25, 10),
        ("operator==", 42, 3),
        ("TEST_CASE", 46, 3),
        ("tundish_f", 51, 3),
    ]


@pytest.mark.parametrize("text", ["void f() {\n", "}\n"])
def test_braces_that_do_not_match_are_an_error_and_not_a_short_function(text):
    with pytest.raises(ValueError, match="brace"):
        sizes.cpp_functions(text)
