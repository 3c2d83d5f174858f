// SPDX-License-Identifier: Apache-2.0
// Steps of the training emulator: MX against FP32, and FP32 against its matrix products alone in
// oneDNN.
#include <dnnl.h>
#include <omp.h>

#include <string>
#include <vector>

#include "bench.hpp"
#include "trainer.hpp"

namespace {

using namespace instability;

/// A trainer with its data at hand: a step is forward, backward and optimizer.
class stepper {
 public:
  stepper(index_t width, index_t rows, int threads) : engine_(threads) {
    settings_.model.width = width;
    settings_.data.batch = rows;
    settings_.optimizer.learning_rate = 6e-4;
    trainer_ = std::make_unique<trainer>(engine_, settings_);
    source_ = std::make_unique<data_source>(engine_, settings_);
    source_->fill(0, full_precision(), settings_.seed, batch_);
  }

  void step(const precision& p) {
    const double loss = trainer_->gradient(p, batch_, gradient_);
    if (!(loss < 1e3)) bench::fail("the training has diverged");
    trainer_->step(gradient_);
  }
  void whole_step(const precision& p) {
    source_->fill(trainer_->state().step, full_precision(), settings_.seed, batch_);
    step(p);
  }
  const precision& mx() const { return settings_.precision; }
  const model_shape& shape() const { return settings_.model; }

 private:
  engine engine_;
  study_settings settings_;
  std::unique_ptr<trainer> trainer_;
  std::unique_ptr<data_source> source_;
  batch batch_;
  std::vector<float> gradient_;
};

/// The six products of every block of a step, in oneDNN, row-major.
class products {
 public:
  products(const model_shape& s, index_t rows)
      : layers_(s.layers),
        width_(s.width),
        hidden_(s.hidden()),
        rows_(rows),
        narrow_(bench::normal_data(static_cast<std::size_t>(rows * s.width), 1)),
        wide_(bench::normal_data(static_cast<std::size_t>(rows * s.hidden()), 2)),
        w1_(bench::normal_data(static_cast<std::size_t>(s.width * s.hidden()), 3)),
        w2_(bench::normal_data(static_cast<std::size_t>(s.width * s.hidden()), 4)) {}

  void run() {
    for (index_t i = 0; i < layers_; ++i) {
      multiply('N', 'T', rows_, hidden_, width_, narrow_, w1_, wide_);  // x W1^T
      multiply('N', 'T', rows_, width_, hidden_, wide_, w2_, narrow_);
      multiply('N', 'N', rows_, hidden_, width_, narrow_, w2_, wide_);  // g W2
      multiply('T', 'N', width_, hidden_, rows_, narrow_, wide_, w2_);  // g^T h
      multiply('N', 'N', rows_, width_, hidden_, wide_, w1_, narrow_);
      multiply('T', 'N', hidden_, width_, rows_, wide_, narrow_, w1_);
    }
  }

 private:
  static void multiply(char ta, char tb, index_t m, index_t n, index_t k,
                       const bench::array<float>& a, const bench::array<float>& b,
                       bench::array<float>& c) {
    const index_t lda = ta == 'N' ? k : m;
    const index_t ldb = tb == 'N' ? n : k;
    // A small factor, so that repetition does not leave binary32.
    if (dnnl_sgemm(ta, tb, m, n, k, 1e-3F, a.data(), lda, b.data(), ldb, 0.0F, c.data(), n) !=
        dnnl_success) {
      bench::fail("dnnl_sgemm refused");
    }
  }

  index_t layers_, width_, hidden_, rows_;
  bench::array<float> narrow_, wide_, w1_, w2_;
};

/// ratio: FP32 time over MX time, in turn.
void mx_step(benchmark::State& state, index_t width, index_t rows, int threads) {
  stepper mx(width, rows, threads);
  stepper fp32(width, rows, threads);
  bench::against(
      state, threads, 1, [&] { mx.step(mx.mx()); }, 1, [&] { fp32.step(full_precision()); });
}

/// ratio: time of the products in oneDNN over that of an FP32 step, in turn.
void fp32_step(benchmark::State& state, index_t width, index_t rows, int threads) {
  omp_set_num_threads(threads);
  stepper fp32(width, rows, threads);
  products alone(fp32.shape(), rows);
  bench::against(
      state, threads, 1, [&] { fp32.step(full_precision()); }, 1, [&] { alone.run(); });
}

/// rate: whole MX steps a second, data and teacher included.
void whole_step(benchmark::State& state, index_t width, index_t rows, int threads) {
  stepper mx(width, rows, threads);
  bench::alone(state, threads, 1, [&] { mx.whole_step(mx.mx()); });
}

}  // namespace

int main(int argc, char** argv) {
  const std::pair<index_t, index_t> sizes[] = {{64, 64}, {256, 256}, {512, 2048}};
  for (const auto& size : sizes) {
    const index_t width = size.first;  // clang 14 captures no binding
    const index_t rows = size.second;
    for (const int threads : {1, 2}) {
      const std::string name =
          "/" + std::to_string(threads) + "/" + std::to_string(width) + "/" + std::to_string(rows);
      const auto add = [&](const char* kind,
                           void (*run)(benchmark::State&, index_t, index_t, int)) {
        bench::add(kind + name, [=](benchmark::State& s) { run(s, width, rows, threads); });
      };
      add("mx_step", mx_step);
      add("fp32_step", fp32_step);
      add("whole_step", whole_step);
    }
  }
  return bench::run(argc, argv);
}
