// SPDX-License-Identifier: Apache-2.0
#include "layout_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace mxtool {

namespace {

using mxref::index_t;

/// Light tints of the colours of Okabe and Ito, which differ for every kind of colour vision.
constexpr std::string_view tints[] = {"#a9d6f5", "#f8d28f", "#b3e2d1", "#eec4dc"};

constexpr double margin = 24;
constexpr double head = 100;  // height of title and notes

class drawing {
 public:
  void rect(double x, double y, double width, double height, std::string_view fill) {
    body_ +=
        fmt::format("<rect x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\" fill=\"{}\"/>\n", x,
                    y, width, height, fill);
  }
  void frame(double x, double y, double width, double height, std::string_view kind) {
    body_ +=
        fmt::format("<rect x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\" class=\"{}\"/>\n",
                    x, y, width, height, kind);
  }
  void line(double x1, double y1, double x2, double y2) {
    body_ +=
        fmt::format("<line x1=\"{:g}\" y1=\"{:g}\" x2=\"{:g}\" y2=\"{:g}\"/>\n", x1, y1, x2, y2);
  }
  /// `kind` is a class of the style sheet; y is the baseline.
  void text(double x, double y, std::string_view kind, std::string_view content) {
    std::string escaped;
    for (const char c : content) {
      escaped += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
    }
    body_ +=
        fmt::format("<text x=\"{:g}\" y=\"{:g}\" class=\"{}\">{}</text>\n", x, y, kind, escaped);
  }

  std::string finish(double width, double height, std::string_view title) const {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" "
        "viewBox=\"0 0 {0:g} {1:g}\" role=\"img\">\n<title>{2}</title>\n"
        "<defs><pattern id=\"padding\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
        "<rect width=\"6\" height=\"6\" fill=\"#f4f4f4\"/>"
        "<path d=\"M0 6L6 0\" stroke=\"#b8b8b8\" stroke-width=\"1\"/></pattern></defs>\n"
        "<style>\n"
        "text {{ font-family: 'DejaVu Sans', Verdana, sans-serif; fill: #222; }}\n"
        ".title {{ font-size: 17px; font-weight: bold; }}\n"
        ".note {{ font-size: 12px; fill: #444; }}\n"
        ".head {{ font-size: 12px; font-weight: bold; }}\n"
        ".axis {{ font-size: 10px; fill: #555; text-anchor: middle; }}\n"
        ".side {{ font-size: 10px; fill: #555; text-anchor: end; }}\n"
        ".cell {{ font-size: 10px; text-anchor: middle; }}\n"
        ".small {{ font-size: 8px; text-anchor: middle; }}\n"
        ".thin {{ fill: none; stroke: #9a9a9a; stroke-width: 1; }}\n"
        ".thick {{ fill: none; stroke: #222; stroke-width: 2; }}\n"
        "line {{ stroke: #777; stroke-width: 0.5; }}\n"
        "rect {{ shape-rendering: crispEdges; }}\n"
        "</style>\n<rect width=\"{0:g}\" height=\"{1:g}\" fill=\"#ffffff\"/>\n{3}</svg>\n",
        width, height, title, body_);
  }

 private:
  std::string body_;
};

/// Colours show what a layout takes apart.
int tint_of(const mxref::code_layout& l, index_t k) {
  const int runs = l.group / l.run;
  const auto in_group = static_cast<int>(k % l.group);
  return runs == 1 ? in_group % 4 + (l.group == 1 ? static_cast<int>(k % 4) : 0)
                   : in_group / l.run * 2 % 4 + in_group % 2;
}

int tint_of(const mxref::scale_layout& l, index_t row, index_t col) {
  index_t tint = 0;
  index_t size = 1;
  for (const mxref::scale_digit& d : l.digits) {
    if (d.divisor == 1) continue;
    tint += (d.axis == mxref::scale_axis::row ? row : col) / d.divisor % d.size * size;
    size *= d.size;
  }
  return static_cast<int>(size == 1 ? row % 4 : tint % 4);
}

void heading(drawing& d, const drawing_text& text, std::string_view note) {
  d.text(margin, 32, "title", text.title);
  d.text(margin, 52, "note", text.about);
  d.text(margin, 69, "note", text.sizes);
  d.text(margin, 86, "note", note);
}

/// A sample of padding with its name.
void padding_key(drawing& d, double x, double y) {
  d.rect(x, y, 22, 12, "url(#padding)");
  d.frame(x, y, 22, 12, "thin");
  d.text(x + 28, y + 10, "note", "padding");
}

