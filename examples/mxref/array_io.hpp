// SPDX-License-Identifier: Apache-2.0
// The array files of the mxref tool: .npy, .npz, .safetensors, raw .bin, standard input and output.
//
// Input  FILE.npy | FILE.npz[:NAME] | FILE.safetensors[:NAME] | FILE.bin | -
// Output FILE.npy | FILE.npz[:NAME] | FILE.bin | -
//
// NAME may be left out of an input with one member; an output without NAME is called arr_0, as
// numpy does. Other extensions are read by their first bytes. Everything wrong with a file is an
// input_error or an output_error whose what() is one line for the user; std::logic_error is a fault
// of the caller.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace mxtool {

static_assert(std::endian::native == std::endian::little, "arrays are native and little-endian");

class input_error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class output_error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class dtype { b1, u8, i8, u16, i16, u32, i32, u64, i64, f16, f32, f64 };

using shape_type = std::vector<std::size_t>;

std::size_t size_of(dtype type);
std::string_view name(dtype type);  // as numpy: bool uint8 ... float64

/// Reads `uint8`, `u8` or `U8`; bf16 is uint16 and the 8-bit floats of safetensors are uint8.
dtype parse_dtype(std::string_view text);

/// Reads `2,3`, `2x3` or `(2, 3)`; `()` is the shape of a scalar.
shape_type parse_shape(std::string_view text);
std::string shape_text(std::span<const std::size_t> shape);  // as Python: () (2,) (2, 3)

/// The bytes of an array, or nothing where they do not fit the address space.
std::optional<std::size_t> byte_count(dtype type, std::span<const std::size_t> shape);

/// Elements in C order, little-endian.
struct array {
  dtype type = dtype::u8;
  shape_type shape;
  std::vector<std::byte> bytes;

  std::size_t count() const { return bytes.size() / size_of(type); }

  /// The elements as T: the type itself, or the unsigned integers of its size for the bit patterns
  /// (the only view of bool and float16). Any other T is a std::logic_error.
  template <class T>
  std::span<const T> as() const {
    require_view<T>();
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  template <class T>
  std::span<T> as() {
    require_view<T>();
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  friend bool operator==(const array&, const array&) = default;

 private:
  enum class view_kind { bits, signed_integer, floating };
  void require_view(view_kind kind, std::size_t size) const;

  template <class T>
  void require_view() const {
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
    require_view(std::floating_point<T>      ? view_kind::floating
                 : std::unsigned_integral<T> ? view_kind::bits
                                             : view_kind::signed_integer,
                 sizeof(T));
  }
};

array make_array(dtype type, shape_type shape);  // zeros

/// What a raw file does not say itself: the options --shape and --dtype.
struct raw_options {
  std::optional<shape_type> shape{};
  std::optional<dtype> type{};
};

array load_array(const std::string& spec, const raw_options& raw = {});

/// The members of an .npz or .safetensors file; empty for a file that holds one unnamed array.
std::vector<std::string> list_members(const std::string& path);

namespace detail {
struct array_stream;
class staged_file;
}  // namespace detail

/// Reads the array that a spec names, in C order: from front to back in pieces, or at offsets.
/// The constructor reads the header and refuses sizes that cannot be true. The checksum of an .npz
/// member is known, and checked, only when the last byte has been read; read_at checks it first.
/// Arrays in Fortran order are held in memory from the first piece on.
class npy_reader {
 public:
  explicit npy_reader(const std::string& spec, const raw_options& raw = {});
  npy_reader(npy_reader&&) noexcept;
  npy_reader& operator=(npy_reader&&) noexcept;
  ~npy_reader();

  dtype type() const;
  const shape_type& shape() const;
  const std::string& source_type() const;               // as the file spells it: `<f4`, `F8_E4M3`
  std::size_t remaining() const { return remaining_; }  // bytes that read() has not yet given

  /// Fills `out`, cut to whole elements and to what remains; returns the bytes written.
  std::size_t read(std::span<std::byte> out);

  /// Fills `out` from byte `offset` of the array on; both are whole elements. Not to be mixed with
  /// read(). What is a pipe or compressed is held in memory from the first call on.
  void read_at(std::size_t offset, std::span<std::byte> out);

  /// The array that read() has not begun.
  std::vector<std::byte> read_all();

 private:
  bool is_in_c_order() const;
  std::size_t read_stream(std::span<std::byte> out);
  void swap_bytes(std::span<std::byte> elements) const;  // to native order
  void hold();
  void require_end();

  std::unique_ptr<detail::array_stream> stream_;
  std::size_t remaining_ = 0;
  std::size_t stream_left_ = 0;
  std::optional<std::vector<std::byte>> held_;
};

/// Refuses a target that cannot be written: call it before long work.
void check_writable(const std::string& spec);

/// The same for all outputs of a command, which must also differ from each other.
void check_writable(std::span<const std::string> specs);

/// A text file with this extension (".svg"), or standard output: complete or not at all.
void check_text_writable(const std::string& spec, std::string_view extension);
void write_text(const std::string& spec, std::string_view extension, std::string_view text);

enum class npz_method { stored, deflated };

/// The outputs of one command: at commit() all of them appear, or none. Existing files are replaced
/// (an .npz as a whole) and may be inputs of the same command. Standard output and devices are
/// written last, directly. What a signal interrupts leaves no file once remove_files_on_signals()
/// has been called.
class output_set {
 public:
  explicit output_set(npz_method method = npz_method::stored) : method_(method) {}

  void add(const std::string& spec, array value);
  void commit();

 private:
  struct entry {
    std::string spec;
    array value;
  };
  npz_method method_;
  std::vector<entry> entries_;
};

/// What one of output_streams will hold.
struct output_plan {
  std::string spec;
  dtype type;
  shape_type shape;
};

/// As output_set, for arrays that come in pieces, side by side: members of one .npz too. Standard
/// output and devices are written at once and cannot be .npz.
class output_streams {
 public:
  explicit output_streams(std::span<const output_plan> plans);
  output_streams(const output_streams&) = delete;
  output_streams& operator=(const output_streams&) = delete;
  ~output_streams();

  /// Appends to the array of plans[output]. More than its shape holds is a std::logic_error.
  void write(std::size_t output, std::span<const std::byte> piece);

  /// Any array short of its shape is a std::logic_error.
  void commit();

 private:
  struct stream;
  std::vector<std::unique_ptr<detail::staged_file>> files_;
  std::vector<stream> streams_;
};

/// From now on SIGINT, SIGTERM, SIGHUP and SIGPIPE remove the files under way before they end the
/// process; while files are being renamed into place they wait.
void remove_files_on_signals();

}  // namespace mxtool
