// A model in a lane. The object owns the model and retires it when the last reference goes, without waiting: running work ends by
// itself. It holds its lane. A progress closure lives until the retirement has ended, or the lane is closed: the library's
// callback may still be in it.
// Threads: everything may be called from any.
package import CAnelane

/// How far a shape is on its way to be resident.
public struct LoadProgress: Sendable, Equatable {
  public let shape: Int
  public let layer: Int
  public let layers: Int
  /// The time left, as far as anybody knows.
  public let timeLeft: Duration?
}

/// How a model is loaded.
public struct ModelOptions: Sendable {
  public init() {}
  /// The ladder: ascending, multiples of 32, the last one the ceiling; empty: the default.
  public var rungs: [Int] = []
  /// For logs and errors; nil: the folder's name.
  public var name: String?
  /// Software engine: nil or "fast"; "lattice".
  public var numerics: String?
  /// Comes on the library's completion thread, while a shape becomes resident; must not block.
  public var progress: (@Sendable (LoadProgress) -> Void)?
}

/// What a model is.
public struct ModelInfo: Sendable, Equatable {
  /// A kind that this package does not know is its number.
  public enum Kind: Sendable, Equatable { case embedder, reranker, program, other(Int32) }
  public let kind: Kind
  /// The engine that really runs; `.automatic` where nothing runs yet.
  public let engine: Engine
  /// Numbers of one vector.
  public let dimension: Int
  /// The longest sequence, in tokens.
  public let ceiling: Int
  /// Programs of one resident shape.
  public let layers: Int
  /// The ladder.
  public let rungs: [Int]
  /// Those of them that are known to be compiled.
  public let cachedRungs: [Int]
  /// Memory that the worker needs beside the engine's.
  public let hostBytes: UInt64
  /// The predicted wait for the smallest shape, were it asked for now.
  public let firstReady: Duration
  public let architecture: String
  /// Vectors are comparable only where this is equal.
  public let vectorSpace: String

  init(_ raw: anelane_model_info) {
    kind =
      switch Int(raw.kind) {
      case ANELANE_EMBEDDER: .embedder
      case ANELANE_RERANKER: .reranker
      case ANELANE_PROGRAM: .program
      default: .other(raw.kind)
      }
    engine = Engine(rawValue: raw.engine) ?? .automatic
    dimension = Int(raw.dim)
    ceiling = Int(raw.ceiling)
    layers = Int(raw.layers)
    let all = withUnsafeBytes(of: raw.rungs) { $0.bindMemory(to: UInt32.self).prefix(Int(raw.rung_count)).map(Int.init) }
    rungs = all
    cachedRungs = all.indices.filter { raw.cached_rungs >> UInt32($0) & 1 == 1 }.map { all[$0] }
    hostBytes = raw.host_bytes
    firstReady = .milliseconds(Int64(clamping: raw.first_ready_ms))
    architecture = text(of: raw.architecture)
    vectorSpace = text(of: raw.vector_space)
  }
}

/// The layout of one input or output of a shape.
public struct Port: Sendable, Equatable {
  /// A type that this package does not know is its number.
  public enum ElementType: Sendable, Equatable { case float16, float32, int32, int8, uint8, other(Int32) }
  /// Its number, for tensors.
  public let index: Int
  public let name: String
  public let type: ElementType
  public let isOutput: Bool
  /// Elements.
  public let dimensions: [Int]
  /// Bytes.
  public let strides: [Int]
  /// Of the whole buffer.
  public let byteCount: Int

  init(_ raw: anelane_port, index: Int) {
    self.index = index
    name = text(of: raw.name)
    type =
      switch Int(raw.dtype) {
      case ANELANE_F16: .float16
      case ANELANE_F32: .float32
      case ANELANE_I32: .int32
      case ANELANE_I8: .int8
      case ANELANE_U8: .uint8
      default: .other(raw.dtype)
      }
    isOutput = raw.is_output != 0
    let rank = min(Int(raw.rank), 5)
    dimensions = withUnsafeBytes(of: raw.dims) { $0.bindMemory(to: UInt64.self).prefix(rank).map(Int.init) }
    strides = withUnsafeBytes(of: raw.strides) { $0.bindMemory(to: UInt64.self).prefix(rank).map(Int.init) }
    byteCount = Int(raw.bytes)
  }
}