/// The matrix, coloured as the bytes are, with lines between tiles; where cells are high enough,
/// with their offsets. Returns its height.
double draw_matrix(drawing& d, const mxref::scale_layout& l, index_t rows, index_t cols, double x,
                   double y) {
  const bool is_tall = rows > 40;
  const double width = is_tall ? 22 : 40;
  const double height = is_tall ? (rows > 160 ? 3 : 5) : 17;
  const double right = x + static_cast<double>(cols) * width;
  const double bottom = y + static_cast<double>(rows) * height;
  const auto x_of = [&](index_t col) { return x + static_cast<double>(col) * width; };
  const auto y_of = [&](index_t row) { return y + static_cast<double>(row) * height; };
  d.text(x, y - 22, "head", "matrix of scales");
  for (index_t col = 0; col < cols; ++col) {
    if (cols > 16 && col % 4 != 0) continue;
    d.text(x_of(col) + width / 2, y - 6, "axis", fmt::format("{}", col));
  }
  const index_t step = is_tall ? 16 : 1;
  for (index_t row = 0; row < rows; ++row) {
    if (row % step == 0) {
      d.text(x - 6, y_of(row) + (is_tall ? 8 : 12), "side", fmt::format("{}", row));
    }
    for (index_t col = 0; col < cols; ++col) {
      d.rect(x_of(col), y_of(row), width, height, tints[tint_of(l, row, col)]);
      if (is_tall) continue;
      d.frame(x_of(col), y_of(row), width, height, "thin");
      d.text(x_of(col) + width / 2, y_of(row) + 12, "cell",
             fmt::format("{}", l.offset(rows, cols, row, col)));
    }
  }
  for (index_t row = 0; is_tall && row < rows; row += step) d.line(x, y_of(row), right, y_of(row));
  for (index_t col = 0; is_tall && col < cols; ++col) d.line(x_of(col), y, x_of(col), bottom);
  if (l.tile_rows * l.tile_cols > 1) {
    const index_t tile_rows = l.tile_rows == 1 ? rows : l.tile_rows;  // words are no rows of tiles
    for (index_t row = 0; row < rows; row += tile_rows) {
      for (index_t col = 0; col < cols; col += l.tile_cols) {
        d.frame(x_of(col), y_of(row), x_of(std::min<index_t>(cols, col + l.tile_cols)) - x_of(col),
                y_of(std::min(rows, row + tile_rows)) - y_of(row), "thick");
      }
    }
  }
  d.frame(x, y, right - x, bottom - y, "thick");
  return bottom - y;
}

/// Where tiles, or columns of words, end.
index_t tile_bytes(const mxref::scale_layout& l, index_t rows) {
  if (l.next_tile == mxref::scale_axis::row) return l.padded_rows(rows) * l.tile_cols;
  return index_t{l.tile_rows} * l.tile_cols;
}

constexpr index_t memory_line = 16;
constexpr double memory_width = 46;

/// The bytes of a matrix, tile by tile; many lines of padding become one. Returns where it ends.
double draw_memory(drawing& d, const mxref::scale_layout& l, index_t rows, index_t cols, double x,
                   double y) {
  constexpr double height = 18;
  constexpr double gap = 7;
  const index_t bytes = l.size(rows, cols);
  const index_t tile = tile_bytes(l, rows);
  const index_t part = tile >= memory_line && tile % memory_line == 0 ? tile : bytes;
  const double width = static_cast<double>(std::min(memory_line, bytes)) * memory_width;
  const auto padding_from = [&](index_t at) {  // the end of the padding that starts at a byte
    while (at < bytes && l.position(rows, cols, at).is_padding()) ++at;
    return at == bytes ? at : at / part * part;  // whole parts
  };
  d.text(x, y - 22, "head", "memory");
  for (index_t i = 0; i < std::min(memory_line, bytes); ++i) {
    d.text(x + (static_cast<double>(i) + 0.5) * memory_width, y - 6, "axis", fmt::format("+{}", i));
  }
  double top = y;
  for (index_t first = 0; first < bytes; first += part) {
    if (const index_t end = padding_from(first); end > first) {
      d.text(x - 8, top + 13, "side", fmt::format("{}", first));
      d.rect(x, top, width, height, "url(#padding)");
      d.rect(x + width / 2 - 110, top + 1, 220, height - 2, "#ffffff");
      d.text(x + width / 2, top + 13, "cell",
             fmt::format("bytes {} to {}: only padding", first, end - 1));
      d.frame(x, top, width, height, "thick");
      top += height + gap;
      first = end - part;
      continue;
    }
    const double part_top = top;
    for (index_t at = first; at < std::min(bytes, first + part); ++at) {
      const index_t in_line = (at - first) % memory_line;
      if (in_line == 0 && at != first) top += height;
      if (in_line == 0) d.text(x - 8, top + 13, "side", fmt::format("{}", at));
      const double left = x + static_cast<double>(in_line) * memory_width;
      const mxref::scale_position p = l.position(rows, cols, at);
      d.rect(left, top, memory_width, height,
             p.is_padding() ? "url(#padding)" : tints[tint_of(l, p.row, p.col)]);
      d.frame(left, top, memory_width, height, "thin");
      if (p.is_padding()) continue;
      d.text(left + memory_width / 2, top + 13, "cell", fmt::format("{},{}", p.row, p.col));
    }
    const index_t rest = (std::min(bytes, first + part) - first) % memory_line;
    d.frame(x, part_top, width, top + (rest == 0 ? height : 0) - part_top, "thick");
    if (rest != 0) d.frame(x, top, static_cast<double>(rest) * memory_width, height, "thick");
    top += height + gap;
  }
  return top;
}

}  // namespace

