// Errors are values of one type, thrown by name: `throws(AneLaneError)`. All that the C interface tells of an error is copied out
// of its fixed-size struct at once; texts are made when somebody asks for them.
internal import CAnelane

/// What went wrong, and what to do about it.
///
/// Ask ``isTransient`` whether the same call may succeed later, ``retryAfter`` when, and ``isSafeToRetry`` whether sending it again is
/// harmless; ``retrying(for:isolation:_:)`` does all three.
public struct AneLaneError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The number that says what kind of error it is. Newer libraries may have more of them.
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }
    init(_ value: Int) { rawValue = Int32(value) }

    /// A parameter is wrong; the message names it.
    public static let invalidArgument = Code(ANELANE_INVALID_ARGUMENT)
    /// What is behind the object was given back already.
    public static let badHandle = Code(ANELANE_BAD_HANDLE)
    /// The lane is closed or closing.
    public static let closed = Code(ANELANE_CLOSED)
    /// Another process holds the lane: ``AneLaneError/holderPID``.
    public static let laneBusy = Code(ANELANE_LANE_BUSY)
    /// Not in this build, on this system or for this kind of model.
    public static let unsupported = Code(ANELANE_UNSUPPORTED)
    /// A broken checkpoint; the message names file and field or tensor.
    public static let modelInvalid = Code(ANELANE_MODEL_INVALID)
    /// An architecture that this version does not serve.
    public static let modelUnsupported = Code(ANELANE_MODEL_UNSUPPORTED)
    /// No tokens, or an id outside the vocabulary: ``AneLaneError/item``.
    public static let invalidSequence = Code(ANELANE_INVALID_SEQUENCE)
    /// Longer than the model's ceiling: ``AneLaneError/item``, ``AneLaneError/limit``. Nothing is ever truncated.
    public static let sequenceTooLong = Code(ANELANE_SEQUENCE_TOO_LONG)
    /// Not a rung of the model's ladder.
    public static let shapeUnknown = Code(ANELANE_SHAPE_UNKNOWN)
    /// Not ready in time; ask again after ``AneLaneError/retryAfter``.
    public static let shapeCompiling = Code(ANELANE_SHAPE_COMPILING)
    /// No room on the engine (``AneLaneError/retryAfter``), or never (not ``AneLaneError/isTransient``).
    public static let resourcesExhausted = Code(ANELANE_RESOURCES_EXHAUSTED)
    /// A compile needs more free space in the temporary folder.
    public static let tempSpaceLow = Code(ANELANE_TEMP_SPACE_LOW)
    /// The engine refuses the program for good.
    public static let compileFailed = Code(ANELANE_COMPILE_FAILED)
    /// The deadline passed.
    public static let deadlineExceeded = Code(ANELANE_DEADLINE_EXCEEDED)
    /// The task was cancelled.
    public static let cancelled = Code(ANELANE_CANCELLED)
    /// The model was retired.
    public static let retired = Code(ANELANE_RETIRED)
    /// The lane is paused.
    public static let paused = Code(ANELANE_PAUSED)
    /// The worker died or broke; a new one is started by itself.
    public static let engineCrashed = Code(ANELANE_ENGINE_CRASHED)
    /// No engine: library or worker missing, framework missing or changed.
    public static let engineUnavailable = Code(ANELANE_ENGINE_UNAVAILABLE)
    /// Package, library and worker do not fit together.
    public static let protocolMismatch = Code(ANELANE_PROTOCOL)
    /// A file could not be read or written; the message names it.
    public static let io = Code(ANELANE_IO)
    /// Memory ran out during the call.
    public static let outOfMemory = Code(ANELANE_OUT_OF_MEMORY)
    /// A defect of libanelane: please report the message.
    public static let `internal` = Code(ANELANE_INTERNAL)
    /// The lease was released, was not used for too long, or its shape is gone.
    public static let leaseExpired = Code(ANELANE_LEASE_EXPIRED)
    /// A call in a forked child.
    public static let forked = Code(ANELANE_FORKED)
    /// A blocking call in a callback of the library.
    public static let wrongThread = Code(ANELANE_WRONG_THREAD)
    /// Not finished yet; it goes on.
    public static let pending = Code(ANELANE_PENDING)
  }

  /// What kind of error it is.
  public let code: Code
  /// The code's name, `SHAPE_COMPILING` say.
  public let name: String
  /// One line: what happened and what to do.
  public let message: String
  /// Whether asking again may help.
  public let isTransient: Bool
  /// Whether the same request may be sent again without harm.
  public let isSafeToRetry: Bool
  /// When to ask again, where anybody knows.
  public let retryAfter: Duration?
  /// The index of the offending item.
  public let item: Int?
  /// The limit that was exceeded, or a byte offset.
  public let limit: UInt64?
  /// The shape it was about.
  public let shape: Int?
  /// The model it was about.
  public let model: String?
  /// Which lane.
  public let laneID: UInt64?
  /// ``Code/laneBusy``: the process that holds the lane.
  public let holderPID: Int32?

  /// The name and all fields on one line.
  public var description: String {
    var line = "\(name): \(message)"
    if let model { line += " [model \(model)]" }
    if let shape { line += " [shape \(shape)]" }
    if let item { line += " [item \(item)]" }
    if let limit { line += " [limit \(limit)]" }
    if let holderPID { line += " [held by process \(holderPID)]" }
    if let retryAfter { line += " [retry after \(retryAfter)]" }
    return line
  }

  /// The error that the library wrote.
  init(_ raw: anelane_error, status: anelane_status, library: Library) {
    code = Code(rawValue: status)
    name = library.statusName(status)
    message = text(of: raw.message)
    isTransient = raw.error_class == ANELANE_TRANSIENT
    isSafeToRetry = raw.safe_to_retry != 0
    retryAfter = raw.retry_after_ms == 0 ? nil : .milliseconds(Int64(clamping: raw.retry_after_ms))
    item = raw.item < 0 ? nil : Int(raw.item)
    limit = raw.limit == 0 ? nil : raw.limit
    shape = raw.shape == 0 ? nil : Int(raw.shape)
    let model = text(of: raw.model)
    self.model = model.isEmpty ? nil : model
    laneID = raw.lane_id == 0 ? nil : raw.lane_id
    holderPID = raw.holder_pid == 0 ? nil : Int32(clamping: raw.holder_pid)
  }

  /// One that this package finds itself.
  init(_ code: Code, _ name: String, _ message: String, transient: Bool = false, item: Int? = nil, limit: UInt64? = nil) {
    self.code = code
    self.name = name
    self.message = message
    isTransient = transient
    isSafeToRetry = transient
    self.item = item
    self.limit = limit
    retryAfter = nil
    shape = nil
    model = nil
    laneID = nil
    holderPID = nil
  }

  static func invalidArgument(_ message: String, item: Int? = nil, limit: UInt64? = nil) -> AneLaneError {
    AneLaneError(.invalidArgument, "INVALID_ARGUMENT", message, item: item, limit: limit)
  }
  /// Refuses a name with NUL in it: C would see its beginning only.
  static func refuseNUL(_ what: String, _ name: String?) throws(AneLaneError) {
    if let name, name.utf8.contains(0) { throw invalidArgument("\(what) has NUL in it, where C would cut it: give another") }
  }
  static var cancelledTask: AneLaneError { AneLaneError(.cancelled, "CANCELLED", "the task was cancelled, and nobody waits for the call") }
  static var noThread: AneLaneError {
    AneLaneError(.resourcesExhausted, "RESOURCES_EXHAUSTED", "the system has no thread for this call: ask again later", transient: true)
  }
}

/// The text in a fixed array of C characters, up to its NUL.
func text<Characters>(of characters: Characters) -> String {
  withUnsafeBytes(of: characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}
