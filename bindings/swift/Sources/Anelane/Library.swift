// The C library as a table of its functions: opened at a path, linked, or found where this system keeps libraries. A table is checked
// whole before it is used, and never closed: operations of it may be under way in other threads.
package import CAnelane

/// libanelane itself.
///
/// Most programs never name it: ``Lane/open(_:library:deadline:)`` takes ``standard()``.
public final class Library: @unchecked Sendable {
  package let c: UnsafePointer<canelane_functions>
  /// Where it was found, for messages.
  public let path: String
  let log: LogHub

  /// Opens the library at a path; a name without a slash is searched as the system does.
  public convenience init(path: String) throws(AneLaneError) {
    try self.init(table: Self.open(path), name: path)
  }

  package init(table: UnsafePointer<canelane_functions>, name: String) throws(AneLaneError) {
    guard table.pointee.abi_version() == ANELANE_ABI_VERSION else {
      throw AneLaneError(
        .protocolMismatch, "PROTOCOL",
        "\(name) has ABI \(table.pointee.abi_version()); this package needs \(ANELANE_ABI_VERSION): use a library of its version")
    }
    c = table
    path = name
    log = LogHub(table)
  }

  private static func open(_ path: String?) throws(AneLaneError) -> UnsafePointer<canelane_functions> {
    try AneLaneError.refuseNUL("the path of the library", path)
    var why = [CChar](repeating: 0, count: 512)
    let count = why.count
    let table = why.withUnsafeMutableBufferPointer { canelane_open(path, $0.baseAddress, count) }
    if let table { return table }
    throw AneLaneError(.engineUnavailable, "ENGINE_UNAVAILABLE", String(decoding: why.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self))
  }

  /// The library of this process: what `ANELANE_LIBRARY` names, else what the program is linked with, else the one that the system finds.
  public static func standard() throws(AneLaneError) -> Library { try found.get() }

  static func chosen(_ library: Library?) throws(AneLaneError) -> Library {
    if let library { return library }
    return try standard()
  }

  private static let found: Result<Library, AneLaneError> = {
    do throws(AneLaneError) {
      if let named = environment("ANELANE_LIBRARY"), !named.isEmpty { return .success(try Library(path: named)) }
      if let table = try? open(nil) { return .success(try Library(table: table, name: "the library of this process")) }
      #if canImport(Darwin)
        return .success(try Library(path: "libanelane.0.dylib"))
      #else
        return .success(try Library(path: "libanelane.so.0"))
      #endif
    } catch {
      return .failure(
        AneLaneError(error.code, error.name, error.message + ". Name the library in ANELANE_LIBRARY, link it, or use Library(path:)"))
    }
  }()

  /// Its version, "0.1.0+…".
  public var version: String { String(cString: c.pointee.version()!) }

  /// The code's name, `SHAPE_COMPILING` say.
  func statusName(_ status: anelane_status) -> String { c.pointee.status_name(status).map { String(cString: $0) } ?? "UNKNOWN" }

  /// What the lane in a folder does (nil: the user's own), whoever holds it, as JSON: see `anelane_lane_peek` in the C header.
  public func peek(lockDirectory: String? = nil) throws(AneLaneError) -> String {
    try AneLaneError.refuseNUL("lockDirectory", lockDirectory)
    return try text { c.pointee.lane_peek(lockDirectory, $0, $1, $2, $3) }
  }

  /// Who holds the lane in a folder (nil: the user's own); nil: nobody. Needs no lane, creates and changes nothing.
  public func holder(lockDirectory: String? = nil) throws(AneLaneError) -> LaneHolder? {
    try AneLaneError.refuseNUL("lockDirectory", lockDirectory)
    var holder = anelane_holder()
    holder.struct_size = UInt32(MemoryLayout<anelane_holder>.size)
    try check { c.pointee.lane_holder(lockDirectory, &holder, $0) }
    return holder.held == 0 ? nil : LaneHolder(holder)
  }

  /// Decides again what a lane decided whose record was written (``LaneOptions/recordPath``), and compares. Reads the file into memory.
  public func replay(_ path: String) throws(AneLaneError) -> Replay {
    try AneLaneError.refuseNUL("the path of the record", path)
    var steps: UInt64 = 0
    let difference = try text { c.pointee.replay(path, &steps, $0, $1, $2, $3) }
    return Replay(steps: steps, difference: difference.isEmpty ? nil : difference)
  }

  /// What can be said of one MIL text without a lane, as JSON: ports, operations, the compiler's error or null, warnings. See
  /// `anelane_mil_check` in the C header. Reads files.
  public func checkMIL(_ path: String, weights: String? = nil) throws(AneLaneError) -> String {
    try AneLaneError.refuseNUL("the path of the text", path)
    try AneLaneError.refuseNUL("the path of the weights", weights)
    return try text { c.pointee.mil_check(path, weights, $0, $1, $2, $3) }
  }

  /// One call that may fail.
  @inline(__always)
  func check(_ call: (UnsafeMutablePointer<anelane_error>) -> anelane_status) throws(AneLaneError) {
    var error = anelane_error()
    error.struct_size = UInt32(MemoryLayout<anelane_error>.size)
    let status = call(&error)
    if status != ANELANE_OK { throw AneLaneError(error, status: status, library: self) }
  }

  /// A text that the library writes; it may grow between two looks, not for ever.
  func text(
    _ call: (UnsafeMutablePointer<CChar>?, Int, UnsafeMutablePointer<Int>, UnsafeMutablePointer<anelane_error>) -> anelane_status
  ) throws(AneLaneError) -> String {
    var room = [CChar](repeating: 0, count: 4096)
    for _ in 0..<8 {
      var length = 0
      let cap = room.count
      try check { error in room.withUnsafeMutableBufferPointer { call($0.baseAddress, cap, &length, error) } }
      if length < cap { return String(decoding: room.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self) }
      room = [CChar](repeating: 0, count: length + 4096)
    }
    throw AneLaneError(.internal, "INTERNAL", "the text grows faster than it can be read")
  }
}

/// Who holds a lane: advice, from the record beside its lock.
public struct LaneHolder: Sendable, Equatable {
  /// Its process, where it is known.
  public let pid: Int32?
  /// Its program; empty: unknown.
  public let program: String
  /// Since when, in milliseconds of 1970, where it is known.
  public let sinceUnixMilliseconds: Int64?
  /// The record is missing or of somebody else: pid, program and time may be wrong.
  public let recordIsStale: Bool

  init(_ raw: anelane_holder) {
    pid = raw.pid == 0 ? nil : Int32(clamping: raw.pid)
    program = text(of: raw.program)
    sinceUnixMilliseconds = raw.since_unix_ms == 0 ? nil : raw.since_unix_ms
    recordIsStale = raw.record_stale != 0
  }
}

/// How a record compares with what this library decides.
public struct Replay: Sendable, Equatable {
  /// Events that were decided again.
  public let steps: UInt64
  /// The first difference, with its line; nil: there is none.
  public let difference: String?
}
