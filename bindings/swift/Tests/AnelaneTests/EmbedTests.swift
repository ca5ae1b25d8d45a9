// Vectors, runs on mapped and on own memory, and the errors of both.
import CAnelane
import Foundation
import Testing
import TinyCheckpoint

@testable import Anelane

extension Everything {
  @Suite struct EmbedTests {
    @Test func everyWayGivesTheSameBits() async throws {
      try await withModel { lane, model in
        let texts = ["the first", "", "and a third one"]
        let vectors = try await model.embed(texts, deadline: bound)
        #expect(vectors.count == 3 && vectors.dimension == TinyCheckpoint.dimension)
        try blocking(model, texts, vectors)
        let tokenizer = try Tokenizer(Place.tiny)
        let tokens = try texts.map { try tokenizer.tokenize($0) }
        #expect(try await model.embed(tokens: tokens) == vectors)
        for (i, text) in texts.enumerated() {
          #expect(try await model.embed([text])[0] == vectors[i])
          #expect(try await model.embed(tokens: [tokens[i]])[0] == vectors[i])
        }
        #expect(vectors.withUnsafeBufferPointer { $0.count } == 3 * TinyCheckpoint.dimension)
        let length = vectors[0].reduce(0) { $0 + $1 * $1 }
        #expect(abs(length - 1) < 0.001)
        // Not a String of Swift's own.
        let bridged = NSString(string: "the first") as String
        #expect(try await model.embed([bridged])[0] == vectors[0])
        #expect(try model.info().dimension == TinyCheckpoint.dimension)
        #expect(try model.info().engine == .soft && model.info().kind == .embedder && !model.info().vectorSpace.isEmpty)
        #expect(try lane.describe().contains("tiny"))
      }
    }

    private func blocking(_ model: Model, _ texts: [String], _ expected: Vectors) throws {
      #expect(try model.embedBlocking(texts) == expected)
      let tokenizer = try Tokenizer(Place.tiny)
      let tokens = try texts.map { try tokenizer.tokenize($0) }
      #expect(try model.embedBlocking(tokens: tokens) == expected)
      var room = [Float](repeating: -1, count: expected.values.count + 1)
      try room.withUnsafeMutableBufferPointer { try model.embedBlocking(texts, into: $0) }
      #expect(room == expected.values + [-1])
      let small = try #require(
        room.withUnsafeMutableBufferPointer { out in
          refusalBlocking {
            try model.embedBlocking(texts, into: UnsafeMutableBufferPointer(rebasing: out[..<(expected.values.count - 1)]))
          }
        })
      #expect(small.code == .invalidArgument && small.limit == UInt64(expected.values.count))
    }

    @Test func errorsTellAllTheirFields() async throws {
      try await withModel { lane, model in
        let missing = try #require(await refusal { try await lane.load("/nowhere/model") })
        #expect(missing.message.contains("/nowhere/model") && !missing.isTransient && missing.retryAfter == nil && missing.item == nil)

        let long = [Int32](repeating: 1, count: TinyCheckpoint.ceiling + 1)
        let tooLong = try #require(await refusal { try await model.embed(tokens: [[1, 2], long]) })
        #expect(tooLong.code == .sequenceTooLong && tooLong.name == "SEQUENCE_TOO_LONG")
        #expect(tooLong.item == 1 && tooLong.limit == UInt64(TinyCheckpoint.ceiling) && tooLong.model == "tiny")
        #expect(!tooLong.isTransient && !tooLong.message.isEmpty && tooLong.description.contains("[item 1]"))
        let empty = try #require(await refusal { try await model.embed(tokens: [[1], []]) })
        #expect(empty.code == .invalidSequence && empty.item == 1)

        let compiling = try #require(await refusal { try await model.lease(shape: 256, deadline: .now) })
        #expect(compiling.code == .shapeCompiling && compiling.isTransient && compiling.isSafeToRetry)
        #expect(compiling.shape == 256 && compiling.retryAfter! > .zero)

        let unknown = try #require(await refusal { try await model.lease(shape: 77) })
        #expect(unknown.code == .shapeUnknown)
        let negative = try #require(await refusal { try await model.lease(shape: -1) })
        #expect(negative.code == .shapeUnknown || negative.code == .invalidArgument)

        for texts in [["a", "b\0c"], ["b\0c"]] {
          let nul = try #require(await refusal { try await model.embed(texts) })
          #expect(nul.code == .invalidArgument && nul.item == texts.count - 1 && nul.limit == 1)
        }
        #expect(AneLaneError.Code(rawValue: 999) != .closed)
      }
    }

