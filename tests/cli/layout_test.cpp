// SPDX-License-Identifier: Apache-2.0
// Packings and scale layouts on the command line: files in a layout give what plain files give.
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "mxref/mxref.hpp"
#include "tool.hpp"

namespace {

using mxtool::dtype;
using bytes = std::vector<std::uint8_t>;

const std::vector<std::string> scale_layouts{"linear", "swizzled-128x4",    "swizzled-8x4",
                                             "word4",  "section-separated", "amd-preshuffled"};
const std::vector<std::string> packings{
    "none", "dense", "dense-high-first", "ggml-split-half", "tcgen05-padded", "tcgen05-container"};

bool takes(const std::string& packing, const std::string& format) {
  if (packing.starts_with("tcgen05")) return format == "e2m1" || format == "e2m3";
  return packing != "ggml-split-half" || format == "e2m1";
}

class LayoutTool : public tool_test::tool {
 protected:
  void SetUp() override {
    tool::SetUp();
    std::vector<float> x(2 * 5 * 75);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = std::ldexp(static_cast<float>(i % 23) - 11.0F, static_cast<int>(i / 40 % 9) - 4);
    }
    save<float>("x.npy", dtype::f32, {2, 5, 75}, x);
    save<float>("m.npy", dtype::f32, {10, 75}, x);
  }

  void expect_runs(const std::string& arguments) const {
    const auto r = run(arguments);
    ASSERT_EQ(r.exit_code, 0) << arguments << '\n' << r.err;
  }
  std::string codes_and_scales(const std::string& prefix) const {
    return " --codes " + path(prefix + "c.npy") + " --scales " + path(prefix + "s.npy") + " ";
  }
};

TEST_F(LayoutTool, QuantizeAndDequantizeAgreeInEveryLayoutThroughPoison) {
  for (const std::string format : {"e4m3", "e2m3", "e2m1"}) {
    const std::string base = " --format " + format;
    expect_runs("quantize" + base + " " + path("x.npy") + codes_and_scales("p"));
    expect_runs("dequantize" + base + codes_and_scales("p") + path("want.npy"));
    for (std::size_t i = 0; i < packings.size(); ++i) {
      if (!takes(packings[i], format)) continue;
      const std::string options =
          base + " --packing " + packings[i] + " --scale-layout " + scale_layouts[i];
      expect_runs("quantize --poison" + options + " " + path("x.npy") + codes_and_scales("q"));
      expect_runs("dequantize --depth 75" + options + codes_and_scales("q") + path("got.npy"));
      EXPECT_EQ(load<float>("got.npy"), load<float>("want.npy")) << options;
      EXPECT_EQ(shape_of("got.npy"), (mxtool::shape_type{2, 5, 75})) << options;
      // Down the columns.
      expect_runs("quantize --axis 0" + base + " " + path("m.npy") + codes_and_scales("p"));
      expect_runs("dequantize --axis 0" + base + codes_and_scales("p") + path("want0.npy"));
      expect_runs("quantize --axis 0 --poison" + options + " " + path("m.npy") +
                  codes_and_scales("q"));
      expect_runs("dequantize --axis 0 --depth 10" + options + codes_and_scales("q") +
                  path("got0.npy"));
      EXPECT_EQ(load<float>("got0.npy"), load<float>("want0.npy")) << options;
    }
  }
}

