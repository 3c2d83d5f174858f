// SPDX-License-Identifier: Apache-2.0
#include "settings_json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include "names.hpp"

namespace instability {

namespace {

template <class... Args>
[[noreturn]] void fail(const std::string& where, fmt::format_string<Args...> text, Args&&... args) {
  throw settings_error(
      fmt::format("{}: {}", where, fmt::format(text, std::forward<Args>(args)...)));
}

std::string type_of(const json& j) {
  if (j.is_object()) return "an object";
  if (j.is_array()) return "an array";
  if (j.is_string()) return "a string";
  if (j.is_boolean()) return "true or false";
  if (j.is_null()) return "null";
  return "a number";
}

std::string number_text(double x) {
  if (x == std::floor(x) && std::fabs(x) < 1e16) return fmt::format("{:.0f}", x);
  return fmt::format("{}", x);
}

/// Reads what an object has into the settings that describe() shows.
class reader {
 public:
  reader(const json& object, std::string file, std::string path)
      : object_(object), file_(std::move(file)), path_(std::move(path)) {
    if (!object.is_object()) fail(where(""), "must be an object, not {}", type_of(object));
  }

  template <class Value, std::size_t N>
  void choice(std::string_view name, Value& value, const named<Value> (&names)[N],
              std::string_view) {
    const json* const j = find(name);
    if (j == nullptr) return;
    const std::string text = j->is_string() ? mxtool::normalized(j->get<std::string>()) : "";
    std::vector<std::string_view> known;
    for (const auto& n : names) {
      known.push_back(n.name);
      if (n.name != text) continue;
      value = n.value;
      return;
    }
    fail(where(name), "must be one of {}, not {}", fmt::join(known, " "),
         j->is_string() ? j->dump() : type_of(*j));
  }

  template <class Number>
  void number(std::string_view name, Number& value, limits allowed, std::string_view,
              int multiple = 1) {
    const json* const j = find(name);
    if (j == nullptr) return;
    constexpr bool whole = std::is_integral_v<Number>;
    const std::string wanted =
        fmt::format("{}{} from {} to {}", whole ? "a whole number" : "a number",
                    multiple > 1 ? fmt::format(", a multiple of {},", multiple) : "",
                    number_text(allowed.low), number_text(allowed.high));
    if (!j->is_number()) fail(where(name), "must be {}, not {}", wanted, type_of(*j));
    const double x = j->get<double>();
    const bool fits = x >= allowed.low && x <= allowed.high &&
                      (!whole || (x == std::floor(x) && std::fmod(x, multiple) == 0));
    if (!fits) fail(where(name), "must be {}, not {}", wanted, j->dump());
    value = static_cast<Number>(x);
  }

  void flag(std::string_view name, bool& value, std::string_view) {
    const json* const j = find(name);
    if (j == nullptr) return;
    if (!j->is_boolean()) fail(where(name), "must be true or false, not {}", type_of(*j));
    value = j->get<bool>();
  }

  void text(std::string_view name, std::string& value, std::string_view) {
    const json* const j = find(name);
    if (j == nullptr) return;
    if (!j->is_string()) fail(where(name), "must be a string, not {}", type_of(*j));
    value = j->get<std::string>();
  }

  void steps(std::string_view name, std::vector<std::int64_t>& value, std::string_view) {
    const json* const j = find(name);
    if (j == nullptr) return;
    const auto is_step = [](const json& s) {
      return s.is_number_integer() && s.get<double>() >= 1 && s.get<double>() <= 1e9;
    };
    bool fits = j->is_array();
    for (const json& s : fits ? *j : json::array()) fits = fits && is_step(s);
    if (!fits) fail(where(name), "must be an array of whole numbers from 1 to 1000000000");
    value = j->get<std::vector<std::int64_t>>();
  }

  void changes(std::string_view name, std::vector<setting_change>& value, std::string_view) {
    const json* const j = find(name);
    if (j == nullptr) return;
    if (!j->is_array()) fail(where(name), "must be an array, not {}", type_of(*j));
    value.clear();
    for (std::size_t i = 0; i < j->size(); ++i) {
      const std::string path = fmt::format("{}.{}[{}]", path_, name, i);
      reader inner((*j)[i], file_, path);
      setting_change change;
      inner.number("step", change.step, {1, 1e9}, "");
      const json* const set = inner.find("set");
      if (set != nullptr) change.set = set->dump();
      inner.finish();
      study_settings scratch;  // only to name what is wrong with it here
      apply(parse_json(change.set, path), fmt::format("{}: {}.set", file_, path), scratch);
      value.push_back(std::move(change));
    }
  }