    /// Every field of C's, and none that does not apply.
    @Test func anErrorHasWhatTheLibraryWrote() throws {
      let library = try Library.standard()
      var raw = anelane_error()
      raw.error_class = Int32(ANELANE_TRANSIENT)
      raw.safe_to_retry = 1
      raw.retry_after_ms = 1500
      raw.lane_id = 7
      raw.limit = 512
      raw.item = 3
      raw.shape = 256
      raw.holder_pid = 4711
      withUnsafeMutableBytes(of: &raw.model) { $0.copyBytes(from: Array("bert".utf8)) }
      withUnsafeMutableBytes(of: &raw.message) { $0.copyBytes(from: Array("not yet".utf8)) }
      let full = AneLaneError(raw, status: Int32(ANELANE_SHAPE_COMPILING), library: library)
      #expect(full.code == .shapeCompiling && full.name == "SHAPE_COMPILING" && full.message == "not yet")
      #expect(full.isTransient && full.isSafeToRetry && full.retryAfter == .milliseconds(1500))
      #expect(full.item == 3 && full.limit == 512 && full.shape == 256 && full.model == "bert" && full.laneID == 7 && full.holderPID == 4711)
      for part in ["SHAPE_COMPILING: not yet", "[model bert]", "[shape 256]", "[item 3]", "[limit 512]", "4711", "[retry after 1.5 seconds]"] {
        #expect(full.description.contains(part), "\(full)")
      }
      var bare = anelane_error()
      bare.item = -1
      let empty = AneLaneError(bare, status: 999, library: library)
      #expect(empty.code.rawValue == 999 && empty.name == "UNKNOWN" && empty.message.isEmpty && !empty.isTransient && !empty.isSafeToRetry)
      #expect(empty.retryAfter == nil && empty.item == nil && empty.limit == nil && empty.shape == nil)
      #expect(empty.model == nil && empty.laneID == nil && empty.holderPID == nil && empty.description == "UNKNOWN: ")
    }

    @Test func aBusyLaneNamesItsHolder() async throws {
      let folder = Place.folder.appendingPathComponent("busy")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      let holder = Process(), input = Pipe(), output = Pipe()
      holder.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent("Overhead")
      holder.arguments = ["--hold", folder.path]
      holder.standardInput = input
      holder.standardOutput = output
      try holder.run()
      defer {
        try? input.fileHandleForWriting.close()
        holder.waitUntilExit()
      }
      #expect(!output.fileHandleForReading.availableData.isEmpty)  // it has the lane
      let busyOptions = {
        var options = options()
        options.lockDirectory = folder.path
        return options
      }()
      let busy = try #require(await refusal { try await Lane.open(busyOptions, deadline: .now) })
      #expect(busy.code == .laneBusy && busy.isTransient && busy.holderPID == holder.processIdentifier, "\(busy)")
      let late = await refusal { try await Lane.open(busyOptions, deadline: .after(.milliseconds(250))) }
      #expect(late?.code == .laneBusy)
      // And the wait for it can be cancelled.
      let waiting = Task { await refusal { try await Lane.open(busyOptions, deadline: bound) } }
      try await Task.sleep(for: .milliseconds(50))
      waiting.cancel()
      #expect(await waiting.value?.code == .cancelled)
    }

