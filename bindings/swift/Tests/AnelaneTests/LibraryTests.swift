// The library itself: found, refused, complete; deadlines in its clock; its log.
import AnelaneLinked
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

    /// At a path and linked: the same library, used from lane to vectors.
    @Test func everyWayToTheLibraryWorks() async throws {
      var all: [Vectors] = []
      for library in [try Library(path: Place.library), try Library.linked(), try Library.standard()] {
        let lane = try await Lane.open(options(), library: library, deadline: bound)
        #expect(lane.library === library)
        let model = try await lane.load(Place.tiny, deadline: bound)
        all.append(try await model.embed(["some text"], deadline: bound))
        let tokens = try Tokenizer(Place.tiny, library: library).tokenize("some text")
        #expect(try await model.embed(tokens: [tokens], deadline: bound) == all[0])
        #expect(try Model.inspect(Place.tiny, library: library).dimension == all[0].dimension)
        try await lane.close(deadline: bound)
      }
      #expect(all[1] == all[0] && all[2] == all[0])
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
