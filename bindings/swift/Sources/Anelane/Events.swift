// What a lane does, as a sequence to iterate over. The library has a hook for lines of log and snapshots of counters, so the sequence
// is made of both: each iteration's own task looks at the counters in turns and says what changed; lines come as they are written.
// Nothing waits for a slow reader: a bounded number of events is kept, the newest. The sequence holds no lane, so it keeps none
// open, and ends with it.
// Threads: the log hook comes on any thread of the library, several at once, and only puts lines into buffers.
internal import CAnelane

/// One line of the library's log.
public struct LogLine: Sendable, Equatable {
  public enum Level: Int32, Sendable, Comparable {
    case debug = 0, info, warning, error
    public static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
  }
  public let level: Level
  public let text: String
}

/// Something that a lane did.
public enum LaneEvent: Sendable, Equatable {
  /// The counters changed; the first event is how they were when the iteration began.
  case stats(LaneStats)
  /// A shape is being compiled, for so long by prediction where there is one.
  case compiling(model: String, shape: Int, predicted: Duration?)
  /// A worker was started in place of one that died.
  case restarted(total: UInt64)
  /// A line of log, of any lane of the library; only after ``Library/logLines(from:)`` was called.
  case log(LogLine)
  /// The lane is closed; the last event.
  case closed
}

extension Lane {
  /// What happens in this lane from now on, looked at every so often; ends when the lane is closed. At most `buffered` events are
  /// kept for a reader who is busy, the newest.
  public func events(every interval: Duration = .milliseconds(250), buffered: Int = 1024) -> AsyncStream<LaneEvent> {
    let (library, raw) = (library, raw)
    return AsyncStream(bufferingPolicy: .bufferingNewest(max(buffered, 1))) { continuation in
      let subscription = library.log.subscribe { continuation.yield(.log($0)) }
      let task = Task {
        var last: LaneStats?
        while !Task.isCancelled {
          guard let stats = try? Lane.stats(library, raw) else { break }
          if let shape = stats.compilingShape, shape != last?.compilingShape || stats.compilingModel != last?.compilingModel {
            continuation.yield(.compiling(model: stats.compilingModel ?? "", shape: shape, predicted: stats.compilingPredicted))
          }
          if let last, last.restarts != stats.restarts { continuation.yield(.restarted(total: stats.restarts)) }
          if last != stats { continuation.yield(.stats(stats)) }
          last = stats
          try? await Task.sleep(for: interval)
        }
        if !Task.isCancelled { continuation.yield(.closed) }
        continuation.finish()
      }
      continuation.onTermination = { _ in
        task.cancel()
        library.log.unsubscribe(subscription)
      }
    }
  }
}

extension Library {
  /// The library's log from a level on. The first call asks the library for it, which is possible before the first lane is opened
  /// (``AneLaneError/Code/invalidArgument`` later); later calls get what that one asked for. At most 1,024 lines are kept for a reader
  /// who is busy, the newest.
  public func logLines(from level: LogLine.Level = .info) throws(AneLaneError) -> AsyncStream<LogLine> {
    if let refused = log.hook(level) {
      throw AneLaneError(Code(rawValue: refused), statusName(refused), "ask for the log before the first lane is opened")
    }
    return AsyncStream(bufferingPolicy: .bufferingNewest(1024)) { continuation in
      let subscription = log.subscribe { if $0.level >= level { continuation.yield($0) } }
      continuation.onTermination = { [log] _ in log.unsubscribe(subscription) }
    }
  }
  private typealias Code = AneLaneError.Code
}

/// Gives each line to whoever asked. Lives as long as its library: for ever, once the library knows it.
final class LogHub: @unchecked Sendable {
  private struct State {
    var hooked = false
    var next: UInt64 = 0
    var readers: [UInt64: @Sendable (LogLine) -> Void] = [:]
  }
  private let state = Locked(State())
  private let c: UnsafePointer<canelane_functions>

  init(_ c: UnsafePointer<canelane_functions>) { self.c = c }

  /// Asks the library for lines, once; nil: they come.
  func hook(_ level: LogLine.Level) -> anelane_status? {
    state.with { state in
      if state.hooked { return nil }
      let mine = Unmanaged.passRetained(self)
      let status = c.pointee.set_log(LogHub.line, mine.toOpaque(), level.rawValue)
      if status != ANELANE_OK {
        mine.release()
        return status
      }
      state.hooked = true
      return nil
    }
  }

  var readerCount: Int { state.with { $0.readers.count } }

  func subscribe(_ reader: @escaping @Sendable (LogLine) -> Void) -> UInt64 {
    state.with { state in
      state.next += 1
      state.readers[state.next] = reader
      return state.next
    }
  }

  func unsubscribe(_ number: UInt64) {
    let gone = state.with { $0.readers.removeValue(forKey: number) }
    _ = gone  // outside the lock: its end may run anything
  }

  private static let line: anelane_log_fn = { user, level, line in
    let hub = Unmanaged<LogHub>.fromOpaque(user!).takeUnretainedValue()
    let readers = hub.state.with { Array($0.readers.values) }
    guard !readers.isEmpty, let line else { return }
    let entry = LogLine(level: LogLine.Level(rawValue: level) ?? .error, text: String(cString: line))
    for reader in readers { reader(entry) }
  }
}
