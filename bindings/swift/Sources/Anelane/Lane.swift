// A lane: the one owner of the engine for this user. The object owns one open of the lane and gives it back exactly once: by close(), or
// when the last reference goes, on a thread of its own, because closing may take seconds and a deinit can run anywhere, on the
// library's own threads too. Handles are values with generations: giving one back twice, or using it afterwards, answers an error.
// Models hold their lane, leases their model, so no order of dropping them pulls something away from under a call. What could
// still be pulled away is mapped memory: a gate keeps close() out while a closure looks at some.
// Threads: everything may be called from any.
internal import CAnelane

/// Which engine computes.
public enum Engine: Int32, Sendable {
  /// The Neural Engine where there is one, else software.
  case automatic = 0
  case apple = 1
  case soft = 2
}

/// A way to the Neural Engine.
public enum AppleRoute: Sendable {
  case inMemory, client
}

/// A dialect of program texts.
public enum MILDialect: Sendable {
  /// Of macOS 15 and later.
  case ios18
  /// Of systems before.
  case ios16
}

/// How a lane is opened. What is nil has the library's default.
public struct LaneOptions: Sendable, Equatable {
  public init() {}
  public var engine = Engine.automatic
  /// Workers are threads rather than processes: for hosts that may not start processes.
  public var workersAreThreads = false
  /// Load the small shapes of a model in the background, into free room only.
  public var prewarm: Bool?
  /// Layer programs resident at once.
  public var executableBudget: Int?
  public var shapesPerModel: Int?
  public var shapesTotal: Int?
  /// Requests that may wait.
  public var maxWaiting: Int?
  /// A pause before a compile, so that cheaper ones may go first.
  public var settle: Duration?
  /// A lease without a run expires after this.
  public var leaseMax: Duration?
  /// The longest wait for a shape.
  public var admissionBound: Duration?
  /// The longest wait for running work at retirement.
  public var drain: Duration?
  /// Threads of the software engine; 0: one for each core.
  public var softThreads: Int?
  /// How the Neural Engine is reached. Leave it out unless `anelane doctor` or a bug report says so: the system decides.
  public var appleRoute: AppleRoute?
  /// In which dialect the Neural Engine's programs are written. As with the route, leave it out.
  public var milDialect: MILDialect?
  /// Absolute paths.
  public var lockDirectory: String?
  public var cacheDirectory: String?
  public var temporaryDirectory: String?
  public var workerPath: String?
  /// A file for a record of all decisions.
  public var recordPath: String?
}

/// What a lane does at one moment.
public struct LaneStats: Sendable, Equatable {
  /// Layer programs: allowed, and charged.
  public let budget: Int, reservedPrograms: Int
  /// Shapes, now.
  public let resident: Int, leased: Int
  /// Requests that wait.
  public let waiting: Int
  /// Models that are loaded and not retired.
  public let models: Int
  /// What is being compiled, of which model, for how long already, and how long it was said to take.
  public let compilingShape: Int?
  public let compilingModel: String?
  public let compilingFor: Duration?
  public let compilingPredicted: Duration?
  /// Counted since the lane was opened.
  public let admitted: UInt64, loaded: UInt64, compiled: UInt64, evicted: UInt64
  public let refused: UInt64, restarts: UInt64, answered: UInt64, cancelled: UInt64

  init(_ raw: anelane_lane_stats) {
    budget = Int(raw.budget)
    reservedPrograms = Int(raw.reserved_programs)
    resident = Int(raw.resident)
    leased = Int(raw.leased)
    waiting = Int(raw.waiting)
    models = Int(raw.models)
    let compiling = raw.compiling_shape != 0
    compilingShape = compiling ? Int(raw.compiling_shape) : nil
    compilingModel = compiling ? text(of: raw.compiling_model) : nil
    compilingFor = compiling ? .milliseconds(Int64(clamping: raw.compiling_ms)) : nil
    compilingPredicted =
      compiling && raw.compiling_predicted_ms != 0 ? .milliseconds(Int64(clamping: raw.compiling_predicted_ms)) : nil
    admitted = raw.admitted
    loaded = raw.loaded
    compiled = raw.compiled
    evicted = raw.evicted
    refused = raw.refused
    restarts = raw.restarts
    answered = raw.answered
    cancelled = raw.cancelled
  }
}

/// The lane of this machine's engine.
///
/// ```swift
/// let lane = try await Lane.open()
/// let model = try await lane.load("models/all-MiniLM-L6-v2")
/// let vectors = try await model.embed(["A cat sleeps.", "A kitten naps."])
/// try await lane.close()
/// ```
///
/// A lane that nobody refers to any more is closed in the background; ``close(deadline:)`` waits for it and says how it went.
public final class Lane: Sendable {
  /// The library that it is a lane of.
  public let library: Library
  let raw: anelane_lane
  let gate = Gate()
  private let kept = Kept()

