#include "models/program_wiring.h"

#include <gtest/gtest.h>

#include <set>

namespace anelane {
namespace {

using Connect = std::vector<std::pair<std::string, std::string>>;

Port port(const std::string& name, uint64_t channels = 4) {
  return make_port(name, Dtype::kF16, {1, channels, 1, 32});
}

LayerPorts layer(std::vector<Port> inputs, std::vector<Port> outputs, Connect connect = {}) {
  return {"layer", {std::move(inputs), std::move(outputs)}, std::move(connect)};
}

std::vector<LayerPorts> numbered(std::vector<LayerPorts> layers) {
  for (size_t i = 0; i < layers.size(); ++i) layers[i].where = "layer " + std::to_string(i);
  return layers;
}

Result<ProgramWiring> wire(std::vector<LayerPorts> layers) {
  return wire_layers(numbered(std::move(layers)));
}

std::string names(const std::vector<Port>& ports) {
  std::string text;
  for (const Port& p : ports) text += (text.empty() ? "" : " ") + p.name;
  return text;
}

using P = WirePlace;

TEST(ProgramWiring, ASingleProgramIsAllOuterPorts) {
  const auto wiring = wire({layer({port("a"), port("b")}, {port("y"), port("z")})});
  ASSERT_TRUE(wiring.ok());
  EXPECT_EQ(names(wiring->inputs), "a b");
  EXPECT_EQ(names(wiring->outputs), "y z");
  EXPECT_TRUE(wiring->buffers.empty());
  EXPECT_EQ(wiring->layers[0].inputs, (std::vector<P>{{P::kInput, 0}, {P::kInput, 1}}));
  EXPECT_EQ(wiring->layers[0].outputs, (std::vector<P>{{P::kOutput, 0}, {P::kOutput, 1}}));
}

TEST(ProgramWiring, NamesConnectAndTheRestIsTheModels) {
  const auto wiring = wire({
      layer({port("x")}, {port("aside"), port("h")}),
      layer({port("h"), port("mask")}, {port("g")}),
      layer({port("g"), port("mask"), port("x")}, {port("y")}),
  });
  ASSERT_TRUE(wiring.ok()) << wiring.status().message();
  EXPECT_EQ(names(wiring->inputs), "mask x");  // each once, sorted
  EXPECT_EQ(names(wiring->outputs), "aside y");
  EXPECT_EQ(wiring->layers[0].outputs, (std::vector<P>{{P::kOutput, 0}, {P::kBuffer, 0}}));
  EXPECT_EQ(wiring->layers[1].inputs, (std::vector<P>{{P::kBuffer, 0}, {P::kInput, 0}}));
  EXPECT_EQ(wiring->layers[1].outputs, (std::vector<P>{{P::kBuffer, 1}}));
  EXPECT_EQ(wiring->layers[2].inputs, (std::vector<P>{{P::kBuffer, 1}, {P::kInput, 0}, {P::kInput, 1}}));
}

TEST(ProgramWiring, ConnectChoosesTheSourceAndANumberTheLayer) {
  const auto wiring = wire({
      layer({port("x")}, {port("y")}),
      layer({port("x")}, {port("y")}, {{"x", "y"}}),
      layer({port("skip"), port("x")}, {port("y")}, {{"skip", "0.y"}, {"x", "y"}}),
  });
  ASSERT_TRUE(wiring.ok()) << wiring.status().message();
  EXPECT_EQ(names(wiring->inputs), "x");
  EXPECT_EQ(names(wiring->outputs), "y");
  EXPECT_EQ(wiring->layers[1].inputs, (std::vector<P>{wiring->layers[0].outputs[0]}));
  EXPECT_EQ(wiring->layers[2].inputs,
            (std::vector<P>{wiring->layers[0].outputs[0], wiring->layers[1].outputs[0]}));
}

TEST(ProgramWiring, OneOutputMayFeedTwoInputsOfOneLayer) {
  const auto wiring = wire({layer({port("x")}, {port("h")}),
                            layer({port("a"), port("b")}, {port("y")}, {{"a", "h"}, {"b", "h"}})});
  ASSERT_TRUE(wiring.ok()) << wiring.status().message();
  EXPECT_EQ(wiring->layers[1].inputs[0], wiring->layers[1].inputs[1]);
  // Its buffer is given back once: the two outputs after it are two buffers.
  const auto longer = wire(
      {layer({port("x")}, {port("h")}), layer({port("a"), port("b")}, {port("i")}, {{"a", "h"}, {"b", "h"}}),
       layer({port("i")}, {port("j"), port("k")}), layer({port("j"), port("k")}, {port("y")})});
  ASSERT_TRUE(longer.ok());
  EXPECT_NE(longer->layers[2].outputs[0], longer->layers[2].outputs[1]);
}

TEST(ProgramWiring, ALongChainNeedsTwoBuffersAndNoCallHasOneOnBothSides) {
  std::vector<LayerPorts> layers;
  for (int i = 0; i < 40; ++i)
    layers.push_back(layer({port("x")}, {port("y")}, i == 0 ? Connect{} : Connect{{"x", "y"}}));
  const auto chain = wire(layers);
  ASSERT_TRUE(chain.ok());
  EXPECT_EQ(chain->buffers.size(), 2u);
  // With a skip over every second layer, and other sizes: simulate, and nothing that is still to be read is
  // written.
  layers.clear();
  for (int i = 0; i < 30; ++i) {
    const uint64_t channels = i % 3 == 0 ? 4 : 8;
    std::vector<Port> inputs{port("x", i == 0 ? 4 : (i - 1) % 3 == 0 ? 4 : 8)};
    Connect connect = i == 0 ? Connect{} : Connect{{"x", "y"}};
    if (i > 2) {
      inputs.insert(inputs.begin(), port("skip", (i - 3) % 3 == 0 ? 4 : 8));
      connect.emplace_back("skip", std::to_string(i - 3) + ".y");
    }
    layers.push_back(layer(inputs, {port("y", channels)}, connect));
  }
  const auto wiring = wire(layers);
  ASSERT_TRUE(wiring.ok()) << wiring.status().message();
  EXPECT_LT(wiring->buffers.size(), 12u);
  std::vector<int> holds(wiring->buffers.size(), -1);  // which layer's output
  for (int i = 0; i < 30; ++i) {
    const auto& use = wiring->layers[static_cast<size_t>(i)];
    for (size_t k = 0; k < use.inputs.size(); ++k) {
      if (use.inputs[k].kind != P::kBuffer) continue;
      const int expected = layers[static_cast<size_t>(i)].ports.inputs[k].name == "skip" ? i - 3 : i - 1;
      EXPECT_EQ(holds[use.inputs[k].index], expected) << i;
      EXPECT_NE(use.inputs[k], use.outputs[0]) << i;
    }
    if (use.outputs[0].kind == P::kBuffer) {
      EXPECT_EQ(wiring->buffers[use.outputs[0].index], layers[static_cast<size_t>(i)].ports.outputs[0].bytes);
      holds[use.outputs[0].index] = i;
    }
  }
}

TEST(ProgramWiring, WhatDoesNotFitIsNamed) {
  const auto failure = [](std::vector<LayerPorts> layers) {
    const auto wiring = wire(std::move(layers));
    EXPECT_FALSE(wiring.ok());
    EXPECT_EQ(wiring.status().code(), Code::kModelInvalid);
    return wiring.status().message();
  };
  EXPECT_EQ(failure({layer({port("x")}, {port("h")}), layer({port("h", 8)}, {port("y")})}),
            "layer 1: input \"h\" is fp16 [1, 8, 1, 32], but layer 0 gives \"h\" as fp16 [1, 4, 1, 32]");
  LayerPorts wide = layer({make_port("h", Dtype::kF32, {1, 4, 1, 32})}, {port("y")});
  EXPECT_EQ(failure({layer({port("x")}, {port("h")}), wide}),
            "layer 1: input \"h\" is fp32 [1, 4, 1, 32], but layer 0 gives \"h\" as fp16 [1, 4, 1, 32]");
  EXPECT_EQ(failure({layer({port("x")}, {port("h")}), layer({port("h"), port("x", 8)}, {port("y")})}),
            "layer 1: input \"x\" is fp16 [1, 8, 1, 32], but layer 0 takes it as fp16 [1, 4, 1, 32]");
  EXPECT_EQ(
      failure({layer({port("x")}, {port("h")}), layer({port("x")}, {port("y")}, {{"x", "hh"}})}),
      "layer 1: connect: input \"x\" is to come from \"hh\", which no earlier layer gives; earlier layers "
      "give h; layers run in the order of the list");
  EXPECT_EQ(
      failure({layer({port("x")}, {port("h")}, {{"x", "h"}})}),
      "layer 0: connect: input \"x\" is to come from \"h\", which no earlier layer gives; it is the first "
      "layer, and layers run in the order of the list");
  EXPECT_NE(failure({layer({port("x")}, {port("h")}), layer({port("x")}, {port("y")}, {{"x", "1.y"}})})
                .find("which no earlier layer gives"),
            std::string::npos);
  EXPECT_EQ(failure({layer({port("x")}, {port("h")}), layer({port("x")}, {port("y")}, {{"q", "h"}})}),
            "layer 1: connect: it has no input \"q\"");
  EXPECT_EQ(
      failure({layer({port("x")}, {port("y")}), layer({port("x")}, {port("y")})}),
      "layer 1: output \"y\" feeds no later layer, and neither does that of layer 0: two outputs of the "
      "model cannot have one name");
  EXPECT_EQ(failure({layer({port("x")}, {port("h")}), layer({port("h")}, {port("x")})}),
            "layer 1: output \"x\" is an output of the model, which has an input of the same name: "
            "rename one in its text, or list this layer before the one that reads it");
}

}  // namespace
}  // namespace anelane
