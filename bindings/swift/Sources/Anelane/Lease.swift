// A lease pins a resident shape. It cannot be copied, so that it is given back exactly once: by release(), or where its owner ends.
// One that expired, or whose lane was closed, answers LEASE_EXPIRED and is given back all the same, to nobody.
// Mapped ports: the memory is the library's, shared with the worker. It stays mapped until the lane is closed, so a closure that looks
// at it holds the lane's gate, and close() waits for that.
// Threads: any; runs of one lease at the same time are the library's to order.
internal import CAnelane

/// Bytes for a port of a run.
public struct Tensor: Sendable, Equatable {
  /// Its number in ``Model/ports(shape:)``.
  public let port: Int
  /// In the port's layout; nil: they are in the mapped port.
  public let bytes: [UInt8]?

  public init(port: Int, bytes: [UInt8]) {
    self.port = port
    self.bytes = bytes
  }
  /// What ``Lease/withPort(_:_:)`` has written.
  public static func mapped(port: Int) -> Tensor { Tensor(mapped: port) }
  private init(mapped: Int) {
    port = mapped
    bytes = nil
  }
}

/// A pin on a resident shape of a model. Not copyable: given back exactly once.
public struct Lease: ~Copyable, Sendable {
  /// The model that the shape is of.
  public let model: Model
  /// Which shape.
  public let shape: Int
  let raw: anelane_lease

  fileprivate init(_ model: Model, _ shape: Int, _ raw: anelane_lease) {
    self.model = model
    self.shape = shape
    self.raw = raw
  }

  deinit { model.library.c.pointee.lease_release(raw) }

  /// Gives it back now. Never blocks.
  public consuming func release() {}

  /// The bytes of a port in the memory shared with the worker, for as long as the closure runs: what it writes, a run with
  /// ``Tensor/mapped(port:)`` sees, without a copy. The pointer must not leave the closure.
  public func withPort<R: ~Copyable>(
    _ port: Int, _ body: (UnsafeMutableRawBufferPointer) throws(AneLaneError) -> R
  ) throws(AneLaneError) -> R {
    let library = model.library
    guard model.lane.gate.enter() else {
      throw AneLaneError(.leaseExpired, "LEASE_EXPIRED", "the lane is closed, and its leases are over")
    }
    defer { model.lane.gate.leave() }
    var tensor = anelane_tensor()
    try library.check { library.c.pointee.lease_map(raw, UInt32(clamping: port), &tensor, $0) }
    return try body(UnsafeMutableRawBufferPointer(start: tensor.data, count: Int(tensor.bytes)))
  }

  /// One evaluation of all layers: every input port once; answers the outputs asked for, in their order.
  public func run(_ inputs: [Tensor], outputs: [Int], deadline: Deadline = .none) async throws(AneLaneError) -> [Tensor] {
    let library = model.library, raw = raw
    let until = deadline.nanoseconds(library)
    return try await library.run { done, user, op, error in
      withRaw(inputs) { library.c.pointee.start_run(raw, $0, inputs.count, until, done, user, op, error) }
    } take: { op throws(AneLaneError) in
      var results: [Tensor] = []
      for port in outputs {
        var data: UnsafeRawPointer?
        var count = 0
        try library.check { library.c.pointee.op_output(op, UInt32(clamping: port), &data, &count, $0) }
        results.append(Tensor(port: port, bytes: Array(UnsafeRawBufferPointer(start: data, count: count))))
      }
      return results
    }
  }

  /// The same on memory of the caller's, for code that may block: each pair is a port and its bytes, nil for the mapped port.
  @available(*, noasync, message: "blocks: use the async form")
  public func runBlocking(
    inputs: [(port: Int, bytes: UnsafeRawBufferPointer?)], outputs: [(port: Int, bytes: UnsafeMutableRawBufferPointer?)],
    deadline: Deadline = .none
  ) throws(AneLaneError) {
    let library = model.library
    let until = deadline.nanoseconds(library)
    let taken = inputs.map { input in
      anelane_tensor(
        data: UnsafeMutableRawPointer(mutating: input.bytes?.baseAddress), bytes: UInt64(input.bytes?.count ?? 0),
        port: UInt32(clamping: input.port), reserved: 0)
    }
    let given = outputs.map { output in
      anelane_tensor(
        data: output.bytes?.baseAddress, bytes: UInt64(output.bytes?.count ?? 0), port: UInt32(clamping: output.port), reserved: 0)
    }
    try library.check { library.c.pointee.run(raw, taken, taken.count, given, given.count, until, $0) }
  }
}

extension Model {
  /// Makes a shape resident and pins it. A resident one is leased on the spot, without suspending.
  public func lease(shape: Int, deadline: Deadline = .none) async throws(AneLaneError) -> Lease {
    var lease = anelane_lease()
    let wanted = UInt32(clamping: shape)
    if Task.isCancelled { throw .cancelledTask }
    var milliseconds: UInt64 = 1
    if library.c.pointee.predict(raw, wanted, &milliseconds, nil) == ANELANE_OK, milliseconds == 0,
      library.c.pointee.lease_acquire(raw, wanted, 0, &lease, nil) == ANELANE_OK
    {
      return Lease(self, shape, lease)
    }
    let until = deadline.nanoseconds(library)
    return try await library.run {
      library.c.pointee.start_lease(raw, wanted, until, $0, $1, $2, $3)
    } take: { op throws(AneLaneError) in
      var lease = anelane_lease()
      try library.check { library.c.pointee.op_lease(op, &lease, $0) }
      return Lease(self, shape, lease)
    }
  }

  /// The same for code that may block.
  @available(*, noasync, message: "blocks: use the async form")
  public func leaseBlocking(shape: Int, deadline: Deadline = .none) throws(AneLaneError) -> Lease {
    var lease = anelane_lease()
    let until = deadline.nanoseconds(library)
    try library.check { library.c.pointee.lease_acquire(raw, UInt32(clamping: shape), until, &lease, $0) }
    return Lease(self, shape, lease)
  }
}

/// Tensors for C, until the end of a call that copies them.
private func withRaw<R>(_ tensors: [Tensor], _ body: (UnsafePointer<anelane_tensor>) -> R) -> R {
  let all = tensors.flatMap { $0.bytes ?? [] }
  return all.withUnsafeBytes { all in
    var raw: [anelane_tensor] = []
    var place = 0
    for tensor in tensors {
      let count = tensor.bytes?.count ?? 0
      let data = tensor.bytes == nil ? nil : all.baseAddress.map { UnsafeMutableRawPointer(mutating: $0 + place) }
      raw.append(anelane_tensor(data: data, bytes: UInt64(count), port: UInt32(clamping: tensor.port), reserved: 0))
      place += count
    }
    raw.append(anelane_tensor())
    return raw.withUnsafeBufferPointer { body($0.baseAddress!) }
  }
}
