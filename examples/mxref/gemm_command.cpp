// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "commands.hpp"
#include "product.hpp"

namespace mxtool {

void add_gemm(CLI::App& app) {
  struct options {
    product_options product;
    std::string out;
  };
  auto o = std::make_shared<options>();
  CLI::App* cmd = app.add_subcommand(
      "gemm", "Multiply two K-major operands: D[m][n] = C[m][n] + sum_k A[m][k] B[n][k]");
  add_product_options(*cmd, o->product);
  cmd->add_option("--out", o->out, "Output D, (M, N): float32, or uint16 patterns")->required();
  cmd->callback([o] {
    check_writable(o->out);
    const engine e(o->product.engine);
    const product p = load_product(e, o->product);
    const auto codes = compute(p, e, {0, 0, p.rows(), p.cols()}, "gemm");
    output_set outputs;
    outputs.add(o->out, result_array(codes, p.store->desc,
                                     {static_cast<std::size_t>(p.rows()),
                                      static_cast<std::size_t>(p.cols())}));
    outputs.commit();
  });
}

}  // namespace mxtool