    @Test func aRunOnOwnAndOnMappedMemory() async throws {
      try await withModel { lane, model in
        let ports = try model.ports(shape: shape)
        #expect(ports.map(\.name) == ["a00_x", "a01_mask", "z00_y"])
        #expect(ports.map(\.isOutput) == [false, false, true] && ports[0].type == .float16)
        let half: [UInt8] = (0..<ports[0].byteCount).map { $0 % 2 == 0 ? 0 : 0x38 }  // 0.5 as fp16
        let zero = [UInt8](repeating: 0, count: ports[1].byteCount)
        let lease = try await model.lease(shape: shape, deadline: bound)
        #expect(try lane.stats().leased == 1)
        let inputs = [Tensor(port: 0, bytes: half), Tensor(port: 1, bytes: zero)]
        let result = try await lease.run(inputs, outputs: [2], deadline: bound)
        #expect(result.count == 1 && result[0].port == 2 && result[0].bytes?.count == ports[2].byteCount)
        #expect(result[0].bytes!.contains { $0 != 0 })

        try lease.withPort(0) { $0.copyBytes(from: half) }
        try lease.withPort(1) { $0.copyBytes(from: zero) }
        #expect(try await lease.run([.mapped(port: 0), .mapped(port: 1)], outputs: [2], deadline: bound) == result)
        var own = [UInt8](repeating: 0, count: ports[2].byteCount)
        try runBlocking(lease, half, zero, &own)
        #expect(own == result[0].bytes)
        #expect(try lease.withPort(2) { Array($0) } == own)

        let wrong = await refusal { try await lease.run([inputs[0]], outputs: [2], deadline: bound) }
        #expect(wrong?.code == .invalidArgument)
        lease.release()
        #expect(try lane.stats().leased == 0)
      }
    }

    private func runBlocking(_ lease: borrowing Lease, _ x: [UInt8], _ mask: [UInt8], _ out: inout [UInt8]) throws {
      try x.withUnsafeBytes { x in
        try mask.withUnsafeBytes { mask in
          try out.withUnsafeMutableBytes { out in
            try lease.runBlocking(inputs: [(0, x), (1, mask)], outputs: [(2, out)], deadline: bound)
          }
        }
      }
      // Mapped in, mapped out: port 2 then holds the same.
      try lease.runBlocking(inputs: [(0, nil), (1, nil)], outputs: [(2, nil)], deadline: bound)
    }

    @Test func progressIsTold() async throws {
      final class Seen: @unchecked Sendable {
        let lock = NSLock()
        var all: [LoadProgress] = []
        func add(_ progress: LoadProgress) { lock.withLock { all.append(progress) } }
        var count: Int { lock.withLock { all.count } }
      }
      let lane = try await openLane()
      weak var gone: Seen?
      do {
        let seen = Seen()
        gone = seen
        var load = ModelOptions()
        load.progress = { seen.add($0) }
        load.name = "named"
        let model = try await lane.load(Place.tiny, load, deadline: bound)
        try await model.admit(shape: shape, deadline: bound)
        #expect(await eventually { seen.count > 0 })
        #expect(seen.lock.withLock { seen.all.allSatisfy { $0.shape == shape && $0.layer <= $0.layers } })
        #expect(try lane.describe().contains("named"))
      }
      #expect(await eventually { gone == nil })  // dropped once the retirement has ended
      try await lane.close(deadline: bound)
    }

    @Test func askingAgainWhenTheErrorSays() async throws {
      try await withModel { _, model in
        var tries = 0
        let vectors = try await retrying(for: .seconds(240)) {
          tries += 1
          return try await model.embed(["a"], deadline: tries == 1 ? .now : bound)
        }
        #expect(vectors.count == 1)
        tries = 0
        let permanent = await refusal {
          try await retrying {
            tries += 1
            return try await model.lease(shape: 77)
          }
        }
        #expect(permanent?.code == .shapeUnknown && tries == 1)
        let hopeless = await refusal {
          try await retrying(for: .zero) { try await model.lease(shape: 256, deadline: .now) }
        }
        #expect(hopeless?.code == .shapeCompiling)
        let task = Task {
          await refusal {
            try await retrying { try await self.refuse(model) }
          }
        }
        task.cancel()
        #expect(await task.value != nil)
      }
    }
    private func refuse(_ model: Model) async throws(AneLaneError) -> Int {
      _ = try await model.lease(shape: 256, deadline: .now)
      _ = try await model.lease(shape: 77)
      return 1
    }
  }
}
