#include "cli/view/html_sheet.h"

#include <doctest/doctest.h>

#include <string_view>

namespace tundish::cli {

TEST_CASE("base64 is that of RFC 4648") {
  const auto coded = [](std::string_view text) { return base64(std::as_bytes(std::span(text))); };
  CHECK(coded("") == "");
  CHECK(coded("f") == "Zg==");
  CHECK(coded("fo") == "Zm8=");
  CHECK(coded("foo") == "Zm9v");
  CHECK(coded("foobar") == "Zm9vYmFy");
  CHECK(coded("\xff\xfe\xfd") == "//79");
}

TEST_CASE("a name of a sample is text, never markup") {
  CHECK(escape_html("a<script>\"&b") == "a&lt;script&gt;&quot;&amp;b");
  DrawnSample sample;
  sample.key = "<img src=x onerror=alert(1)>.jpg";
  sample.original = {{1, 1}, {1, 2, 3}};
  const std::string page = html_sheet({sample}, {"<b>", "about", "[]"});
  CHECK(page.find("<b>") == page.npos);
  CHECK(page.find("<img src=x") == page.npos);
  CHECK(page.find("&lt;img src=x") != page.npos);
}

}  // namespace tundish::cli
