// Giving back, using afterwards, cancelling at any time, ten thousand of everything.
import Anelane
import CAnelane
import Foundation
import Testing
import TinyCheckpoint

extension Everything {
  @Suite struct LifeTests {
    @Test func givenBackTwiceAndUsedAfterwardsAnswersACode() async throws {
      let lane = try await openLane()
      let model = try await openModel(lane)
      let lease = try await model.lease(shape: shape, deadline: bound)
      let other = try await openModel(lane)
      try await other.retire(deadline: bound)
      try await other.retire(deadline: bound)
      #expect(await refusal { try await other.embed(["a"]) }?.code == .retired)
      try await lane.close(deadline: bound)
      #expect(await refusal { try await lane.close() }?.code == .badHandle)
      let calls: [() async throws -> Void] = [
        { _ = try await model.embed(["a"]) }, { try await model.admit(shape: shape) },
        { _ = try await lane.load(Place.tiny) }, { _ = try await lane.load(Program(rungs: [])) }, { _ = try lane.stats() },
        { _ = try lane.describe() }, { _ = try model.info() }, { _ = try model.ports(shape: shape) }, { _ = try model.predict(shape: shape) },
        { _ = try await model.embed(tokens: [[2, 3]]) }, { try await model.lease(shape: shape).release() }, { try await model.retire() },
        { try usedBlocking(model) },
      ]
      for call in calls {
        let code = await refusal(call)?.code
        #expect(code == .closed || code == .badHandle, "\(String(describing: code))")
      }
      #expect(await lane.events().reduce(into: []) { $0.append($1) } == [.closed])
      #expect(refusalBlocking { try lease.withPort(0) { $0.count } }?.code == .leaseExpired)
      let run = await refusal { try await lease.run([.mapped(port: 0)], outputs: [2]) }
      #expect(run?.code == .leaseExpired || run?.code == .closed, "\(String(describing: run))")
      #expect(refusalBlocking { try ranBlocking(lease) }?.code == .leaseExpired)
      lease.release()
      // A tokenizer has nothing to do with lanes.
      #expect(try Tokenizer(Place.tiny).count("a") == 3)
    }
    private func usedBlocking(_ model: Model) throws { _ = try model.embedBlocking(["a"]) }
    private func ranBlocking(_ lease: borrowing Lease) throws { try lease.runBlocking(inputs: [(0, nil), (1, nil)], outputs: [(2, nil)]) }

    /// Lane, model, lease and a call under way, in every order.
    @Test func everythingMayBeDroppedInAnyOrder() async throws {
      let before = descriptors()
      for order in permutations([0, 1, 2, 3]) {
        var lane: Lane? = try await openLane()
        var model: Model? = try await openModel(lane!)
        var lease: Lease? = try await model!.lease(shape: shape, deadline: bound)
        var call: Task<Vectors, any Error>? = Task { [model = model!] in try await model.embed(["some text"], deadline: bound) }
        let running = call!
        for which in order {
          switch which {
          case 0: lane = nil
          case 1: model = nil
          case 2: lease = nil
          default:
            call?.cancel()
            call = nil
          }
        }
        _ = await running.result
        #expect(lane == nil && model == nil && call == nil)
        let none = lease == nil
        #expect(none)
      }
      #expect(await eventually { children().isEmpty && descriptors() <= before })
    }

    private func permutations(_ all: [Int]) -> [[Int]] {
      all.isEmpty ? [[]] : all.flatMap { first in permutations(all.filter { $0 != first }).map { [first] + $0 } }
    }

    /// A lane does not take a mapping away from under a closure.
    @Test func aCloseWaitsForThoseWhoLookAtAPort() async throws {
      try await withModel { lane, model in
        let lease = try await model.lease(shape: shape, deadline: bound)
        let stayed: AneLaneError? = try lease.withPort(0) { bytes in
          bytes[0] = 7
          let ended = DispatchSemaphore(value: 0)
          nonisolated(unsafe) var refused: AneLaneError?
          Thread.detachNewThread {
            refused = refusalBlocking { try lane.closeBlocking(deadline: .after(.milliseconds(50))) }
            ended.signal()
          }
          ended.wait()
          bytes[0] = 8
          return refused
        }
        #expect(stayed?.code == .deadlineExceeded)
        #expect(try lease.withPort(0) { $0[0] } == 8)
        lease.release()
        #expect(try await model.embed(["still open"], deadline: bound).count == 1)
      }
    }

