// SPDX-License-Identifier: Apache-2.0
#include "chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace instability {

namespace {

/// A scale from values to pixels, with ticks at round numbers.
class scale {
 public:
  /// whole_steps: from tick to tick; else as far as the values go.
  scale(double low, double high, bool logarithmic, bool whole_steps, double from, double to)
      : logarithmic_(logarithmic), from_(from), to_(to) {
    if (logarithmic) {
      low_ = std::log10(low);
      high_ = std::log10(high);
      const double margin = 0.05 * std::max(0.2, high_ - low_);
      low_ -= margin;
      high_ += margin;
      add_decades(high_ - low_ < 2);
      return;
    }
    if (high - low < 1e-12 * std::max(1.0, std::fabs(high))) {
      const double margin = std::max(1e-6, 0.05 * std::fabs(high));
      low -= margin;
      high += margin;
    }
    const double rough = (high - low) / 4;
    const double power = std::pow(10, std::floor(std::log10(rough)));
    const double digit = rough / power;
    step_ = power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
    const double first = std::floor(low / step_ + 1e-9) * step_;
    const double last = std::ceil(high / step_ - 1e-9) * step_;
    low_ = whole_steps ? first : low;
    high_ = whole_steps ? last : high;
    for (double t = first; t <= last + step_ / 2; t += step_) {
      if (t >= low_ - 1e-9 * step_ && t <= high_ + 1e-9 * step_) ticks_.push_back(t);
    }
  }

  double at(double x) const {
    const double v = logarithmic_ ? std::log10(x) : x;
    return from_ + (v - low_) / (high_ - low_) * (to_ - from_);
  }
  const std::vector<double>& ticks() const { return ticks_; }

  std::string label(double t, bool share) const {
    if (share) return fmt::format("{:.3g}%", 100 * t);
    if (std::fabs(t) < 1e-12) return "0";
    if (logarithmic_ && (t < 1e-3 || t >= 1e4)) return fmt::format("{:.0e}", t);
    if (std::fabs(t) >= 1e5 || std::fabs(t) < 1e-3) return fmt::format("{:.2g}", t);
    return fmt::format("{:.4g}", t);
  }

 private:
  /// Powers of ten, of short ranges also 2 and 5 of each.
  void add_decades(bool dense) {
    const double every = std::max(1.0, std::ceil((high_ - low_) / 5));
    for (double t = std::floor(low_); t <= high_; t += every) {
      for (const double digit : {1.0, 2.0, 5.0}) {
        const double at = t + std::log10(digit);
        if ((digit == 1 || dense) && at >= low_ && at <= high_) {
          ticks_.push_back(std::pow(10, at));
        }
      }
    }
  }

  bool logarithmic_;
  double from_, to_;
  double low_ = 0, high_ = 1, step_ = 1;
  std::vector<double> ticks_;
};

struct range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void include(double x) {
    low = std::min(low, x);
    high = std::max(high, x);
  }
};

bool can_draw(const chart& c, double y) { return std::isfinite(y) && (!c.logarithmic || y > 0); }

std::string color(int slot) { return slot < 0 ? "var(--grey)" : fmt::format("var(--s{})", slot); }

std::string path_of(const chart& c, const chart_series& s, const scale& x, const scale& y) {
  std::string path;
  for (const auto& [step, value] : s.points) {
    if (!can_draw(c, value)) continue;
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x.at(step), y.at(value));
  }
  return path;
}

std::string band_of(const chart_series& s, const scale& x, const scale& y) {
  std::string there;
  std::string back;
  for (std::size_t i = 0; i < s.points.size() && i < s.spread.size(); ++i) {
    const auto& [step, value] = s.points[i];
    there += fmt::format("{}{:.1f} {:.1f}", there.empty() ? "M" : "L", x.at(step),
                         y.at(value + s.spread[i]));
    back = fmt::format("L{:.1f} {:.1f}", x.at(step), y.at(value - s.spread[i])) + back;
  }
  return there + back + "Z";
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string draw(const chart& c) {
  range xs;
  range ys;
  for (const chart_series& s : c.series) {
    for (std::size_t i = 0; i < s.points.size(); ++i) {
      const auto& [step, value] = s.points[i];
      if (!can_draw(c, value)) continue;
      xs.include(step);
      const double half = i < s.spread.size() ? s.spread[i] : 0;
      ys.include(value - half);
      ys.include(value + half);
    }
  }
  if (xs.low > xs.high) return "";
  if (c.from_zero) ys.include(0);
  constexpr double left = 52;
  constexpr double bottom = 26;
  const double right = c.width - 12.0;
  const scale x(xs.low, xs.high, false, false, left, right);
  const scale y(ys.low, ys.high, c.logarithmic, true, c.height - bottom, 10);

  std::string svg = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">",
                                c.width, c.height, escaped(c.title));
  for (const double t : y.ticks()) {
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
        "<text class=\"tick\" text-anchor=\"end\" x=\"{}\" y=\"{:.1f}\">{}</text>",
        left, right, y.at(t), y.at(t), left - 7, y.at(t) + 3.5, y.label(t, c.share));
  }
  for (const double t : x.ticks()) {
    svg +=
        fmt::format("<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{}\">{}</text>",
                    x.at(t), c.height - 8, x.label(t, false));
  }
  for (const chart_series& s : c.series) {
    if (!s.spread.empty()) {
      svg += fmt::format("<path d=\"{}\" fill=\"{}\" opacity=\"0.14\"/>", band_of(s, x, y),
                         color(s.color));
    }
    svg += fmt::format("<path class=\"line\" d=\"{}\" stroke=\"{}\"{}><title>{}</title></path>",
                       path_of(c, s, x, y), color(s.color),
                       s.dashed ? " stroke-dasharray=\"5 4\"" : "", escaped(s.name));
  }
  svg += "</svg>";

  std::string legend;
  for (const chart_series& s : c.series) {
    if (s.points.empty() || c.series.size() < 2) continue;
    legend += fmt::format("<span><i class=\"{}\" style=\"color:{}\"></i>{}</span>",
                          s.dashed ? "dashed" : "", color(s.color), escaped(s.name));
  }
  return fmt::format("<figure><figcaption><b>{}</b>{}</figcaption>{}{}</figure>\n",
                     escaped(c.title),
                     c.note.empty() ? "" : "<small>" + escaped(c.note) + "</small>",
                     legend.empty() ? "" : "<div class=\"legend\">" + legend + "</div>", svg);
}

}  // namespace instability
