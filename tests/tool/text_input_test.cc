// What `anelane embed` accepts as text, and how it says where a fault is.
#include "text_input.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace anelane_tool {
namespace {

std::vector<std::string> lines_of(std::string_view content) {
  std::vector<InputText> out;
  EXPECT_EQ(split_lines(content, "f", &out), std::nullopt);
  std::vector<std::string> texts;
  for (const InputText& one : out) {
    texts.push_back(one.text);
    EXPECT_EQ(one.where, "f:" + std::to_string(texts.size()));
  }
  return texts;
}

std::string fault_in(std::string_view content) {
  std::vector<InputText> out;
  return split_lines(content, "f.txt", &out).value_or("no fault");
}

TEST(TextInput, EveryUnicodeScalarIsValidAndNothingElseOfThreeBytes) {
  const auto encode = [](uint32_t c) {
    std::string out;
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (c < 0x800) {
      out += static_cast<char>(0xc0 | c >> 6);
      out += static_cast<char>(0x80 | (c & 63));
    } else if (c < 0x10000) {
      out += static_cast<char>(0xe0 | c >> 12);
      out += static_cast<char>(0x80 | (c >> 6 & 63));
      out += static_cast<char>(0x80 | (c & 63));
    } else {
      out += static_cast<char>(0xf0 | c >> 18);
      out += static_cast<char>(0x80 | (c >> 12 & 63));
      out += static_cast<char>(0x80 | (c >> 6 & 63));
      out += static_cast<char>(0x80 | (c & 63));
    }
    return out;
  };
  for (uint32_t c = 0; c < 0x110000; ++c) {
    const std::string bytes = encode(c);
    const bool surrogate = c >= 0xd800 && c <= 0xdfff;
    ASSERT_EQ(utf8_length(bytes), surrogate ? 0 : bytes.size()) << c;
    if (bytes.size() > 1) {
      ASSERT_EQ(utf8_length(bytes.substr(0, bytes.size() - 1)), 0u) << c;
    }
  }
}

TEST(TextInput, OverlongAndOutOfRangeFormsAreInvalid) {
  for (const char* bytes :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80", "\xff", "\xc3(", "\xe2(\xa1", "\xf0(\x8c\xbc"})
    EXPECT_EQ(utf8_length(bytes), 0u) << bytes;
}

TEST(TextInput, OneLineIsOneTextWhateverItsEnd) {
  EXPECT_EQ(lines_of("a\nb\n"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(lines_of("a\nb"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(lines_of("a\r\nb\r\n"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(lines_of("\n"), (std::vector<std::string>{""}));
  EXPECT_EQ(lines_of("a\n\nb\n"), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(lines_of(" a\rb\t\n"), (std::vector<std::string>{" a\rb\t"}));
}

TEST(TextInput, FaultsNameFileLineAndByte) {
  EXPECT_EQ(fault_in("good\nbad \xff\n"), "f.txt:2: byte 5 is not valid UTF-8");
  EXPECT_EQ(fault_in(std::string_view("good\n\nx\0y\n", 10)),
            "f.txt:3: byte 2 is NUL, which no text may hold");
  EXPECT_EQ(fault_in(""), "f.txt holds no line: one line is one text");
  EXPECT_EQ(fault_in("cut \xe2\x82"), "f.txt:1: byte 5 is not valid UTF-8");
}

TEST(TextInput, FilesThatCannotBeReadAreNamed) {
  std::vector<InputText> out;
  EXPECT_EQ(read_lines("/no/such/file", &out), "cannot open /no/such/file: No such file or directory");
  const std::string folder = std::filesystem::temp_directory_path();
  EXPECT_EQ(read_lines(folder, &out), "cannot read " + folder + ": Is a directory");
  EXPECT_TRUE(out.empty());
}

TEST(TextInput, LinesOfAFileAreAppendedInOrder) {
  const std::string path = testing::TempDir() + "text_input_test.txt";
  std::ofstream(path, std::ios::binary) << std::string(100'000, 'x') << "\nzweite\n";
  std::vector<InputText> out = {{"first", "--text number 1"}};
  EXPECT_EQ(read_lines(path, &out), std::nullopt);
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[1].text.size(), 100'000u);
  EXPECT_EQ(out[2].text, "zweite");
  EXPECT_EQ(out[2].where, path + ":2");
  std::remove(path.c_str());
}

}  // namespace
}  // namespace anelane_tool
