// A lane's events: counters, compiles, crashes, lines of log, the end.
import Foundation
import Testing

@testable import Anelane

extension Everything {
  @Suite struct EventTests {
    @Test func eventsTellWhatALaneDoes() async throws {
      let lane = try await openLane()
      let events = lane.events(every: .milliseconds(5), buffered: 100_000)
      let told = Locked([LaneEvent]())
      let reader = Task { for await event in events { told.with { $0.append(event) } } }
      // Each is waited for before the next is caused: a busy machine may look seldom.
      func tells(_ wanted: (LaneEvent) -> Bool) async -> Bool { await eventually { told.with { $0.contains(where: wanted) } } }
      #expect(await tells { if case .stats(let stats) = $0 { stats.admitted == 0 } else { false } })
      let model = try await openModel(lane)
      try await model.admit(shape: 256, deadline: bound)
      #expect(await tells { if case .stats(let stats) = $0 { stats.admitted == 1 } else { false } })
      let worker = try #require(children().first.flatMap { Int32($0) })
      kill(worker, SIGKILL)
      #expect(
        try await eventually {
          _ = try? model.predict(shape: shape)
          return try lane.stats().restarts > 0
        })
      #expect(await tells { if case .restarted(let total) = $0 { total >= 1 } else { false } })
      try await lane.close(deadline: bound)
      await reader.value  // the sequence ends by itself
      let all = told.with { $0 }
      #expect(all.last == .closed)
      guard case .stats(let first)? = all.first(where: { if case .log = $0 { false } else { true } }) else {
        Issue.record("no counters at first: \(all.prefix(3))")
        return
      }
      #expect(first.admitted == 0)
      #expect(all.contains { if case .log(let line) = $0 { line.text.contains("shape=256") } else { false } })
    }

    @Test func leavingTheLoopEndsIt() async throws {
      let lane = try await openLane()
      var seen = 0
      for await event in lane.events(every: .milliseconds(5)) {
        guard case .stats = event else { continue }
        seen += 1
        break
      }
      #expect(seen == 1)
      let task = Task { await lane.events().reduce(0) { count, _ in count + 1 } }
      task.cancel()
      _ = await task.value
      try await lane.close(deadline: bound)
    }

    /// However an iteration ends, or if it never begins: its task and its place among the readers of the log go, and it held no lane.
    @Test func aSequenceThatIsDroppedLeavesNothing() async throws {
      let library = try Library.standard()
      let before = library.log.readerCount
      weak var gone: Lane?
      do {
        let lane = try await openLane()
        gone = lane
        for i in 0..<300 {
          switch i % 3 {
          case 0: _ = lane.events()
          case 1: for await _ in lane.events(every: .milliseconds(1)) { break }
          default:
            let events = lane.events(every: .seconds(60))
            let task = Task { await events.reduce(0) { count, _ in count + 1 } }
            await Task.yield()
            task.cancel()
            _ = await task.value  // though the next look at the lane is a minute away
          }
        }
      }
      #expect(await eventually { library.log.readerCount == before })
      #expect(gone == nil)
      #expect(await eventually { children().isEmpty && (try? library.holder(lockDirectory: Place.lock)) == .some(nil) })
    }

    @Test func theLogIsAskedForBeforeTheFirstLane() async throws {
      let lines = try Place.log.get()
      let lane = try await openLane()
      var iterator = lines.makeAsyncIterator()
      let model = try await openModel(lane)
      try await model.admit(shape: shape, deadline: bound)
      let line = try #require(await iterator.next())
      #expect(!line.text.isEmpty && !line.text.contains("\n"))
      _ = try lane.library.logLines()  // more readers are welcome at any time
      try await lane.close(deadline: bound)
    }
  }
}
