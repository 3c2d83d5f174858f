// SPDX-License-Identifier: Apache-2.0
// The golden vectors of tests/data, and the ledger that proves that every entry was compared.
//
// A test opens one mode of one array as a `comparison` and gives its result for every entry, either
// as equal() or, where the oracle is known to differ, as diverges() with the name of the
// divergence. When all tests of the suites named Golden* have run in one process, the ledger fails
// unless every mode of every array in conversions.json and tensor_cores.json was compared entry by
// entry, and unless the divergences were used exactly as often as tests/data/divergences.json says.
#ifndef MXREF_TESTS_SUPPORT_GOLDEN_HPP_
#define MXREF_TESTS_SUPPORT_GOLDEN_HPP_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace golden {

struct array_info {
  std::string name;
  std::string archive;
  std::vector<std::size_t> shape;
  std::vector<std::string> modes;  ///< names of the leading dimension; empty: one unnamed mode
  bool input = false;              ///< what the oracles were given, nothing to compare with

  std::size_t mode_count() const { return modes.empty() ? 1 : modes.size(); }
  std::size_t entry_count() const;  ///< entries of one mode
};

const array_info& info(const std::string& name);

/// All entries in C order, zero-extended bit patterns. Opening an array is recorded; an array that
/// is no input must then be compared too.
std::vector<std::uint64_t> load(const std::string& name);

/// The entries of one mode; counts as opened, not as compared.
std::vector<std::uint64_t> entries(const std::string& array, const std::string& mode);

/// One mode of one array, compared entry by entry. The destructor reports.
class comparison {
 public:
  explicit comparison(const std::string& array, const std::string& mode = "");
  comparison(const comparison&) = delete;
  comparison& operator=(const comparison&) = delete;
  ~comparison();

  std::size_t size() const { return oracle_.size(); }
  std::uint64_t oracle(std::size_t i) const { return oracle_.at(i); }

  /// The library's result must be the oracle's.
  void equal(std::size_t i, std::uint64_t got);

  /// A named divergence: the library's result must be the documented one, the oracle's must be what
  /// the divergence says of it (nothing: unspecified), and the two must differ. So a divergence
  /// that an oracle has lost, or a library that has moved to the oracle's side, is a failure.
  void diverges(std::size_t i, std::string_view id, std::uint64_t got, std::uint64_t documented,
                std::optional<std::uint64_t> oracle);

 private:
  enum class state : std::uint8_t { open, compared, excused };
  void visit(std::size_t i, state s);
  void fail(std::size_t i, const std::string& what);

  std::string array_;
  std::string mode_;
  std::vector<std::uint64_t> oracle_;
  std::vector<state> states_;
  std::vector<std::string> messages_;
  std::size_t failures_ = 0;
};

/// What tensor_cores.json says of a configuration. Text is empty and numbers are 0 where it is
/// silent.
struct tensor_core_config {
  std::string name;
  std::string gpu;    ///< of measured rows
  std::string model;  ///< the public model's name for the arithmetic
  std::string note;
  std::string format_a;
  std::string format_b;
  std::string format_c;
  std::string format_d;
  std::string scale_format;
  int depth = 0;
  int step = 0;
  int block = 0;
  int fraction_bits = 0;
  int second_fraction_bits = 0;
  int exponent_floor = 0;
  std::string out_rounding;
  int rows = 0;  ///< independent dot products, 0 for a chained GEMM
  int m = 0;     ///< rows and columns of a chained GEMM
  int n = 0;
};

std::vector<tensor_core_config> tensor_core_configs();

}  // namespace golden

#endif  // MXREF_TESTS_SUPPORT_GOLDEN_HPP_
