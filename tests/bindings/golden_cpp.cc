// The golden vectors through anelane.hpp: golden.c says what is read and written.
//
//     golden_cpp MODEL_DIR TEXTS OUT FOLDER
#include <anelane.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

using namespace std::chrono_literals;

static int refused(const anelane::Error& error) {
  char text[1024];
  error.text(text, sizeof text);
  std::cerr << "golden_cpp: " << text << "\n";
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: golden_cpp MODEL_DIR TEXTS OUT FOLDER\n";
    return 2;
  }
  std::ifstream file(argv[2], std::ios::binary);
  std::vector<std::string> texts;
  for (std::string line; std::getline(file, line);) texts.push_back(line);

  anelane::LaneOptions options;
  options.engine = ANELANE_ENGINE_SOFT;
  options.lock_dir = argv[4];
  const auto lane = anelane::Lane::open(options, 240s);
  if (!lane) return refused(lane.error());
  const auto model = lane->load(argv[1], 240s);
  if (!model) return refused(model.error());
  const auto vectors = model->embed_texts(texts, 240s);
  if (!vectors) return refused(vectors.error());

  std::ofstream out(argv[3], std::ios::binary);
  for (std::size_t row = 0; row < vectors->rows(); row++)
    for (const float number : (*vectors)[row]) {
      std::uint32_t bits;
      std::memcpy(&bits, &number, sizeof bits);
      for (int shift = 0; shift < 32; shift += 8) out.put(static_cast<char>(bits >> shift & 0xff));
    }
  return out.flush() ? 0 : 1;
}