/// A checkpoint, or a set of your own programs, served by a worker of its own.
public final class Model: Sendable {
  /// The lane that it is loaded in.
  public let lane: Lane
  let raw: anelane_model
  private let progress: ProgressBox?
  /// Numbers of one vector; 0: it makes none.
  let dimension: Int

  var library: Library { lane.library }
  /// For programs of this package that call the C interface beside this one.
  package var handle: anelane_model { raw }
  package var functions: canelane_functions { library.c.pointee }

  fileprivate init(_ lane: Lane, _ raw: anelane_model, _ progress: ProgressBox?) {
    self.lane = lane
    self.raw = raw
    self.progress = progress
    var info = anelane_model_info()
    info.struct_size = UInt32(MemoryLayout<anelane_model_info>.size)
    _ = lane.library.c.pointee.model_get_info(raw, &info, nil)
    dimension = Int(info.dim)
  }

  deinit {
    let c = library.c
    var op = anelane_op()
    guard let progress else {
      if c.pointee.start_retire(raw, .max, { _, _, _ in }, nil, &op, nil) == ANELANE_OK { c.pointee.op_release(op) }
      return
    }
    let box = Unmanaged.passRetained(progress)
    let release: anelane_done_fn = { user, _, _ in Unmanaged<ProgressBox>.fromOpaque(user!).release() }
    if c.pointee.start_retire(raw, .max, release, box.toOpaque(), &op, nil) == ANELANE_OK {
      c.pointee.op_release(op)
    } else {
      box.release()
      lane.keep(progress)  // the lane is closing: the callback may be in it
    }
  }

  /// What it is.
  public func info() throws(AneLaneError) -> ModelInfo {
    var info = anelane_model_info()
    info.struct_size = UInt32(MemoryLayout<anelane_model_info>.size)
    try library.check { library.c.pointee.model_get_info(raw, &info, $0) }
    return ModelInfo(info)
  }

  /// What a load of this folder would serve, by its headers alone. Reads files, needs no lane.
  public static func inspect(_ path: String, library: Library? = nil) throws(AneLaneError) -> ModelInfo {
    try AneLaneError.refuseNUL("the model's path", path)
    let library = try Library.chosen(library)
    var info = anelane_model_info()
    info.struct_size = UInt32(MemoryLayout<anelane_model_info>.size)
    try library.check { library.c.pointee.model_inspect(path, &info, $0) }
    return ModelInfo(info)
  }

  /// The layouts that a run takes at this shape: inputs first, then outputs.
  public func ports(shape: Int) throws(AneLaneError) -> [Port] {
    var empty = anelane_port()
    empty.struct_size = UInt32(MemoryLayout<anelane_port>.size)
    var ports: [anelane_port] = []
    var count = 0
    repeat {  // the first time only to count: a model of programs may have hundreds
      ports = [anelane_port](repeating: empty, count: count)
      let cap = count
      try library.check { error in
        ports.withUnsafeMutableBufferPointer { library.c.pointee.model_ports(raw, UInt32(clamping: shape), $0.baseAddress, cap, &count, error) }
      }
    } while ports.count < count
    return ports.prefix(count).enumerated().map { Port($1, index: $0) }
  }

  /// How long until the shape is resident, were it asked for now. Starts and promises nothing.
  public func predict(shape: Int) throws(AneLaneError) -> Duration {
    var milliseconds: UInt64 = 0
    try library.check { library.c.pointee.predict(raw, UInt32(clamping: shape), &milliseconds, $0) }
    return .milliseconds(Int64(clamping: milliseconds))
  }

  /// Makes a shape resident and pins nothing.
  public func admit(shape: Int, deadline: Deadline = .none) async throws(AneLaneError) {
    _ = try await lease(shape: shape, deadline: deadline)
  }

  /// The same for code that may block.
  @available(*, noasync, message: "blocks: use the async form")
  public func admitBlocking(shape: Int, deadline: Deadline = .none) throws(AneLaneError) {
    let until = deadline.nanoseconds(library)
    try library.check { library.c.pointee.admit(raw, UInt32(clamping: shape), until, $0) }
  }