  template <class Part>
  void object(std::string_view name, Part& part, std::string_view) {
    const json* const j = find(name);
    if (j != nullptr) read(*j, name, part);
  }

  void all_roles(std::string_view name, role_precision (&roles)[role_count], std::string_view) {
    const json* const j = find(name);
    if (j == nullptr) return;
    for (role_precision& r : roles) read(*j, name, r);
  }

  /// Every key was asked for.
  void finish() const {
    for (const auto& item : object_.items()) {
      if (known_.contains(item.key())) continue;
      const std::vector<std::string_view> known(known_.begin(), known_.end());
      try {
        mxtool::throw_unknown("key", item.key(), known);
      } catch (const std::runtime_error& e) {
        fail(where(""), "{}", e.what());
      }
    }
  }

 private:
  std::string where(std::string_view name) const {
    return fmt::format("{}: {}{}{}", file_, path_, name.empty() ? "" : ".", name);
  }
  const json* find(std::string_view name) {
    known_.insert(std::string(name));
    const auto at = object_.find(std::string(name));
    return at == object_.end() ? nullptr : &*at;
  }
  template <class Part>
  void read(const json& j, std::string_view name, Part& part) {
    const std::string path = fmt::format("{}.{}", path_, name);
    // A role may be its format alone.
    const bool is_short = std::is_same_v<Part, role_precision> && j.is_string();
    const json whole = is_short ? json{{"format", j}} : j;
    reader inner(whole, file_, path);
    describe(inner, part);
    inner.finish();
  }

  const json& object_;
  std::string file_;
  std::string path_;
  std::set<std::string> known_;
};

class writer {
 public:
  json result = json::object();

  template <class Value, std::size_t N>
  void choice(std::string_view name, Value& value, const named<Value> (&names)[N],
              std::string_view) {
    for (const auto& n : names) {
      if (n.value == value) result[std::string(name)] = n.name;
    }
  }
  template <class Number>
  void number(std::string_view name, Number& value, limits, std::string_view, int = 1) {
    result[std::string(name)] = value;
  }
  template <class Value>
  void put(std::string_view name, const Value& value) {
    result[std::string(name)] = value;
  }
  void flag(std::string_view name, bool& value, std::string_view) { put(name, value); }
  void text(std::string_view name, std::string& value, std::string_view) { put(name, value); }
  void steps(std::string_view name, std::vector<std::int64_t>& value, std::string_view) {
    put(name, value);
  }
  void changes(std::string_view name, std::vector<setting_change>& value, std::string_view) {
    json list = json::array();
    for (const setting_change& c : value) {
      list.push_back({{"step", c.step}, {"set", json::parse(c.set)}});
    }
    put(name, list);
  }
  void all_roles(std::string_view, role_precision (&)[role_count], std::string_view) {}
  template <class Part>
  void object(std::string_view name, Part& part, std::string_view) {
    writer inner;
    describe(inner, part);
    result[std::string(name)] = inner.result;
  }
};

class schema_writer {
 public:
  json properties = json::object();

  template <class Value, std::size_t N>
  void choice(std::string_view name, Value& value, const named<Value> (&names)[N],
              std::string_view help) {
    json known = json::array();
    json first;
    for (const auto& n : names) {
      known.push_back(n.name);
      if (n.value == value) first = n.name;
    }
    put(name, {{"enum", known}, {"default", first}}, help);
  }
  template <class Number>
  void number(std::string_view name, Number& value, limits allowed, std::string_view help,
              int multiple = 1) {
    json j = {{"type", std::is_integral_v<Number> ? "integer" : "number"},
              {"minimum", allowed.low},
              {"maximum", allowed.high},
              {"default", value}};
    if (multiple > 1) j["multipleOf"] = multiple;
    put(name, j, help);
  }
  void flag(std::string_view name, bool& value, std::string_view help) {
    put(name, {{"type", "boolean"}, {"default", value}}, help);
  }
  void text(std::string_view name, std::string& value, std::string_view help) {
    put(name, {{"type", "string"}, {"default", value}}, help);
  }
  void steps(std::string_view name, std::vector<std::int64_t>&, std::string_view help) {
    put(name, {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 1}}}}, help);
  }
  void changes(std::string_view name, std::vector<setting_change>&, std::string_view help) {
    const json step = {{"type", "integer"}, {"minimum", 1}};
    const json item = {{"type", "object"},
                       {"additionalProperties", false},
                       {"properties", {{"step", step}, {"set", {{"type", "object"}}}}}};
    put(name, {{"type", "array"}, {"items", item}}, help);
  }
  void all_roles(std::string_view name, role_precision (&roles)[role_count],
                 std::string_view help) {
    object(name, roles[0], help);
  }
  template <class Part>
  void object(std::string_view name, Part& part, std::string_view help) {
    json j = of(part);
    if constexpr (std::is_same_v<Part, role_precision>) {
      j = {{"oneOf", json::array({j["properties"]["format"], j})}};
    }
    put(name, j, help);
  }
  template <class Part>
  static json of(Part& part) {
    schema_writer inner;
    describe(inner, part);
    return {{"type", "object"}, {"additionalProperties", false}, {"properties", inner.properties}};
  }

 private:
  void put(std::string_view name, json j, std::string_view help) {
    if (!help.empty()) j["description"] = help;
    properties[std::string(name)] = std::move(j);
  }
};

}  // namespace