std::vector<bit_part> parts_of(const mxref::code_layout& l, index_t k) {
  const auto first = static_cast<index_t>(l.bit(static_cast<std::size_t>(k)));
  std::vector<bit_part> parts;
  for (index_t bit = first; bit < first + l.bits;) {
    const auto in_byte = static_cast<int>(bit % 8);
    const int count = std::min(8 - in_byte, static_cast<int>(first + l.bits - bit));
    const bool low_first = l.order == mxref::bit_order::low_first;
    const int low = low_first ? in_byte : 8 - in_byte - count;
    parts.push_back({bit / 8, low + count - 1, low});
    bit += count;
  }
  return parts;
}

std::string draw_codes(const mxref::code_layout& l, const drawing_text& text, index_t depth) {
  constexpr index_t line = 8;
  constexpr double bit = 12;
  constexpr double byte = 8 * bit + 6;
  constexpr double height = 30;
  constexpr double left = margin + 40;
  constexpr double top = head + 44;
  const auto bytes = static_cast<index_t>(l.row_bytes(static_cast<std::size_t>(depth)));
  drawing d;
  heading(
      d, text,
      "One row: bytes from left to right, each with its bit 7 on the left. A number is the k of "
      "a code.");
  for (index_t i = 0; i < std::min(line, bytes); ++i) {
    const double x = left + static_cast<double>(i) * byte;
    d.text(x + 4 * bit, head + 24, "axis", fmt::format("byte +{}", i));
    for (int b = 0; b < 8; ++b) {
      d.text(x + (b + 0.5) * bit, head + 38, "small", fmt::format("{}", 7 - b));
    }
  }
  const auto x_of = [&](index_t at) { return left + static_cast<double>(at % line) * byte; };
  const auto y_of = [&](index_t at) { return top + static_cast<double>(at / line) * height; };
  constexpr double box = height - 8;
  for (index_t at = 0; at < bytes; ++at) {
    if (at % line == 0) d.text(left - 8, y_of(at) + 15, "side", fmt::format("{}", at));
    d.rect(x_of(at), y_of(at), 8 * bit, box, "url(#padding)");
  }
  for (index_t k = 0; k < depth; ++k) {
    for (const bit_part& p : parts_of(l, k)) {
      const double x = x_of(p.byte) + (7 - p.high) * bit;
      const double width = (p.high - p.low + 1) * bit;
      d.rect(x, y_of(p.byte), width, box, tints[tint_of(l, k)]);
      d.frame(x, y_of(p.byte), width, box, "thin");
      d.text(x + width / 2, y_of(p.byte) + 15, width < 20 ? "small" : "cell", fmt::format("{}", k));
    }
  }
  for (index_t at = 0; at < bytes; ++at) {
    d.frame(x_of(at), y_of(at), 8 * bit, box, "thick");
  }
  const double end = y_of(std::max<index_t>(0, bytes - 1)) + height;
  if (bytes * 8 > depth * l.bits) padding_key(d, left, end + 6);
  return d.finish(left + line * byte + margin, end + 36, text.title);
}

std::string draw_scales(const mxref::scale_layout& l, const drawing_text& text, index_t rows,
                        index_t cols) {
  const double matrix_left = margin + 30;
  const double top = head + 46;
  drawing d;
  heading(d, text,
          "Left: the matrix, rows down, blocks of k across. Right: bytes in memory, with the "
          "row,block of their scale.");
  const double matrix_width = std::max(110.0, static_cast<double>(cols) * (rows > 40 ? 22 : 40));
  const double matrix_height = draw_matrix(d, l, rows, cols, matrix_left, top);
  const double left = matrix_left + matrix_width + 74;
  const double end = draw_memory(d, l, rows, cols, left, top);
  if (l.size(rows, cols) > rows * cols) padding_key(d, left, end);
  return d.finish(left + memory_line * memory_width + margin,
                  std::max(end + 20, top + matrix_height) + margin, text.title);
}

}  // namespace mxtool