    /// Exactly once: a checked continuation that is resumed twice ends the program, one that never is hangs it.
    @Test func aCancellationThatRacesTheEndGivesOneEnd() async throws {
      try await withModel { lane, model in
        try await model.admit(shape: shape, deadline: bound)
        let counted = try await raced(10_000, model)
        #expect(counted.good + counted.cancelled == 10_000)
        #expect(counted.good > 0 && counted.cancelled > 0)
        print("\(counted.good) ended well, \(counted.cancelled) were cancelled")
        // A cancelled call leaves nothing behind.
        #expect(try await eventually { try lane.stats().leased == 0 && lane.stats().waiting == 0 })
        #expect(try await model.embed(["and it goes on"], deadline: bound).count == 1)
      }
    }

    private func raced(_ count: Int, _ model: Model) async throws -> (good: Int, cancelled: Int) {
      let inputs = try model.ports(shape: shape).filter { !$0.isOutput }.map { Tensor(port: $0.index, bytes: [UInt8](repeating: 0, count: $0.byteCount)) }
      var random: UInt64 = 1
      var good = 0, cancelled = 0
      for round in stride(from: 0, to: count, by: 50) {
        var tasks: [Task<AneLaneError?, Never>] = []
        for i in round..<min(round + 50, count) {
          tasks.append(
            Task {
              await refusal {
                switch i % 6 {
                case 0, 1: try await model.lease(shape: shape, deadline: bound).release()
                case 2: _ = try await model.lease(shape: shape, deadline: bound).run(inputs, outputs: [2], deadline: bound)
                default: _ = try await model.embed(["some text"], deadline: bound)
                }
              }
            })
        }
        for task in tasks {
          random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
          if random >> 62 == 0 { continue }
          for _ in 0..<(random >> 54 & 0xff) { _ = random.nonzeroBitCount }
          if random >> 62 == 1 { await Task.yield() }
          task.cancel()
        }
        for task in tasks {
          switch await task.value?.code {
          case nil: good += 1
          case .cancelled: cancelled += 1
          case let code?: Issue.record("\(code)")
          }
        }
      }
      return (good, cancelled)
    }

    @Test func aTaskThatIsCancelledAlreadyStartsNothing() async throws {
      try await withModel { lane, model in
        let before = try lane.stats().answered
        let task = Task {
          while !Task.isCancelled { await Task.yield() }
          return (
            await refusal { try await model.embed(["a"]) },
            await refusal { try await model.lease(shape: 256) },
            await refusal { try await Lane.open(options()) }
          )
        }
        task.cancel()
        let refused = await task.value
        #expect(refused.0?.code == .cancelled && refused.1?.code == .cancelled && refused.2?.code == .cancelled)
        #expect(try lane.stats().answered == before)
      }
    }

    /// Cancelled while its shape compiles: the call ends, the compile goes on.
    @Test func aCallThatWaitsForACompileCanBeCancelled() async throws {
      try await withModel { lane, model in
        for deadline in [bound, .none] {
          let task = Task { await refusal { try await model.admit(shape: 256, deadline: deadline) } }
          await Task.yield()
          task.cancel()
          let code = await task.value?.code
          #expect(code == nil || code == .cancelled)
        }
        try await model.admit(shape: 256, deadline: bound)
      }
    }

    /// The operation is on its way and nothing else would end it: the worker is stopped.
    @Test func aCallThatIsUnderWayCanBeCancelled() async throws {
      try await withModel { lane, model in
        let worker = try #require(children().first.flatMap { Int32($0) })
        kill(worker, SIGSTOP)
        let task = Task { await refusal { try await model.lease(shape: shape, deadline: bound) } }
        #expect(try await eventually { try lane.stats().waiting == 1 })
        task.cancel()
        _ = try await eventually { try lane.stats().waiting == 0 }
        kill(worker, SIGCONT)
        #expect(await task.value?.code == .cancelled)
        try await model.admit(shape: shape, deadline: bound)
      }
    }

    @Test func aCloseEndsTheCallsUnderWay() async throws {
      try await withModel { lane, model in
        try await model.admit(shape: shape, deadline: bound)
        let tasks = (0..<200).map { _ in Task { await refusal { try await model.embed(["some text"], deadline: bound) } } }
        await Task.yield()
        try await lane.close(deadline: bound)
        for task in tasks {
          let code = await task.value?.code
          #expect(code == nil || code == .closed || code == .badHandle, "\(String(describing: code))")
        }
      }
    }