TEST_F(LayoutTool, EveryMatrixOfABatchIsPaddedAlone) {
  expect_runs("quantize --format e4m3 " + path("x.npy") + codes_and_scales("p"));
  const bytes plain = load<std::uint8_t>("ps.npy");
  const std::map<std::string, mxtool::shape_type> shapes{
      {"linear", {2, 5, 3}}, {"swizzled-128x4", {2, 128, 4}}, {"swizzled-8x4", {2, 8, 4}},
      {"word4", {2, 1, 8}},  {"section-separated", {2, 16}},  {"amd-preshuffled", {2, 256, 8}}};
  const mxref::scale_layout_mode modes[] = {mxref::scale_layout_mode::linear,
                                            mxref::scale_layout_mode::swizzled_128x4,
                                            mxref::scale_layout_mode::swizzled_8x4,
                                            mxref::scale_layout_mode::word4,
                                            mxref::scale_layout_mode::section_separated,
                                            mxref::scale_layout_mode::amd_preshuffled};
  for (std::size_t i = 0; i < scale_layouts.size(); ++i) {
    const std::string& name = scale_layouts[i];
    expect_runs("quantize --poison --format e4m3 --scale-layout " + name + " " + path("x.npy") +
                codes_and_scales("q"));
    const mxtool::array file = mxtool::load_array(path("qs.npy"));
    EXPECT_EQ(file.shape, shapes.at(name)) << name;
    EXPECT_EQ(file.type, name == "word4" ? dtype::u32 : dtype::u8) << name;
    const mxref::scale_layout l = mxref::layout::dynamic_scales{modes[i]}.scales();
    const auto size = static_cast<std::size_t>(l.size(5, 3));
    ASSERT_EQ(file.bytes.size(), 2 * size) << name;
    for (std::size_t at = 0; at < 2 * size; ++at) {
      const auto p = l.position(5, 3, static_cast<mxref::index_t>(at % size));
      const std::uint8_t want =
          p.is_padding() ? 0xFF
                         : plain[at / size * 15 + static_cast<std::size_t>(p.row * 3 + p.col)];
      EXPECT_EQ(std::to_integer<std::uint8_t>(file.bytes[at]), want) << name << ' ' << at;
    }
    // The same by moving the file, and back.
    expect_runs("layout --poison --scale-layout " + name + " " + path("ps.npy") + " " +
                path("moved.npy"));
    EXPECT_EQ(mxtool::load_array(path("moved.npy")), file) << name;
    expect_runs("layout --scale-layout linear --shape 2,5,3 --from " + name + " " +
                path("moved.npy") + " " + path("back.npy"));
    EXPECT_EQ(load<std::uint8_t>("back.npy"), plain) << name;
  }
  // Bytes of a layout in another shape, as torchao flattens them.
  save<std::uint8_t>("flat.npy", dtype::u8, {1024}, bytes(1024, 0x7F));
  expect_runs("dequantize --format e4m3 --scale-layout swizzled-128x4 --codes " + path("pc.npy") +
              " --scales " + path("flat.npy") + " " + path("y.npy"));
}

TEST_F(LayoutTool, PoisonFillsThePaddingOfPackedCodes) {
  save<float>("r.npy", dtype::f32, {1, 2}, {1.0F, 6.0F});  // amax 6: scale 1, codes 2 and 7
  const std::string quantize = "quantize --format e2m1 --packing tcgen05-padded " + path("r.npy");
  bytes want(16);
  want[0] = 0x72;
  expect_runs(quantize + codes_and_scales("z"));
  EXPECT_EQ(load<std::uint8_t>("zc.npy"), want);
  std::fill(want.begin() + 1, want.end(), std::uint8_t{0xFF});
  expect_runs(quantize + " --poison" + codes_and_scales("q"));
  EXPECT_EQ(load<std::uint8_t>("qc.npy"), want);
  // A code that has a byte for itself is not poisoned: its upper bits say that it is in range.
  expect_runs("layout --poison --format e2m1 --from tcgen05-padded --packing none --shape 1,2 " +
              path("qc.npy") + " " + path("n.npy"));
  EXPECT_EQ(load<std::uint8_t>("n.npy"), (bytes{2, 7}));
}

TEST_F(LayoutTool, ProductsTakeEveryLayout) {
  const std::string quantize = "quantize --format e2m1 " + path("m.npy");
  expect_runs(quantize + codes_and_scales("p"));
  const auto product = [&](const std::string& a, const std::string& b, const std::string& more) {
    return " --a " + path(a + "c.npy") + " --a-scales " + path(a + "s.npy") + " --b " +
           path(b + "c.npy") + " --b-scales " + path(b + "s.npy") +
           " --a-format e2m1 --b-format e2m1 --accumulate exact" + more;
  };
  expect_runs("gemm" + product("p", "p", " --out " + path("d.npy")));
  for (std::size_t i = 0; i < packings.size(); ++i) {
    const std::string layout = " --poison --packing " + packings[i] + " --scale-layout ";
    expect_runs(quantize + layout + scale_layouts[i] + codes_and_scales("q"));
    const std::string a = " --a-packing " + packings[i] + " --a-scale-layout " + scale_layouts[i];
    const std::string b = " --b-packing " + packings[i] + " --b-scale-layout " + scale_layouts[i];
    const std::string d = " --d " + path("d.npy");
    for (const std::string& operands : {product("q", "p", a + d), product("p", "q", b + d),
                                        product("q", "q", a + b + " --depth 75" + d)}) {
      const auto r = run("verify" + operands);
      EXPECT_EQ(r.exit_code, 0) << operands << r.out << r.err;
    }
  }
}

