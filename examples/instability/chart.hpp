// SPDX-License-Identifier: Apache-2.0
// Line charts as SVG text.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace instability {

struct chart_series {
  std::string name;
  std::vector<std::pair<double, double>> points;
  int color = 0;  ///< slot of the palette; -1: grey
  bool dashed = false;
  std::vector<double> spread{};  ///< half widths of a band around the line
};

struct chart {
  std::string title;
  std::string note;  ///< what is drawn, in a line below the title
  std::vector<chart_series> series;
  bool logarithmic = false;
  bool from_zero = false;
  bool share = false;  ///< percent
  int width = 520;
  int height = 260;
};

/// The chart as one <figure> element, empty where no series has a point.
std::string draw(const chart& c);

/// Text for HTML.
std::string escaped(const std::string& text);

}  // namespace instability
