// The library's deadlines are nanoseconds of its own clock, which stops while the machine sleeps, as `SuspendingClock` does.

/// When a call gives up waiting.
public enum Deadline: Sendable, Hashable {
  /// Only the lane's own bounds, which are always there.
  case none
  /// Do not wait at all.
  case now
  /// So long from the moment of each call. Nothing or less: do not wait.
  case after(Duration)
  /// A moment. What the machine sleeps through is taken from the time left when the call is made, not afterwards.
  case at(ContinuousClock.Instant)
  /// A moment of the clock that stops while the machine sleeps, as the library's own does.
  case suspending(SuspendingClock.Instant)

  /// So many seconds from the moment of each call.
  public static func seconds(_ seconds: Double) -> Deadline {
    guard seconds > 0 else { return .now }  // not a number: no time either
    return seconds < 1e9 ? .after(.seconds(seconds)) : .none
  }

  /// In the library's clock.
  func nanoseconds(_ library: Library) -> UInt64 {
    switch self {
    case .none: .max
    case .now: 0
    case .after(let duration): Self.nanoseconds(after: duration, library)
    case .at(let instant): Self.nanoseconds(after: instant - .now, library)
    case .suspending(let instant): Self.nanoseconds(after: instant - .now, library)
    }
  }

  private static func nanoseconds(after duration: Duration, _ library: Library) -> UInt64 {
    let (seconds, attoseconds) = duration.components
    guard seconds > 0 || attoseconds > 0 else { return 0 }
    guard seconds < 9_000_000_000 else { return .max }
    return library.c.pointee.now_ns() + UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
  }
}