TEST_F(LayoutTool, Nvfp4TakesGgmlCodesAndSwizzledScales) {
  bytes codes(4 * 64);
  bytes scales(4 * 4);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint8_t>(i * 7 % 16);
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = static_cast<std::uint8_t>(40 + 3 * i);
  save<std::uint8_t>("c.npy", dtype::u8, {4, 64}, codes);
  save<std::uint8_t>("s.npy", dtype::u8, {4, 4}, scales);
  expect_runs("layout --format e2m1 --block 16 --packing ggml-split-half " + path("c.npy") + " " +
              path("cg.npy"));
  expect_runs("layout --scale-format e4m3 --scale-layout swizzled-128x4 " + path("s.npy") + " " +
              path("sw.npy"));
  const std::string b = " --b " + path("c.npy") + " --b-format nvfp4 --b-scales " + path("s.npy") +
                        " --accumulate nvidia-blackwell-tcgen05-mxf4nvf4";
  expect_runs("gemm --a " + path("c.npy") + " --a-format nvfp4 --a-scales " + path("s.npy") + b +
              " --out " + path("d.npy"));
  const auto r = run("verify --a " + path("cg.npy") +
                     " --a-format nvfp4 --a-packing ggml-split-half --a-scales " + path("sw.npy") +
                     " --a-scale-layout swizzled-128x4" + b + " --d " + path("d.npy"));
  EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
}

TEST_F(LayoutTool, CodesAreMovedBetweenAllPackings) {
  expect_runs("quantize --format e2m1 " + path("m.npy") + codes_and_scales("p"));
  for (const std::string& from : packings) {
    expect_runs("layout --poison --format e2m1 --packing " + from + " " + path("pc.npy") + " " +
                path("from.npy"));
    for (const std::string& to : packings) {
      const std::string what = " --format e2m1 --shape 10,75 ";
      expect_runs("layout" + what + "--from " + from + " --packing " + to + " " + path("from.npy") +
                  " " + path("to.npy"));
      expect_runs("layout" + what + "--from " + to + " --packing none " + path("to.npy") + " " +
                  path("back.npy"));
      EXPECT_EQ(load<std::uint8_t>("back.npy"), load<std::uint8_t>("pc.npy")) << from << to;
    }
  }
  expect_runs("decode --format e2m1 --packing ggml-split-half --depth 75 " + [&] {
    expect_runs("layout --format e2m1 --packing ggml-split-half " + path("pc.npy") + " " +
                path("ggml.npy"));
    return path("ggml.npy");
  }() + " " + path("a.npy"));
  expect_runs("decode --format e2m1 " + path("pc.npy") + " " + path("b.npy"));
  EXPECT_EQ(load<float>("a.npy"), load<float>("b.npy"));
}

