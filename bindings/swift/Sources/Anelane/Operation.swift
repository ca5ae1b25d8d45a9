// Operations of the library as Swift's async calls.
//
// Each call is one Operation: made, started, ended by the library's one callback, taken by the task that waits. The callback owns one
// reference of it (retained at the start, released at the end, or at once where the start is refused), so the object lives until it has
// come, whatever the task does. The continuation is stored before the start and resumed by the callback alone: exactly once, also
// when a cancellation races the end. Cancelling asks the library and changes nothing here; the end comes as always.
// Threads: the callback comes on the library's completion thread and only resumes; results are taken on the task's own.
internal import CAnelane

/// Starts an operation: (function, user, where to put the handle, error).
typealias Start = (anelane_done_fn, UnsafeMutableRawPointer, UnsafeMutablePointer<anelane_op>, UnsafeMutablePointer<anelane_error>) -> anelane_status

final class Operation: @unchecked Sendable {
  private let pending = canelane_pending_new()!
  private var continuation: CheckedContinuation<anelane_status, Never>?
  private(set) var handle = anelane_op()
  private(set) var refusal: anelane_error?
  private let library: Library

  init(_ library: Library) { self.library = library }
  deinit { canelane_pending_free(pending) }

  /// Starts it; `continuation` is resumed at its end.
  func start(_ continuation: CheckedContinuation<anelane_status, Never>, _ start: Start) {
    self.continuation = continuation
    var error = anelane_error()
    error.struct_size = UInt32(MemoryLayout<anelane_error>.size)
    let mine = Unmanaged.passRetained(self)
    // Not into `handle`: the callback may come, and the task read it, before start returns.
    var op = anelane_op()
    let status = start(Operation.done, mine.toOpaque(), &op, &error)
    if status != ANELANE_OK {
      refusal = error
      self.continuation = nil
      mine.release()
      continuation.resume(returning: status)
    } else if canelane_pending_started(pending, op) {
      _ = library.c.pointee.op_cancel(op)
    }
  }

  func cancel() {
    let op = canelane_pending_cancel(pending)
    if op.bits != 0 { _ = library.c.pointee.op_cancel(op) }
  }

  private static let done: anelane_done_fn = { user, op, status in
    let operation = Unmanaged<Operation>.fromOpaque(user!).takeRetainedValue()
    operation.handle = op
    let continuation = operation.continuation!
    operation.continuation = nil
    continuation.resume(returning: status)
  }
}

extension Library {
  /// Runs an operation to its end and takes its result.
  func run<T: ~Copyable>(_ start: Start, take: (anelane_op) throws(AneLaneError) -> T) async throws(AneLaneError) -> T {
    if Task.isCancelled { throw .cancelledTask }
    let operation = Operation(self)
    let status = await withTaskCancellationHandler {
      await withCheckedContinuation { operation.start($0, start) }
    } onCancel: {
      operation.cancel()
    }
    if let refusal = operation.refusal { throw AneLaneError(refusal, status: status, library: self) }
    let op = operation.handle
    defer { c.pointee.op_release(op) }
    if status != ANELANE_OK { try check { c.pointee.op_wait(op, 0, $0) } }
    return try take(op)
  }

  /// Something that blocks, on a thread of its own. `work` is told whether the task was cancelled meanwhile.
  func blocking<T: Sendable>(
    _ work: @escaping @Sendable (_ cancelled: () -> Bool) -> Result<T, AneLaneError>
  ) async throws(AneLaneError) -> T {
    let flag = CancelFlag()
    let result: Result<T, AneLaneError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if !onThread({ continuation.resume(returning: work { flag.isSet }) }) { continuation.resume(returning: .failure(.noThread)) }
      }
    } onCancel: {
      flag.set()
    }
    return try result.get()
  }
}

extension Library {
  /// Something that blocks and cannot be stopped, on a thread of its own. A task that is cancelled meanwhile does not wait for it:
  /// whichever of the two ends is first resumes, and the other's result is dropped.
  func abandonable<T: Sendable>(_ work: @escaping @Sendable () -> Result<T, AneLaneError>) async throws(AneLaneError) -> T {
    let end = End<Result<T, AneLaneError>>()
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard end.wait(continuation) else { return }
        if !onThread({ end.tell(work()) }) { end.tell(.failure(.noThread)) }
      }
    } onCancel: {
      end.tell(.failure(.cancelledTask))
    }
    return try result.get()
  }
}

/// The first value told, for the one who waits for it.
private final class End<Value: Sendable>: Sendable {
  private struct State {
    var told: Value?
    var continuation: CheckedContinuation<Value, Never>?
  }
  private let state = Locked(State())

  /// False: it was told already, and the continuation is resumed.
  func wait(_ continuation: CheckedContinuation<Value, Never>) -> Bool {
    let told = state.with { state in
      if state.told == nil { state.continuation = continuation }
      return state.told
    }
    if let told { continuation.resume(returning: told) }
    return told == nil
  }

  func tell(_ value: Value) {
    let continuation = state.with { state -> CheckedContinuation<Value, Never>? in
      guard state.told == nil else { return nil }
      state.told = value
      defer { state.continuation = nil }
      return state.continuation
    }
    continuation?.resume(returning: value)
  }
}

private final class CancelFlag: @unchecked Sendable {
  private let pending = canelane_pending_new()!
  deinit { canelane_pending_free(pending) }
  var isSet: Bool { canelane_pending_is_cancelled(pending) }
  func set() { _ = canelane_pending_cancel(pending) }
}
