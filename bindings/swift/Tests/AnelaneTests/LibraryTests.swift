// The library itself: found, refused, complete; deadlines in its clock; its log.
import Anelane
import CAnelane
import Foundation
import Testing

extension Everything {
  @Suite struct LibraryTests {
    @Test func theTableHasExactlyWhatTheLibraryExports() throws {
      let exports = try String(contentsOfFile: Place.source + "/tests/abi/exports.txt", encoding: .utf8).split(whereSeparator: \.isNewline)
      var names: [String] = []
      while let name = canelane_function_name(names.count) { names.append(String(cString: name)) }
      #expect(names.sorted() == exports.map(String.init).sorted())
    }

    @Test func aLibraryIsOpenedByItsPath() throws {
      let library = try Library(path: Place.library)
      #expect(library.version == (try Library.standard().version))
      #expect(!library.version.isEmpty)
    }

    @Test func whatIsNoLibraryIsRefusedByName() throws {
      let none = try #require(refusalBlocking { try Library(path: "/nowhere/libanelane.so") })
      #expect(none.code == .engineUnavailable)
      #expect(none.message.contains("/nowhere/libanelane.so"))
      let other = try #require(refusalBlocking { try Library(path: "libm.so.6") })
      #expect(other.code == .engineUnavailable)
      #expect(other.message.contains("anelane_abi_version"))
    }

    @Test func aPeekNeedsNoLane() throws {
      let text = try Library.standard().peek(lockDirectory: Place.folder.appendingPathComponent("nobody").path)
      #expect(text.contains("\"held\""))
    }

    @Test func theTokenizerOfACheckpoint() throws {
      let tokenizer = try Tokenizer(Place.tiny)
      let ids = try tokenizer.tokenize("hello world")
      #expect(ids.count == 4)
      #expect(ids.first == 2 && ids.last == 3)
      #expect(try tokenizer.count("hello world") == 4)
      #expect(try tokenizer.tokenize("").count == 2)
      #expect(try tokenizer.tokenize("a\0b").count >= 3)
      #expect(try tokenizer.count(String(repeating: "hello ", count: 1000)) == 1002)
      #expect(refusalBlocking { try Tokenizer("/nowhere") } != nil)
    }
  }
}
