// The caller's own programs, from a folder and from memory; what is said of texts, records and holders without a lane.
import Anelane
import Foundation
import Testing

extension Everything {
  @Suite struct ProgramTests {
    private static let folder = Place.source + "/examples/programs/residual"

    private static func text(_ name: String) throws -> String { try String(contentsOfFile: folder + "/" + name, encoding: .utf8) }
    private static func bytes(_ name: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name))) }

    /// What program.json of the folder says.
    private static func program() throws -> Program {
      let up = try bytes("up.bin"), down = try bytes("down.bin")
      return Program(
        rungs: try [64, 128].map { width in
          Program.Rung(
            shape: width,
            layers: [
              Program.Layer(mil: try text("up_\(width).mil"), weights: up),
              Program.Layer(mil: try text("activate_\(width).mil")),
              Program.Layer(mil: try text("down_\(width).mil"), weights: down, connections: ["hidden": "g", "skip": "0.h"]),
            ])
        })
    }

    private func outputs(_ model: Model, _ width: Int) async throws -> [Tensor] {
      let ports = try model.ports(shape: width)
      #expect(ports.map(\.name) == ["x", "total", "y"])
      let x: [UInt8] = (0..<ports[0].byteCount).map { $0 % 2 == 0 ? UInt8(truncatingIfNeeded: $0) : 0x38 }
      let lease = try await model.lease(shape: width, deadline: bound)
      return try await lease.run([Tensor(port: 0, bytes: x)], outputs: [1, 2], deadline: bound)
    }

    @Test func programsInMemoryAndInAFolderGiveTheSameBits() async throws {
      let lane = try await openLane()
      let folder = try await lane.load(Self.folder, deadline: bound)
      var options = ModelOptions()
      options.name = "mine"
      let memory = try await lane.load(try Self.program(), options, deadline: bound)
      for model in [folder, memory] {
        let info = try model.info()
        #expect(info.kind == .program && info.layers == 3 && info.rungs == [64, 128])
      }
      for width in [64, 128] {
        let expected = try await outputs(folder, width)
        #expect(expected.allSatisfy { $0.bytes!.contains { $0 != 0 } })
        #expect(try await outputs(memory, width) == expected)
      }
      #expect(try lane.describe().contains("mine"))
      #expect(await refusal { try await memory.embed(["a"], deadline: bound) }?.code == .unsupported)
      try blocking(lane)
      try await lane.close(deadline: bound)
    }
    private func blocking(_ lane: Lane) throws { #expect(try lane.loadBlocking(try Self.program(), deadline: bound).info().kind == .program) }

    @Test func whatIsWrongWithAProgramIsSaid() async throws {
      let lane = try await openLane()
      #expect(await refusal { try await lane.load(Program(rungs: [])) }?.code == .invalidArgument)
      #expect(await refusal { try await lane.load(Program(rungs: [.init(shape: 64, layers: [])])) } != nil)
      var broken = try Self.program()
      broken.rungs[0].layers[1].mil = "program(1.3) { nonsense"
      let refused = try #require(await refusal { try await lane.load(broken, deadline: bound) })
      #expect(refused.message.contains("rung_64_layer_1.mil"), "\(refused)")
      var unconnected = try Self.program()
      unconnected.rungs[1].layers[2].connections["hidden"] = "nobody"
      #expect(try #require(await refusal { try await lane.load(unconnected, deadline: bound) }).message.contains("nobody"))
      var bare = try Self.program()
      bare.rungs[0].layers[0].weights = nil
      #expect(await refusal { try await lane.load(bare, deadline: bound) } != nil)
      try await lane.close(deadline: bound)
    }

    /// The C call goes on, nobody waits for it; what it has loaded retires, and nothing is told twice (a checked continuation would end the
    /// program).
    @Test func aLoadFromMemoryCanBeCancelledAtAnyTime() async throws {
      try await Task.sleep(for: .milliseconds(1))  // the descriptors that sleeping itself takes, and keeps
      let before = descriptors()
      let lane = try await openLane()
      let program = try Self.program()
      var loaded = 0
      for i in 0..<20 {
        let task = Task { await refusal { try await lane.load(program, deadline: bound) } }
        try await Task.sleep(for: .milliseconds(i * i / 2))
        task.cancel()
        switch await task.value?.code {
        case nil: loaded += 1
        case .cancelled: break
        case let code?: Issue.record("\(code)")
        }
      }
      #expect(loaded < 20)  // at first there is no time for a worker to start
      #expect(try await eventually { try lane.stats().models == 0 })
      // A folder's load is an operation of the library: the same from outside.
      for i in 0..<20 {
        let task = Task { await refusal { try await lane.load(Place.tiny, deadline: bound) } }
        try await Task.sleep(for: .milliseconds(i * i / 2))
        task.cancel()
        let code = await task.value?.code
        #expect(code == nil || code == .cancelled)
      }
      #expect(try await eventually { try lane.stats().models == 0 })
      try await lane.close(deadline: bound)
      #expect(await eventually { children().isEmpty && descriptors() <= before })
    }

    @Test func aTextIsCheckedWithoutALane() throws {
      let library = try Library.standard()
      let good = try library.checkMIL(Self.folder + "/up_64.mil", weights: Self.folder + "/up.bin")
      #expect(good.contains("\"error\":null") && good.contains("\"conv\":1"))
      #expect(try library.checkMIL(Self.folder + "/activate_64.mil").contains("\"relu\":1"))
      #expect(!(try library.checkMIL(Self.folder + "/program.json").contains("\"error\":null")))
      #expect(refusalBlocking { try library.checkMIL("/nowhere.mil") }?.code == .io)
    }

    @Test func aRecordIsDecidedAgain() async throws {
      let record = Place.folder.appendingPathComponent("record.jsonl").path
      let recorded = {
        var options = options()
        options.recordPath = record
        return options
      }()
      let lane = try await Lane.open(recorded, deadline: bound)
      try await openModel(lane).admit(shape: shape, deadline: bound)
      try await lane.close(deadline: bound)
      let library = try Library.standard()
      let replay = try library.replay(record)
      #expect(replay.steps > 0 && replay.difference == nil, "\(replay)")
      // One action less: what is decided now is more.
      var lines = try String(contentsOfFile: record, encoding: .utf8).split(separator: "\n")
      let last = try #require(lines.lastIndex { $0.contains(#""do":[""#) })
      let place = try #require(lines[last].range(of: #""do":[""#))
      lines[last] = lines[last][..<place.lowerBound] + #""do":[]}"#
      try (lines.joined(separator: "\n") + "\n").write(toFile: record, atomically: false, encoding: .utf8)
      let changed = try library.replay(record)
      #expect(try #require(changed.difference).contains(":\(last + 1): ") && changed.steps > 0, "\(changed)")
      #expect(refusalBlocking { try library.replay("/nowhere.jsonl") }?.code == .io)
    }

    @Test func whoHoldsALane() async throws {
      let library = try Library.standard()
      #expect(try library.holder(lockDirectory: Place.folder.appendingPathComponent("nobody").path) == nil)
      let lane = try await openLane()
      let holder = try #require(try library.holder(lockDirectory: Place.lock))
      #expect(holder.pid == getpid() && !holder.recordIsStale && !holder.program.isEmpty)
      let age = Date().timeIntervalSince1970 * 1000 - Double(try #require(holder.sinceUnixMilliseconds))
      #expect(age > -5000 && age < 3_600_000)
      #expect(try library.peek(lockDirectory: Place.lock).contains("\"pid\":\(getpid())"))
      try await lane.close(deadline: bound)
      #expect(try library.holder(lockDirectory: Place.lock) == nil)
    }
  }
}
