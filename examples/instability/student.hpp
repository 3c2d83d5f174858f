// SPDX-License-Identifier: Apache-2.0
// The networks: a residual MLP that learns, and a chain that it learns from.
//
// Student: A_0 = x, A_k = A_{k-1} + phi(LN(A_{k-1}) W1_k^T) W2_k^T + b2_k, output A_L.
// Teacher: L times phi(x V1^T) V2^T, without norm, bias and residual.
// SwiGLU: phi(u) = (first half of u) * silu(second half).
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "layer_norm.hpp"
#include "linear.hpp"

namespace instability {

enum class activation_kind : std::uint8_t { gelu, relu, swiglu, linear };
inline constexpr named<activation_kind> activation_names[] = {{"gelu", activation_kind::gelu},
                                                              {"relu", activation_kind::relu},
                                                              {"swiglu", activation_kind::swiglu},
                                                              {"linear", activation_kind::linear}};

/// torch: U(-1/sqrt(fan in), 1/sqrt(fan in)) for weights and biases. xavier: normal with variance
/// 2 / (fan in + fan out) times gain^2, gain 1/2; biases 0.
enum class init_kind : std::uint8_t { torch, xavier };
inline constexpr named<init_kind> init_names[] = {{"torch", init_kind::torch},
                                                  {"xavier", init_kind::xavier}};

struct model_shape {
  index_t width = 256;
  index_t layers = 4;
  activation_kind activation = activation_kind::gelu;
  bool norm = true;

  bool gated() const noexcept { return activation == activation_kind::swiglu; }
  /// 4 width; gated: 8 width / 3 rounded to a multiple of 32.
  index_t hidden() const noexcept { return gated() ? (8 * width / 3 + 16) / 32 * 32 : 4 * width; }
  index_t first_out() const noexcept { return gated() ? 2 * hidden() : hidden(); }
};

/// Where the parameters of a block are in the array of all.
struct block_layout {
  index_t gain;
  index_t bias;
  index_t w1;
  index_t w2;
  index_t b2;
  index_t end;

  block_layout(const model_shape& s, index_t block) noexcept {
    const index_t w1_size = s.first_out() * s.width;
    const index_t w2_size = s.width * s.hidden();
    gain = block * (3 * s.width + w1_size + w2_size);
    bias = gain + s.width;
    w1 = bias + s.width;
    w2 = w1 + w1_size;
    b2 = w2 + w2_size;
    end = b2 + s.width;
  }
};

/// Groups of parameters that gradients are compared in.
enum class group : std::uint8_t { norm, first, second };
inline constexpr std::string_view group_names[] = {"ln", "fc1", "fc2"};

/// An activation function on the rows of a matrix, and back.
class activation_layer {
 public:
  activation_layer(activation_kind kind, index_t width, index_t rows);

  /// h (rows, in) -> out (rows, width). h is rounded and becomes what the backward pass needs.
  void forward(const pass& p, float* h, float* out);
  /// dout (rows, width) is rounded; dh (rows, in) may be dout unless gated.
  void backward(const pass& p, const float* h, float* dout, float* dh) const;

 private:
  activation_kind kind_;
  index_t width_;
  index_t rows_;
  std::vector<float> gate_;  ///< silu of the second half
};

class student {
 public:
  student(const model_shape& shape, index_t rows);

  const model_shape& shape() const noexcept { return shape_; }
  index_t parameter_count() const noexcept { return block_layout(shape_, shape_.layers - 1).end; }
  /// The parts of the array of all parameters that belong to a group.
  std::vector<std::pair<index_t, index_t>> parts_of(group g) const;

  /// Parameters at step 0.
  void initialize(const engine& e, std::uint64_t seed, init_kind kind, float* parameters) const;

  /// A_L (rows, width), valid until the next call.
  const float* forward(const pass& p, const float* parameters, const float* x);

  /// From dL/dA_L, which is changed, the gradient of all parameters.
  void backward(const pass& p, const float* parameters, float* output_gradient, float* gradient);

 private:
  struct block {
    block(const model_shape& s, index_t rows, index_t index);
    layer_norm norm;
    linear_layer first;
    linear_layer second;
    activation_layer activation;
    std::vector<float> normed;
    std::vector<float> wide;  ///< h, then the slope of phi
    std::vector<float> hidden;
  };

  model_shape shape_;
  index_t rows_;
  std::vector<std::unique_ptr<block>> blocks_;
  std::vector<float> residual_;
  std::vector<float> branch_;
  std::vector<float> scratch_x_;
  std::vector<float> scratch_w_;
  std::vector<float> wide_gradient_;
  std::vector<float> hidden_gradient_;
};

class teacher {
 public:
  /// hidden: width of its hidden layers.
  teacher(const model_shape& shape, index_t hidden, index_t rows);

  void initialize(const engine& e, std::uint64_t seed);

  /// Its output (rows, width) for x, valid until the next call.
  const float* forward(const pass& p, const float* x);

 private:
  model_shape shape_;
  index_t hidden_;
  index_t rows_;
  activation_layer activation_;
  std::vector<float> weights_;
  std::vector<float> in_;
  std::vector<float> wide_;
  std::vector<float> narrow_;
  std::vector<float> out_;
  std::vector<float> scratch_x_;
  std::vector<float> scratch_w_;
};

}  // namespace instability
