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

    @Test func aNameIsNeverCutAtNUL() async throws {
      let library = try Library.standard()
      let cut = Place.tiny + "\0rest"
      var refused: [(String, AneLaneError?)] = [
        ("the path of the library", refusalBlocking { try Library(path: Place.library + "\0") }),
        ("lockDirectory", refusalBlocking { try library.peek(lockDirectory: "/tmp\0") }),
        ("lockDirectory", refusalBlocking { try library.holder(lockDirectory: "/tmp\0") }),
        ("the path of the record", refusalBlocking { try library.replay("/tmp/a\0b") }),
        ("the path of the text", refusalBlocking { try library.checkMIL("/tmp/a\0b") }),
        ("the path of the weights", refusalBlocking { try library.checkMIL("/tmp/a", weights: "\0") }),
        ("the model's path", refusalBlocking { try Model.inspect(cut) }),
        ("the model's path", refusalBlocking { try Tokenizer(cut) }),
      ]
      let paths: [(String, WritableKeyPath<LaneOptions, String?>)] = [
        ("lockDirectory", \.lockDirectory), ("cacheDirectory", \.cacheDirectory), ("temporaryDirectory", \.temporaryDirectory),
        ("workerPath", \.workerPath), ("recordPath", \.recordPath),
      ]
      for (name, path) in paths {
        var some = options()
        some[keyPath: path] = Place.lock + "\0"
        refused.append((name, await refusal { try await Lane.open(some, deadline: bound) }))
      }
      let lane = try await openLane()
      refused.append(("the model's path", await refusal { try await lane.load(cut, deadline: bound) }))
      let program = { Program(rungs: [.init(shape: 64, layers: [.init(mil: "program", connections: [$0: $1])])]) }
      refused.append(("an input of a connection", await refusal { try await lane.load(program("a\0b", "c"), deadline: bound) }))
      refused.append(("an output of a connection", await refusal { try await lane.load(program("a", "c\0"), deadline: bound) }))
      for (name, key) in [("name", \ModelOptions.name), ("numerics", \ModelOptions.numerics)] {
        var some = ModelOptions()
        some[keyPath: key] = "fast\0"
        refused.append((name, await refusal { try await lane.load(Place.tiny, some, deadline: bound) }))
        refused.append((name, await refusal { try await lane.load(program("a", "c"), some, deadline: bound) }))
      }
      try await lane.close(deadline: bound)
      for (name, error) in refused {
        #expect(error?.code == .invalidArgument, "\(name)")
        #expect(error?.message.contains("\(name) has NUL in it") == true, "\(name): \(error?.message ?? "taken")")
      }
    }

    /// As a library sees them that opens nothing.
    @Test func routeAndDialectAreFlagsOfC() async throws {
      let table = UnsafeMutablePointer<canelane_functions>.allocate(capacity: 1)  // for as long as the process: libraries are
      table.initialize(to: try Library.standard().c.pointee)
      table.pointee.lane_open = { options, _, _, _ in
        Seen.flags.append(options!.pointee.flags)
        return anelane_status(ANELANE_UNSUPPORTED)
      }
      let library = try Library(table: table, name: "one that opens nothing")
      var all = [LaneOptions](repeating: LaneOptions(), count: 5)
      all[1].appleRoute = .inMemory
      all[2].appleRoute = .client
      all[2].prewarm = true
      all[3].milDialect = .ios18
      all[4].milDialect = .ios16
      all[4].appleRoute = .client
      for options in all { #expect(await refusal { try await Lane.open(options, library: library, deadline: bound) } != nil) }
      #expect(Seen.flags == [0, 2, 1 | 4, 8, 16 | 4])
    }
    private enum Seen { nonisolated(unsafe) static var flags: [UInt32] = [] }

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
