// Models of the caller's own programs, from memory. Texts and weights cross as they lie: nothing is copied here, the library copies
// once. What the rungs share stays one buffer on the way, so that the library takes it as one file.
// The C call has no asynchronous form: it runs on a thread of its own. A task that is cancelled does not wait for it; what was loaded
// by then has no owner and retires.
internal import CAnelane

/// A model of your own programs in memory: what `program.json` says in a folder.
public struct Program: Sendable, Equatable {
  /// One program of a rung.
  public struct Layer: Sendable, Equatable {
    /// The MIL text.
    public var mil: String
    /// The bytes of its weight file; nil: it has none. Layers that share an array share the file.
    public var weights: [UInt8]?
    /// Inputs of this layer, and the outputs of earlier ones that feed them (`"NAME"` or `"LAYER.NAME"`), where names alone do not.
    public var connections: [String: String]

    public init(mil: String, weights: [UInt8]? = nil, connections: [String: String] = [:]) {
      self.mil = mil
      self.weights = weights
      self.connections = connections
    }
  }

  /// The programs of one shape, in their order. Every rung has as many.
  public struct Rung: Sendable, Equatable {
    /// Its width: a name for it, from 1.
    public var shape: Int
    public var layers: [Layer]

    public init(shape: Int, layers: [Layer]) {
      self.shape = shape
      self.layers = layers
    }
  }

  /// At most 16.
  public var rungs: [Rung]

  public init(rungs: [Rung]) { self.rungs = rungs }
}

extension Lane {
  /// Loads programs from memory (``Program``); compiles nothing yet. Weights of hundreds of megabytes are better kept in files. Errors name
  /// `rung_64_layer_0.mil` and the like.
  ///
  /// Cancelling the task ends the call at once; what the library has loaded by then retires by itself.
  public func load(
    _ program: Program, _ options: ModelOptions = ModelOptions(), deadline: Deadline = .none
  ) async throws(AneLaneError) -> Model {
    let until = deadline.nanoseconds(library)
    return try await library.abandonable { [self] in load(program, options, until) }
  }

  /// The same for code that may block.
  @available(*, noasync, message: "blocks: use the async form")
  public func loadBlocking(
    _ program: Program, _ options: ModelOptions = ModelOptions(), deadline: Deadline = .none
  ) throws(AneLaneError) -> Model { try load(program, options, deadline.nanoseconds(library)).get() }

  private func load(_ program: Program, _ options: ModelOptions, _ until: UInt64) -> Result<Model, AneLaneError> {
    do throws(AneLaneError) {
      for (input, output) in program.rungs.flatMap(\.layers).flatMap(\.connections) {
        try AneLaneError.refuseNUL("an input of a connection", input)
        try AneLaneError.refuseNUL("an output of a connection", output)
      }
      return .success(
        try load(options) { options, model, error in
          program.withRaw { library.c.pointee.model_load_program(raw, $0, options, until, model, error) }
        })
    } catch {
      return .failure(error)
    }
  }
}

extension Program {
  fileprivate func withRaw<R>(_ body: (UnsafePointer<anelane_program>) -> R) -> R {
    let layers = rungs.flatMap(\.layers)
    var known: Set<[UInt8]> = []  // by their bytes: texts that Swift calls equal may differ in them
    let texts = layers.map { known.insert(Array($0.mil.utf8)).memberAfterInsert }
    let connections = layers.map { $0.connections.sorted { $0.key < $1.key } }
    return withBuffers(texts + layers.map { $0.weights ?? [] }) { buffers in
      withCopies(connections.joined().flatMap { [$0.key, $0.value] }) { names in
        let pairs = stride(from: 0, to: names.count, by: 2).map { anelane_connection(input: names[$0], output: names[$0 + 1]) }
        return pairs.withUnsafeBufferPointer { pairs in
          var place = 0
          let raw = layers.indices.map { i in
            let (mil, weights) = (buffers[i], buffers[layers.count + i])
            defer { place += connections[i].count }
            return anelane_layer(
              mil: mil.baseAddress?.assumingMemoryBound(to: CChar.self), mil_bytes: UInt64(mil.count),
              weights: layers[i].weights == nil ? nil : weights.baseAddress, weight_bytes: UInt64(weights.count),
              connect: connections[i].isEmpty ? nil : pairs.baseAddress! + place, connect_count: UInt32(connections[i].count), reserved: 0)
          }
          return raw.withUnsafeBufferPointer { withRaw(layers: $0, body) }
        }
      }
    }
  }

  private func withRaw<R>(layers: UnsafeBufferPointer<anelane_layer>, _ body: (UnsafePointer<anelane_program>) -> R) -> R {
    var place = 0
    let raw = rungs.map { rung in
      defer { place += rung.layers.count }
      return anelane_program_rung(
        shape: UInt32(clamping: rung.shape), layer_count: UInt32(clamping: rung.layers.count),
        layers: rung.layers.isEmpty ? nil : layers.baseAddress! + place)
    }
    return raw.withUnsafeBufferPointer { raw in
      var program = anelane_program()
      program.struct_size = UInt32(MemoryLayout<anelane_program>.size)
      program.rung_count = UInt32(clamping: raw.count)
      program.rungs = raw.baseAddress
      return body(&program)
    }
  }
}

/// All of them where they lie, for the time of a call.
private func withBuffers<R>(_ buffers: [[UInt8]], _ body: ([UnsafeRawBufferPointer]) -> R) -> R {
  func next(_ found: [UnsafeRawBufferPointer]) -> R {
    found.count == buffers.count ? body(found) : buffers[found.count].withUnsafeBytes { next(found + [$0]) }
  }
  return next([])
}
