#include "base/json_fields.h"

#include <gtest/gtest.h>

#include "support/tiny_checkpoint.h"

namespace anelane {
namespace {

JsonFields fields(const char* text) {
  Result<JsonFields> parsed = JsonFields::parse("f.json", text);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return *std::move(parsed);
}

void expect_invalid(const Status& status, const std::string& message) {
  EXPECT_EQ(status.code(), Code::kModelInvalid);
  EXPECT_EQ(status.message(), message);
}

TEST(JsonFields, GoodFieldsAreRead) {
  const JsonFields f = fields(R"({"i": 3, "d": 0.5, "b": true, "s": "x", "o": {"i": 4}, "a": [1, 2]})");
  EXPECT_EQ(*f.integer("i", 0, 9), 3);
  EXPECT_EQ(*f.number("d", 0, 1), 0.5);
  EXPECT_EQ(*f.number("i", 0, 9), 3.0);
  EXPECT_TRUE(*f.boolean("b"));
  EXPECT_EQ(*f.string("s"), "x");
  EXPECT_EQ(*f.object("o")->integer("i", 0, 9), 4);
  EXPECT_EQ(f.array("a")->size(), 2u);
}

TEST(JsonFields, MissingAndNullTakeTheFallback) {
  const JsonFields f = fields(R"({"n": null})");
  for (const char* field : {"n", "missing"}) {
    EXPECT_EQ(*f.integer(field, 0, 9, 7), 7);
    EXPECT_EQ(*f.number(field, 0, 9, 0.5), 0.5);
    EXPECT_TRUE(*f.boolean(field, true));
    EXPECT_EQ(*f.string(field, "y"), "y");
    EXPECT_EQ(f.find(field), nullptr);
  }
}

TEST(JsonFields, ErrorsSayWhereWhatAndFound) {
  const JsonFields f = fields(R"({"i": 12, "s": 5, "d": 1e9, "o": [1], "n": null, "inner": {}})");
  expect_invalid(f.integer("i", 0, 9).status(), "f.json: i: expected an integer from 0 to 9, found 12");
  expect_invalid(f.integer("x", 0, 9).status(),
                 "f.json: x: expected an integer from 0 to 9, found nothing (the field is missing)");
  expect_invalid(f.integer("n", 0, 9).status(), "f.json: n: expected an integer from 0 to 9, found null");
  expect_invalid(f.number("d", 0, 0.5).status(), "f.json: d: expected a number from 0 to 0.5, found 1e+09");
  expect_invalid(f.string("s").status(), "f.json: s: expected a string, found 5");
  expect_invalid(f.boolean("s").status(), "f.json: s: expected true or false, found 5");
  expect_invalid(f.object("o").status(), "f.json: o: expected an object, found [1]");
  expect_invalid(f.array("inner").status(), "f.json: inner: expected an array, found an object of 0 fields");
  expect_invalid(f.object("inner")->string("a").status(),
                 "f.json: inner: a: expected a string, found nothing (the field is missing)");
}

TEST(JsonFields, AFallbackDoesNotExcuseAWrongType) {
  const JsonFields f = fields(R"({"i": "3"})");
  expect_invalid(f.integer("i", 0, 9, 7).status(), "f.json: i: expected an integer from 0 to 9, found \"3\"");
}

TEST(JsonFields, TextThatIsNoObjectIsRefused) {
  expect_invalid(JsonFields::parse("f.json", "[1]").status(), "f.json: expected a JSON object, found [1]");
  EXPECT_EQ(JsonFields::parse("f.json", "{").status().code(), Code::kModelInvalid);
  TempFolder folder;
  EXPECT_EQ(JsonFields::read(folder.file("none"), 100).status().code(), Code::kIo);
  EXPECT_EQ(JsonFields::read(folder.path(), 100).status().code(), Code::kIo);
}

TEST(JsonFields, LongValuesAreShortenedBetweenCharacters) {
  std::string many;
  for (int i = 0; i < 40; ++i) many += "é";
  const std::string shown = describe(Json(many));
  EXPECT_LT(shown.size(), 70u);
  EXPECT_TRUE(shown.ends_with("é…")) << shown;
}

TEST(ParseJson, DuplicateKeysAreRefusedWhenAskedTo) {
  constexpr const char* kTwice = R"({"a": {"b": 1, "b": 2}})";
  EXPECT_EQ(parse_json(kTwice, "t")->at("a").at("b").as_int(), 2);
  const Status status = parse_json(kTwice, "t", 64, DuplicateKeys::kRefuse).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("\"b\" stands twice"), std::string::npos) << status.message();
  EXPECT_TRUE(parse_json(R"({"a": {"b": 1}, "b": 2})", "t", 64, DuplicateKeys::kRefuse).ok());
}

}  // namespace
}  // namespace anelane