  private init(_ library: Library, _ raw: anelane_lane) {
    self.library = library
    self.raw = raw
  }

  deinit {
    let (library, raw, kept) = (library, raw, kept)
    let close: @Sendable () -> Void = {
      _ = library.c.pointee.lane_close(raw, library.c.pointee.now_ns() + 10_000_000_000, nil)
      kept.drop()
    }
    var stats = anelane_lane_stats()
    stats.struct_size = UInt32(MemoryLayout<anelane_lane_stats>.size)
    switch Int(library.c.pointee.lane_get_stats(raw, &stats, nil)) {
    case ANELANE_BAD_HANDLE, ANELANE_CLOSED: kept.drop()  // closed already: nothing to wait for
    default: if !onThread(close) { close() }
    }
  }

  /// Takes the lane, waiting at most until the deadline where another process holds it (``AneLaneError/Code/laneBusy``). Cancelling
  /// the task ends the wait.
  public static func open(
    _ options: LaneOptions = LaneOptions(), library: Library? = nil, deadline: Deadline = .none
  ) async throws(AneLaneError) -> Lane {
    if Task.isCancelled { throw .cancelledTask }
    let library = try Library.chosen(library)
    let bound = options.admissionBound.map { Deadline.after($0) } ?? .after(.seconds(600))
    let end = min(deadline.nanoseconds(library), bound.nanoseconds(library))
    return try await library.blocking { cancelled in
      // The C call cannot be cancelled: it waits in slices.
      while true {
        let until = min(end, library.c.pointee.now_ns() + 100_000_000)
        let result = open(options, library, until)
        if case .failure(let error) = result, error.code == .laneBusy, until < end {
          if cancelled() { return .failure(AneLaneError(.cancelled, "CANCELLED", "the task was cancelled while another process held the lane")) }
          continue
        }
        return result
      }
    }
  }

  /// The same for code that may block.
  @available(*, noasync, message: "blocks: use the async form")
  public static func openBlocking(
    _ options: LaneOptions = LaneOptions(), library: Library? = nil, deadline: Deadline = .none
  ) throws(AneLaneError) -> Lane {
    let library = try Library.chosen(library)
    return try open(options, library, deadline.nanoseconds(library)).get()
  }

  private static func open(_ options: LaneOptions, _ library: Library, _ until: UInt64) -> Result<Lane, AneLaneError> {
    do throws(AneLaneError) {
      try options.check()
      var raw = anelane_lane()
      try library.check { error in
        options.withRaw(library) { options in library.c.pointee.lane_open(options, until, &raw, error) }
      }
      return .success(Lane(library, raw))
    } catch {
      return .failure(error)
    }
  }

  /// Closes it: waiting calls end with ``AneLaneError/Code/closed``, workers end in good order until the deadline, by force then. Waits
  /// for closures that look at mapped ports, ten seconds at most (``AneLaneError/Code/deadlineExceeded``, and the lane stays open). Closing
  /// goes on when the task is cancelled. A second time: ``AneLaneError/Code/badHandle``.
  public func close(deadline: Deadline = .after(.seconds(10))) async throws(AneLaneError) {
    try await library.blocking { [self] _ in closeNow(deadline) }
  }

  /// The same for code that may block.
  @available(*, noasync, message: "blocks: use the async form")
  public func closeBlocking(deadline: Deadline = .after(.seconds(10))) throws(AneLaneError) { try closeNow(deadline).get() }

  private func closeNow(_ deadline: Deadline) -> Result<Void, AneLaneError> {
    let until = deadline.nanoseconds(library), now = library.c.pointee.now_ns()
    guard gate.shut(min(until > now ? until - now : 0, 10_000_000_000)) else {
      return .failure(
        AneLaneError(.deadlineExceeded, "DEADLINE_EXCEEDED", "a closure still looks at a mapped port: let it return, then close", transient: true))
    }
    do throws(AneLaneError) {
      try library.check { library.c.pointee.lane_close(raw, until, $0) }
      return .success(())
    } catch {
      // A lane that stays open keeps serving.
      if error.code == .wrongThread { gate.open() }
      return .failure(error)
    }
  }

  /// A snapshot, consistent in itself. Takes microseconds.
  public func stats() throws(AneLaneError) -> LaneStats { try Self.stats(library, raw) }

