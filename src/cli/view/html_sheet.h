// A contact sheet as one HTML file with embedded pictures.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "cli/view/drawn.h"

namespace tundish::cli {

struct SheetText {
  std::string title;   // the dataset
  std::string about;   // seed, epochs
  std::string recipe;  // the transforms as JSON
};

// Sample names may contain any bytes. Throws std::bad_alloc.
std::string html_sheet(const std::vector<DrawnSample>& samples, const SheetText& text);

std::string base64(std::span<const std::byte> bytes);
std::string escape_html(const std::string& text);

}  // namespace tundish::cli