json parse_json(const std::string& text, const std::string& name) {
  try {
    return json::parse(text, nullptr, true, true);
  } catch (const json::parse_error& e) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    const std::string what = e.what();
    const std::size_t from = what.find("] ");
    fail(name, "{}", from == what.npos ? what : what.substr(from + 2));
  }
}

json read_json_file(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) fail(path, "cannot be read");
  return parse_json(text.str(), path);
}

void apply(const json& patch, const std::string& name, study_settings& s) {
  study_settings changed = s;
  reader r(patch, name, "$");
  describe(r, changed);
  r.finish();
  s = changed;
}

json nested(std::string_view path, json value) {
  const std::size_t dot = path.rfind('.');
  const std::string last(path.substr(dot == path.npos ? 0 : dot + 1));
  json j = json::object();
  j[last] = std::move(value);
  return dot == path.npos ? j : nested(path.substr(0, dot), std::move(j));
}

json patch_of(std::string_view assignment) {
  const std::size_t at = assignment.find('=');
  if (at == assignment.npos || at == 0) {
    fail("--set", "write PATH=VALUE, such as optimizer.learning_rate=1e-3, not '{}'", assignment);
  }
  const std::string value(assignment.substr(at + 1));
  json parsed = json::parse(value, nullptr, false);
  if (parsed.is_discarded()) parsed = value;  // a word is a string
  return nested(assignment.substr(0, at), std::move(parsed));
}

void check(const study_settings& s, const std::string& name) {
  if (s.model.gated() && s.model.hidden() < 16) fail(name, "$.model.width: too small for swiglu");
  const auto whole = [&](std::string_view what, std::int64_t every) {
    if (every % s.measure.every == 0) return;
    fail(name, "$.measure.{}: must be a multiple of $.measure.every ({}), not {}", what,
         s.measure.every, every);
  };
  whole("gradients_every", s.measure.gradients_every);
  whole("validate_every", s.measure.validate_every);
  for (std::size_t i = 0; i < s.changes.size(); ++i) {
    if (i > 0 && s.changes[i].step < s.changes[i - 1].step) {
      fail(name, "$.changes[{}].step: must not be before that of the change above", i);
    }
  }
  json before = to_json(s);
  json after = to_json(settings_at(s, std::numeric_limits<std::int64_t>::max()));
  for (const char* const key : {"precision", "optimizer"}) {
    before.erase(key);
    after.erase(key);
  }
  if (before != after) fail(name, "$.changes: may set $.precision and $.optimizer alone");
  const double parameters = 8.0 * static_cast<double>(s.model.width) *
                            static_cast<double>(s.model.width) *
                            static_cast<double>(s.model.layers);
  const double activations = 12.0 * static_cast<double>(s.data.batch) *
                             static_cast<double>(s.model.width) *
                             static_cast<double>(s.model.layers + 4);
  if (parameters + activations > 4e9) {
    fail(name, "$.model and $.data.batch: {:.0f} million numbers are too many; 4000 are allowed",
         (parameters + activations) * 1e-6);
  }
}

study_settings settings_at(const study_settings& s, std::int64_t step) {
  study_settings now = s;
  for (const setting_change& c : s.changes) {
    if (c.step > step) continue;
    apply(parse_json(c.set, "changes"), fmt::format("changes at step {}", c.step), now);
  }
  now.changes = s.changes;
  return now;
}

json to_json(const study_settings& s) {
  study_settings copy = s;
  writer w;
  describe(w, copy);
  return w.result;
}

json schema() {
  study_settings s;
  json j = {{"$schema", "http://json-schema.org/draft-07/schema#"},
            {"title", "Settings of mxref-study"}};
  j.update(schema_writer::of(s));
  return j;
}

}  // namespace instability
