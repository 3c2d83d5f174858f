// SPDX-License-Identifier: Apache-2.0
// Layouts against what public libraries made.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "mxref/layout.hpp"
#include "support/golden.hpp"

namespace {

using bytes = std::vector<std::uint8_t>;

bytes load_bytes(const std::string& name) {
  bytes b;
  for (const std::uint64_t x : golden::load(name)) b.push_back(static_cast<std::uint8_t>(x));
  return b;
}

TEST(GoldenLayout, Swizzled128x4OfTorchao) {
  const auto shape = golden::info("swizzle_scale_in").shape;
  const bytes scales = load_bytes("swizzle_scale_in");
  const auto rows = static_cast<mxref::index_t>(shape[0]);
  const auto cols = static_cast<mxref::index_t>(shape[1]);
  golden::comparison torchao("swizzle_torchao_out");
  const mxref::scale_layout l = mxref::layout::swizzled_128x4::scales();
  bytes out(torchao.size(), 0x5A);
  ASSERT_TRUE(mxref::swizzle(mxref::view(scales.data(), rows, cols), l, out.data(),
                             static_cast<mxref::index_t>(out.size())));
  for (std::size_t i = 0; i < out.size(); ++i) torchao.equal(i, out[i]);

  bytes from_oracle;
  for (std::size_t i = 0; i < torchao.size(); ++i) {
    from_oracle.push_back(static_cast<std::uint8_t>(torchao.oracle(i)));
  }
  bytes back(scales.size());
  ASSERT_TRUE(mxref::unswizzle(from_oracle.data(), static_cast<mxref::index_t>(from_oracle.size()),
                               l, mxref::view(back.data(), rows, cols)));
  EXPECT_EQ(back, scales);
}

}  // namespace