    /// At the smallest width: what it computes is not the point.
    @Test func tenThousandOperationsLeaveNothing() async throws {
      try await withModel(rungs: [32, TinyCheckpoint.ceiling]) { lane, model in
        try await model.admit(shape: 32, deadline: bound)
        var bytes = 0, open = 0
        for round in 0..<200 {
          if round == 40 { (bytes, open) = (residentBytes(), descriptors()) }
          try await withThrowingTaskGroup(of: Void.self) { group in
            for i in 0..<50 { group.addTask { try await self.operate(i, model) } }
            try await group.waitForAll()
          }
        }
        let grown = residentBytes() - bytes
        #expect(bytes > 1 << 20 && descriptors() <= open)
        #expect(grown < 2 << 20)
        #expect(try await eventually { try lane.stats().leased == 0 })  // what was cancelled is drained first
        print("10000 operations, \(grown >> 10) KiB and \(descriptors() - open) descriptors more")
      }
    }
    private func operate(_ i: Int, _ model: Model) async throws {
      switch i % 5 {
      case 0:
        let many = [String](repeating: "text", count: 8)  // results of 2 KB: what is kept of them shows
        #expect(try await model.embed(many, deadline: bound).count == many.count)
      case 1: try await model.lease(shape: 32, deadline: bound).release()
      case 2: #expect(await refusal { try await model.lease(shape: 77) }?.code == .shapeUnknown)
      case 3: try embedBlocking(model)
      default:
        let task = Task { await refusal { try await model.embed(["text"], deadline: bound) } }
        task.cancel()
        _ = await task.value
      }
    }
    private func embedBlocking(_ model: Model) throws { #expect(try model.embedBlocking(["text"], deadline: bound).count == 1) }

    /// Lanes and models come and go, closed or just dropped.
    @Test func lanesThatAreDroppedAreClosed() async throws {
      let before = descriptors()
      for i in 0..<20 {
        let lane = try await openLane()
        let model = try await openModel(lane)
        _ = try await model.embed(["a"], deadline: bound)
        if i % 2 == 0 { try await lane.close(deadline: bound) }
      }
      #expect(await eventually { children().isEmpty && descriptors() <= before })
    }

    /// A progress closure may own the lane: its last reference then goes on the library's own thread, where nothing may block.
    @Test func aLaneMayBeDroppedOnTheLibrarysThread() async throws {
      let before = descriptors()
      do {
        let lane = try await openLane()
        var load = ModelOptions()
        load.progress = { _ in withExtendedLifetime(lane) {} }
        let model = try await lane.load(Place.tiny, load, deadline: bound)
        try await model.admit(shape: shape, deadline: bound)
      }
      #expect(await eventually { children().isEmpty && descriptors() <= before })
    }

    @Test func aModelThatIsDroppedRetires() async throws {
      try await withModel { lane, model in
        _ = try await openModel(lane).embed(["a"], deadline: bound)
        #expect(try await eventually { try lane.stats().models == 1 })
        #expect(try await model.embed(["a"], deadline: bound).count == 1)
      }
    }

    @Test func aCancellationBeforeTheHandleIsKnownIsNotLost() {
      let early = canelane_pending_new()!, late = canelane_pending_new()!
      #expect(canelane_pending_cancel(early).bits == 0)
      #expect(canelane_pending_started(early, anelane_op(bits: 7)))
      #expect(!canelane_pending_started(late, anelane_op(bits: 8)))
      #expect(canelane_pending_cancel(late).bits == 8)
      canelane_pending_free(early)
      canelane_pending_free(late)
    }

    @Test func aCallFromAnActorComesBackToIt() async throws {
      try await withModel { _, model in
        let count = try await onMain(model)
        #expect(count == 1)
      }
    }
    @MainActor private func onMain(_ model: Model) async throws -> Int {
      let vectors = try await model.embed(["a"], deadline: bound)
      MainActor.assertIsolated()
      let lease = try await model.lease(shape: shape, deadline: bound)
      let bytes = try lease.withPort(0) { $0.count }
      MainActor.assertIsolated()
      #expect(bytes > 0)
      return vectors.count
    }

    @Test func deadlinesOfEveryKind() async throws {
      try await withModel { _, model in
        try await model.admit(shape: shape, deadline: .at(.now + .seconds(240)))
        _ = try await model.embed(["a"], deadline: .suspending(.now + .seconds(240)))
        _ = try await model.embed(["a"], deadline: .seconds(.infinity))
        _ = try await model.embed(["a"], deadline: .after(.seconds(Int64.max / 2)))
        // Never done: work on the engine is not begun past its deadline, however quick it would be.
        for past in [Deadline.now, .after(.zero), .after(.seconds(-5)), .at(.now - .seconds(1)), .suspending(.now - .seconds(1)), .seconds(.nan)] {
          let refused = await refusal { try await model.embed(["a"], deadline: past) }
          #expect(refused?.code == .deadlineExceeded, "\(past): \(String(describing: refused))")
        }
      }
    }
  }
}