TEST_F(LayoutTool, TheMapIsPrintedAsTextAndJson) {
  auto r = run("layout --scale-layout swizzled-128x4 --shape 150,7");
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_TRUE(r.out.starts_with("swizzled-128x4\n150 x 7 scales: 2048 bytes, 998 of them padding"))
      << r.out;
  const auto scales =
      nlohmann::json::parse(run("layout --json --scale-layout swizzled-128x4 --shape 2,150,7").out);
  EXPECT_EQ(scales["matrices"], 2);
  EXPECT_EQ(scales["bytes"], 4096);
  EXPECT_EQ(scales["map"][33][1], 21);
  EXPECT_EQ(scales["map"][149][6], 3 * 512 + (149 % 32) * 16 + 2);
  const auto codes =
      nlohmann::json::parse(run("layout --json --packing dense --format e2m3 --shape 2,37").out);
  EXPECT_EQ(codes["row_bytes"], 28);
  EXPECT_EQ(codes["padding_bits_of_row"], 2);
  EXPECT_EQ(codes["map"][1], nlohmann::json::parse(R"([{"byte":0,"high_bit":7,"low_bit":6},
                                                      {"byte":1,"high_bit":3,"low_bit":0}])"));
  r = run("layout --packing dense-high-first --format e2m1 --shape 1,3");
  EXPECT_NE(r.out.find("0[7:4]  0[3:0]  1[7:4]"), std::string::npos) << r.out;
}

TEST_F(LayoutTool, DrawsEveryLayout) {
  for (const std::string& name : scale_layouts) {
    expect_runs("layout --scale-layout " + name + " --shape 130,5 --svg " + path("d.svg"));
    const std::string svg = read_text(path("d.svg"));
    EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n")) << name;
    EXPECT_NE(svg.find(">129,4</text>"), std::string::npos) << name << ": every scale has its byte";
    EXPECT_EQ(run("layout --scale-layout " + name + " --shape 130,5 --svg -").out, svg);
  }
  for (const std::string& name : packings) {
    expect_runs("layout --packing " + name + " --format e2m1 --shape 1,33 --svg " + path("d.svg"));
    const std::string svg = read_text(path("d.svg"));
    EXPECT_NE(svg.find(">32</text>"), std::string::npos) << name;
    EXPECT_EQ(svg.find(">33</text>"), std::string::npos) << name;
  }
}

TEST_F(LayoutTool, RefusesCombinationsThatDoNotExist) {
  const std::string out = " " + path("x.npy") + codes_and_scales("q");
  expect_refused("quantize --format e4m3 --packing tcgen05-padded" + out,
                 {"--packing tcgen05-padded", "4 or 6 bits", "e4m3 has 8"});
  expect_refused("quantize --format e2m3 --packing ggml-split-half" + out,
                 {"4 bits", "e2m3 has 6"});
  expect_refused("quantize --format e2m1 --block 15 --packing ggml-split-half" + out,
                 {"--block 15", "even"});
  expect_refused("quantize --format e2m1 --packing densed" + out, {"packing", "'dense'"});
  expect_refused("quantize --format e2m1 --scale-layout swizzled" + out,
                 {"scale layout", "swizzled-8x4"});
  save<std::uint8_t>("c.npy", dtype::u8, {2, 32}, bytes(64));
  save<std::uint8_t>("s.npy", dtype::u8, {128, 4}, bytes(512));
  const std::string ab = "gemm --a " + path("c.npy") + " --b " + path("c.npy") +
                         " --a-format e2m1 --b-format e2m1 --accumulate exact --out " +
                         path("d.npy") + " --a-scales " + path("s.npy");
  expect_refused(ab + " --scale-format e4m3 --a-scale-layout word4",
                 {"--a-scale-layout word4", "e8m0"});
  expect_refused(ab, {"s.npy", "128 x 4", "2 x 1", "scale layout"});
  expect_refused(ab + " --a-scale-layout amd-preshuffled", {"s.npy", "512 bytes", "2048"});
  expect_refused("gemm --a-packing dense --a " + path("c.npy") + " --b " + path("c.npy") +
                     " --a-format bf16 --b-format e2m1 --accumulate exact --out " + path("d.npy"),
                 {"--a-packing dense", "at most 8 bits", "bf16 has 16"});
  // The command itself.
  expect_refused("layout --shape 3,4", {"--packing", "--scale-layout"});
  expect_refused("layout --packing dense --shape 3,4", {"--format"});
  expect_refused("layout --packing dense --format bf16 --shape 3,4", {"bf16", "at most 8 bits"});
  expect_refused("layout --scale-layout word4", {"--shape"});
  expect_refused("layout --scale-layout word4 --shape 3", {"--shape", "ROWS,COLUMNS"});
  expect_refused("layout --scale-layout word4 --shape 0,3", {"--shape 0,3", "at least 1"});
  expect_refused("layout --scale-layout word4 --shape 70000,3", {"--shape 70000,3", "smaller"});
  expect_refused("layout --scale-layout linear --shape 9,1000 --svg " + path("d.svg"),
                 {"--shape 9,1000", "8192"});
  expect_refused("layout --scale-layout linear --shape 9,9 --svg " + path("d.png"),
                 {"d.png", ".svg"});
  expect_refused("layout --scale-layout word4 " + path("s.npy"), {"OUT"});
  expect_refused("layout --scale-layout linear --from word4 " + path("s.npy") + " " + path("t.npy"),
                 {"--from", "--shape"});
  expect_refused(
      "layout --packing dense --format e2m1 --shape 2,31 " + path("c.npy") + " " + path("t.npy"),
      {"c.npy", "2 x 32", "2 x 31"});
}

