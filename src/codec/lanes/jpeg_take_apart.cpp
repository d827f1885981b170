#include <algorithm>
#include <cstdlib>

#include "codec/lanes/jpeg_file.h"
#include "codec/lanes/jpeg_markers.h"
#include "codec/lanes/jpeg_reader.h"
#include "codec/lanes/jpeg_restore.h"

namespace tundish::lanes {
namespace {

// The file without its entropy-coded data, and the data needed to write them again.
struct Outline {
  Frame frame;
  std::vector<Bytes> literal;             // pieces of the file
  std::vector<std::uint8_t> last_bytes;   // one per interval
  bool interleaved[kMaxComponents] = {};  // true if in some interleaved scan
};

Unfit judge(const Frame& frame, std::size_t file_bytes, const JpegLimits& limits) {
  if (frame.marker == 0xc9 || frame.marker == 0xca) return Unfit::arithmetic;
  if (frame.marker > kSof2) return Unfit::lossless_or_hierarchical;
  if (frame.precision != 8) return Unfit::precision;
  if (frame.components == 4) return Unfit::cmyk;
  if (frame.width < 1 || frame.height < 1) return Unfit::corrupt;
  if (!sampling_of(frame)) return Unfit::sampling;
  const auto pixels =
      static_cast<std::uint64_t>(frame.width) * static_cast<std::uint64_t>(frame.height);
  if (pixels > limits.max_pixels) return Unfit::too_large;
  // A block takes at least one bit, so a small file cannot request much memory.
  if (pixels / 64 / 8 > file_bytes) return Unfit::corrupt;
  return Unfit::none;
}

// Walks the markers as put_together() does.
Unfit outline(Outline& out, Bytes file, const JpegLimits& limits) {
  bool framed = false;
  std::uint32_t scans = 0;
  std::size_t copied = 0;
  for (std::size_t at = 0; const auto segment = segment_at(file, at);) {
    at = segment->end;
    if (segment->marker == kEoi) break;
    if (is_frame(segment->marker)) {
      if (framed || !read_frame(out.frame, *segment)) return Unfit::corrupt;
      framed = true;
      const Unfit unfit = judge(out.frame, file.size(), limits);
      if (unfit != Unfit::none) return unfit;
    }
    if (segment->marker != kSos) continue;
    ScanHeader scan;
    if (!framed || !read_scan_header(scan, *segment, out.frame)) return Unfit::corrupt;
    if (++scans > limits.max_scans) return Unfit::too_large;
    for (int s = 0; scan.components > 1 && s < scan.components; ++s) {
      out.interleaved[scan.component[s].component] = true;
    }
    out.literal.push_back(file.subspan(copied, at - copied));
    copied = at = find_scan_end(file, at, out.last_bytes);
  }
  out.literal.push_back(file.subspan(copied));
  return scans > 0 ? Unfit::none : Unfit::corrupt;
}

// False if libjpeg would smooth: the first AC coefficients of a progressive image are incomplete.
bool is_complete(const jpeg_decompress_struct& info) {
  for (int c = 0; c < info.num_components; ++c) {
    if (info.comp_info[c].quant_table == nullptr) return false;  // in no scan
    for (int i = 0; info.coef_bits != nullptr && i <= 9; ++i) {
      if (info.coef_bits[c][i] != 0) return false;
    }
  }
  return true;
}

// Copies blocks; returns false if a coefficient is out of range.
bool append_blocks(Blocks& out, const JBLOCK* blocks, int count) {
  const auto* begin = reinterpret_cast<const Block*>(blocks);
  static_assert(sizeof(Block) == sizeof(JBLOCK));
  out.insert(out.end(), begin, begin + count);
  std::int16_t low = 0, high = 0;
  for (const Block* block = begin; block != begin + count; ++block) {
    for (const std::int16_t value : *block) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  return low >= -kMaxAc && high <= kMaxAc;
}

Unfit read_component(Coefficients& out, JpegReader& reader, int c) {
  const Component& component = out.geometry.component[c];
  const jpeg_component_info& info = reader.info().comp_info[c];
  if (static_cast<int>(info.width_in_blocks) != component.blocks_x ||
      static_cast<int>(info.height_in_blocks) != component.blocks_y) {
    return Unfit::sampling;
  }
  for (std::size_t i = 0; i < 64; ++i) {
    out.quantization[c][i] = info.quant_table->quantval[i];
    if (out.quantization[c][i] == 0) return Unfit::corrupt;
  }
  Blocks& blocks = out.blocks[c];
  blocks.clear();
  blocks.reserve(static_cast<std::size_t>(component.blocks_x) *
                 static_cast<std::size_t>(component.blocks_y));
  for (int y = 0; y < component.blocks_y; ++y) {
    const JBLOCK* row = reader.row(c, y);
    if (row == nullptr) return Unfit::corrupt;
    if (!append_blocks(blocks, row, component.blocks_x)) return Unfit::range;
  }
  return Unfit::none;
}

// Reads the blocks beyond the edge, in the order of jpeg_file.h; empty if all blocks are usual.
Unfit read_edges(Blocks& out, JpegReader& reader, const Geometry& geometry, int c) {
  const Component& component = geometry.component[c];
  const int h = reader.info().comp_info[c].h_samp_factor;
  const int v = reader.info().comp_info[c].v_samp_factor;
  const int filled_x = (component.blocks_x + h - 1) / h * h;
  const int filled_y = (component.blocks_y + v - 1) / v * v;
  bool usual = true;
  for (int y = 0; y < filled_y; ++y) {
    const int begin = y < component.blocks_y ? component.blocks_x : 0;
    if (begin == filled_x) continue;
    const JBLOCK* row = reader.row(c, y);
    const JBLOCK* above = y % v != 0 ? reader.row(c, y - 1) : nullptr;
    if (row == nullptr || (y % v != 0 && above == nullptr)) return Unfit::corrupt;
    for (int x = begin; x < filled_x; ++x) {
      if (x % h == 0 && above == nullptr) return Unfit::corrupt;  // an MCU without a pixel
      const std::size_t kept = out.size();
      if (!append_blocks(out, row + x, 1)) return Unfit::range;
      out[kept][0] =
          static_cast<std::int16_t>(row[x][0] - (x % h != 0 ? row[x - 1] : above[x + h - 1])[0]);
      usual = usual && out[kept] == Block{};
    }
  }
  if (usual) out.clear();
  return Unfit::none;
}

}  // namespace

const char* unfit_name(Unfit unfit) {
  static constexpr const char* kNames[kUnfits] = {
      "fit",       "not a JPEG",     "CMYK",    "not 8 bits",    "arithmetic coding",
      "lossless",  "sampling",       "corrupt", "scans missing", "coefficient range",
      "too large", "not restorable", "growth"};
  return kNames[static_cast<std::size_t>(unfit)];
}

Unfit take_apart(Coefficients& out, std::vector<std::byte>& restore_bytes, Bytes file,
                 const JpegLimits& limits) {
  if (file.size() < 2 || file[0] != std::byte{0xff} || file[1] != std::byte{kSoi}) {
    return Unfit::not_jpeg;
  }
  if (file.size() > limits.max_bytes) return Unfit::too_large;
  Outline seen;
  Unfit unfit = outline(seen, file, limits);
  if (unfit != Unfit::none) return unfit;

  JpegReader reader(file, limits.max_scans);
  if ((unfit = reader.read_header()) != Unfit::none) return unfit;
  const jpeg_decompress_struct& info = reader.info();
  if (static_cast<int>(info.image_width) != seen.frame.width ||
      static_cast<int>(info.image_height) != seen.frame.height ||
      info.num_components != seen.frame.components) {
    return Unfit::corrupt;
  }
  if ((unfit = reader.read_coefficients()) != Unfit::none) return unfit;
  if (!is_complete(info)) return Unfit::incomplete;

  out.geometry = make_geometry(seen.frame.width, seen.frame.height, *sampling_of(seen.frame));
  out.color = info.jpeg_color_space == JCS_RGB ? Color::rgb : Color::ycc;
  Restore restore;
  for (int c = 0; c < out.geometry.components; ++c) {
    if ((unfit = read_component(out, reader, c)) != Unfit::none) return unfit;
    if (!seen.interleaved[c]) continue;
    if ((unfit = read_edges(restore.edges[c], reader, out.geometry, c)) != Unfit::none)
      return unfit;
  }
  for (int c = out.geometry.components; c < kMaxComponents; ++c) out.blocks[c].clear();

  restore.padding = make_padding(seen.last_bytes);
  restore_bytes.clear();
  write_restore(restore_bytes, restore);
  for (const Bytes piece : seen.literal) {
    restore_bytes.insert(restore_bytes.end(), piece.begin(), piece.end());
  }
  return Unfit::none;
}

}  // namespace tundish::lanes
