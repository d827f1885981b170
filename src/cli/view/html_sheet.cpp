#include "cli/view/html_sheet.h"

#include <fmt/format.h>

#include "base/error.h"
#include "cli/samples/encode_jpeg.h"
#include "cli/view/describe_step.h"

namespace tundish::cli {
namespace {

constexpr const char* kHead = R"(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{0}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 14px/1.4 system-ui, sans-serif; margin: 1.5em; }}
table {{ border-spacing: 8px; }}
th, td {{ text-align: left; vertical-align: top; font-weight: normal; }}
th {{ position: sticky; left: 0; background: Canvas; }}
img {{ display: block; }}
small {{ display: block; font-size: 11px; max-width: 24em; overflow-wrap: anywhere; }}
pre {{ white-space: pre-wrap; }}
</style>
<h1>{0}</h1>
<p>{1}</p>
<details><summary>transforms</summary><pre>{2}</pre></details>
<table>
)";

// Uses JPEG: this quality shows no visible difference, at a tenth of the size of PNGs.
std::string image_tag(const Picture& picture, const std::string& alt) {
  const std::vector<std::byte> jpeg = encode_jpeg(picture.rgb, picture.size, {.quality = 95});
  return fmt::format(
      "<img width=\"{}\" height=\"{}\" alt=\"{}\" src=\"data:image/jpeg;base64,{}\">",
      picture.size.width, picture.size.height, escape_html(alt), base64(jpeg));
}

std::string row_of(const DrawnSample& sample) {
  const std::string name = escape_html(printable(sample.key));
  std::string out =
      fmt::format("<tr><th>{}<small>sample {}, label {}, {}x{}<br>{}</small></th>\n",
                  image_tag(sample.original, fmt::format("sample {}", sample.sample)),
                  sample.sample, sample.label, sample.stored.width, sample.stored.height, name);
  for (const DrawnPicture& draw : sample.draws) {
    std::string words = fmt::format("epoch {}", draw.epoch);
    for (const std::string& word : describe_steps(draw.view)) words += ", " + word;
    out += fmt::format("<td>{}<small>{}</small></td>\n",
                       image_tag(draw.picture, fmt::format("epoch {}", draw.epoch)),
                       escape_html(words));
  }
  return out + "</tr>\n";
}

}  // namespace

std::string html_sheet(const std::vector<DrawnSample>& samples, const SheetText& text) {
  std::string out = fmt::format(kHead, escape_html(printable(text.title)), escape_html(text.about),
                                escape_html(text.recipe));
  for (const DrawnSample& sample : samples) out += row_of(sample);
  return out + "</table>\n";
}

std::string base64(std::span<const std::byte> bytes) {
  constexpr const char* kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t have = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (k < have ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += k <= have ? kLetters[bits >> (18 - 6 * k) & 63] : '=';
    }
  }
  return out;
}

std::string escape_html(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += letter;
    }
  }
  return out;
}

}  // namespace tundish::cli