  /// Takes no new work, lets running work end, ends the worker. At the deadline it goes on by itself
  /// (``AneLaneError/Code/deadlineExceeded``). Again: nothing.
  public func retire(deadline: Deadline = .none) async throws(AneLaneError) {
    let until = deadline.nanoseconds(library)
    try await library.run { library.c.pointee.start_retire(raw, until, $0, $1, $2, $3) } take: { _ throws(AneLaneError) in }
  }

  /// The same for code that may block.
  @available(*, noasync, message: "blocks: use the async form")
  public func retireBlocking(deadline: Deadline = .none) throws(AneLaneError) {
    let until = deadline.nanoseconds(library)
    try library.check { library.c.pointee.model_retire(raw, until, $0) }
  }
}

extension Lane {
  /// Starts a model's worker and checks every tensor of the folder; compiles nothing yet.
  public func load(
    _ path: String, _ options: ModelOptions = ModelOptions(), deadline: Deadline = .none
  ) async throws(AneLaneError) -> Model {
    try AneLaneError.refuseNUL("the model's path", path)
    try options.check()
    let progress = options.progress.map { ProgressBox($0) }
    let until = deadline.nanoseconds(library)
    return try await library.run { done, user, op, error in
      options.withRaw(library, progress) { library.c.pointee.start_load(raw, path, $0, until, done, user, op, error) }
    } take: { op throws(AneLaneError) in
      var model = anelane_model()
      try library.check { library.c.pointee.op_model(op, &model, $0) }
      return Model(self, model, progress)
    }
  }

  /// The same for code that may block.
  @available(*, noasync, message: "blocks: use the async form")
  public func loadBlocking(
    _ path: String, _ options: ModelOptions = ModelOptions(), deadline: Deadline = .none
  ) throws(AneLaneError) -> Model {
    try AneLaneError.refuseNUL("the model's path", path)
    let until = deadline.nanoseconds(library)
    return try load(options) { library.c.pointee.model_load(raw, path, $0, until, $1, $2) }
  }

  /// One load that blocks.
  func load(
    _ options: ModelOptions,
    _ call: (UnsafePointer<anelane_model_options>, UnsafeMutablePointer<anelane_model>, UnsafeMutablePointer<anelane_error>) -> anelane_status
  ) throws(AneLaneError) -> Model {
    try options.check()
    let progress = options.progress.map { ProgressBox($0) }
    var model = anelane_model()
    try library.check { error in options.withRaw(library, progress) { call($0, &model, error) } }
    return Model(self, model, progress)
  }
}

private final class ProgressBox: Sendable {
  let report: @Sendable (LoadProgress) -> Void
  init(_ report: @escaping @Sendable (LoadProgress) -> Void) { self.report = report }

  static let callback: anelane_progress_fn = { user, shape, layer, layers, left in
    Unmanaged<ProgressBox>.fromOpaque(user!).takeUnretainedValue().report(
      LoadProgress(
        shape: Int(shape), layer: Int(layer), layers: Int(layers), timeLeft: left == 0 ? nil : .milliseconds(Int64(clamping: left))))
  }
}

extension ModelOptions {
  fileprivate func check() throws(AneLaneError) {
    try AneLaneError.refuseNUL("name", name)
    try AneLaneError.refuseNUL("numerics", numerics)
  }

  fileprivate func withRaw<R>(_ library: Library, _ box: ProgressBox?, _ body: (UnsafePointer<anelane_model_options>) -> R) -> R {
    var raw = anelane_model_options()
    library.c.pointee.model_options_init(&raw, MemoryLayout<anelane_model_options>.size)
    if let box {
      raw.progress = ProgressBox.callback
      raw.progress_user = Unmanaged.passUnretained(box).toOpaque()
    }
    raw.rung_count = UInt32(clamping: rungs.count)
    let ladder = rungs.map { UInt32(clamping: $0) }
    return ladder.withUnsafeBufferPointer { ladder in
      raw.rungs = ladder.baseAddress
      return withCopies([name, numerics]) { texts in
        raw.name = texts[0]
        raw.numerics = texts[1]
        return withExtendedLifetime(box) { body(&raw) }
      }
    }
  }
}