  static func stats(_ library: Library, _ raw: anelane_lane) throws(AneLaneError) -> LaneStats {
    var stats = anelane_lane_stats()
    stats.struct_size = UInt32(MemoryLayout<anelane_lane_stats>.size)
    try library.check { library.c.pointee.lane_get_stats(raw, &stats, $0) }
    return LaneStats(stats)
  }

  /// Options, models, slots, queue and learned costs as JSON.
  public func describe() throws(AneLaneError) -> String {
    try library.text { library.c.pointee.lane_describe(raw, $0, $1, $2, $3) }
  }

  /// Keeps something that a callback of the library may still want, until the lane is closed.
  func keep(_ object: any AnyObject & Sendable) { kept.keep(object) }
}

extension LaneOptions {
  fileprivate func check() throws(AneLaneError) {
    let paths = [
      ("lockDirectory", lockDirectory), ("cacheDirectory", cacheDirectory), ("temporaryDirectory", temporaryDirectory),
      ("workerPath", workerPath), ("recordPath", recordPath),
    ]
    for (name, path) in paths { try AneLaneError.refuseNUL(name, path) }
  }

  fileprivate func withRaw<R>(_ library: Library, _ body: (UnsafePointer<anelane_lane_options>) -> R) -> R {
    var raw = anelane_lane_options()
    library.c.pointee.lane_options_init(&raw, MemoryLayout<anelane_lane_options>.size)
    raw.engine = engine.rawValue
    raw.worker_mode = Int32(workersAreThreads ? ANELANE_WORKER_THREAD : ANELANE_WORKER_PROCESS)
    if let prewarm { raw.flags = prewarm ? raw.flags | ANELANE_LANE_PREWARM : raw.flags & ~ANELANE_LANE_PREWARM }
    switch appleRoute {
    case .inMemory: raw.flags |= ANELANE_LANE_APPLE_IN_MEMORY
    case .client: raw.flags |= ANELANE_LANE_APPLE_CLIENT
    case nil: break
    }
    switch milDialect {
    case .ios18: raw.flags |= ANELANE_LANE_MIL_IOS18
    case .ios16: raw.flags |= ANELANE_LANE_MIL_IOS16
    case nil: break
    }
    func set<N: FixedWidthInteger>(_ field: inout N, _ value: Int?) { if let value { field = N(clamping: value) } }
    func set<N: FixedWidthInteger>(_ field: inout N, _ value: Duration?) { if let value { field = N(clamping: value.milliseconds) } }
    set(&raw.executable_budget, executableBudget)
    set(&raw.shapes_per_model, shapesPerModel)
    set(&raw.shapes_total, shapesTotal)
    set(&raw.max_waiting, maxWaiting)
    set(&raw.settle_ms, settle)
    set(&raw.lease_max_ms, leaseMax)
    set(&raw.admission_bound_ms, admissionBound)
    set(&raw.drain_ms, drain)
    set(&raw.soft_threads, softThreads)
    return withCopies([lockDirectory, cacheDirectory, temporaryDirectory, workerPath, recordPath]) { paths in
      raw.lock_dir = paths[0]
      raw.cache_dir = paths[1]
      raw.temp_dir = paths[2]
      raw.worker_path = paths[3]
      raw.record_path = paths[4]
      return body(&raw)
    }
  }
}

extension Duration {
  /// Whole milliseconds, rounded up; within what they can be counted in.
  var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    if seconds > Int64.max / 2000 { return .max }
    if seconds < Int64.min / 2000 { return .min }
    return seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
  }
}

/// Many may be inside at once; whoever shuts it waits until nobody is.
final class Gate: @unchecked Sendable {
  private let gate = canelane_gate_new()!
  deinit { canelane_gate_free(gate) }
  func enter() -> Bool { canelane_gate_enter(gate) }
  func leave() { canelane_gate_leave(gate) }
  func shut(_ nanoseconds: UInt64) -> Bool { canelane_gate_shut(gate, nanoseconds) }
  func open() { canelane_gate_open(gate) }
}

/// A value that threads share.
final class Locked<Value>: @unchecked Sendable {
  private let lock = canelane_lock_new()!
  private var value: Value
  init(_ value: Value) { self.value = value }
  deinit { canelane_lock_free(lock) }
  func with<R>(_ body: (inout Value) -> R) -> R {
    canelane_lock_take(lock)
    defer { canelane_lock_give(lock) }
    return body(&value)
  }
}

private final class Kept: Sendable {
  private let objects = Locked<[any AnyObject & Sendable]>([])
  func keep(_ object: any AnyObject & Sendable) { objects.with { $0.append(object) } }
  func drop() {
    let dropped = objects.with { objects in
      defer { objects = [] }
      return objects
    }
    _ = dropped
  }
}