TEST_F(LayoutTool, Fault_49_FloatScalesBecomeWordsOnlyIfTheyArePowersOfTwo) {
  save<float>("good.npy", dtype::f32, {1, 4}, {1.0F, 2.0F, 4.0F, 8.0F});
  save<float>("bad.npy", dtype::f32, {1, 4}, {1.0F, 2.0F, 1.5F, 8.0F});
  const std::string to = " " + path("w.npy");
  expect_refused("layout --scale-layout word4 " + path("bad.npy") + to,
                 {"bad.npy", "element 2", "1.5", "power of two"});
  expect_runs("layout --scale-layout word4 " + path("good.npy") + to);
  EXPECT_EQ(load<std::uint32_t>("w.npy"), (std::vector<std::uint32_t>{0x8281807F, 0, 0, 0}));
}

// safetensors 839, fastsafetensors 79: the header of an FP4 tensor counts elements or bytes.
TEST_F(LayoutTool, Fault_50_SafetensorsMayCountElementsOrBytes) {
  const auto tensor = [&](const std::string& shape, std::size_t size) {
    const std::string header = "{\"w\":{\"dtype\":\"F4\",\"shape\":" + shape +
                               ",\"data_offsets\":[0," + std::to_string(size) + "]}}";
    const std::uint64_t length = header.size();
    std::string file(8, '\0');
    std::memcpy(file.data(), &length, 8);
    file += header + std::string("\x21\x43\x65\x07", 4).substr(0, size);
    std::ofstream(path("w.safetensors"), std::ios::binary) << file;
  };
  const std::string decode =
      "decode --format e2m1 --packing dense " + path("w.safetensors:w") + " " + path("y.npy");
  for (const char* shape : {"[1,8]", "[1,4]"}) {
    tensor(shape, 4);
    expect_runs(decode);
    EXPECT_EQ(load<float>("y.npy"), (std::vector<float>{0.5F, 1, 1.5F, 2, 3, 4, 6, 0})) << shape;
  }
  tensor("[1,7]", 4);
  expect_refused(decode, {"w.safetensors", "F4", "7 elements"});
}

// ml_dtypes 324, 216, 41, 207: .npy does not say which FP8 a byte is; the command line does.
TEST_F(LayoutTool, Fault_51_TheFormatOfBytesIsGivenWithThem) {
  save<std::uint8_t>("c.npy", dtype::u8, {3}, {0x38, 0x7F, 0x80});
  const auto values = [&](const std::string& format) {
    expect_runs("decode --format " + format + " " + path("c.npy") + " " + path("y.npy"));
    return load<float>("y.npy");
  };
  EXPECT_EQ(values("e4m3")[0], 1.0F);
  EXPECT_EQ(values("e5m2")[0], 0.5F);
  EXPECT_EQ(values("e4m3fnuz")[0], 0.5F);
  EXPECT_EQ(values("e4m3fnuz")[1], 240.0F);
  EXPECT_TRUE(std::isnan(values("e4m3")[1]) && std::isnan(values("e4m3fnuz")[2]));
  EXPECT_TRUE(values("e4m3")[2] == 0.0F && std::signbit(values("e4m3")[2]));
  expect_refused("decode " + path("c.npy") + " " + path("z.npy"), {"--format"});
}

}  // namespace
