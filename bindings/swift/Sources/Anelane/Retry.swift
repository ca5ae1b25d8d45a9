// Asking again, when the library says when.

/// Calls `call` until it succeeds, pausing as its errors say, for at most `limit` in all calls and pauses; throws the last error then.
///
/// Only errors that are transient and safe to send again are retried. A pause is what the error names (a quarter of a second where it
/// names nothing), ten milliseconds at least, never beyond the limit. Cancelling the task ends a pause, with the last error.
///
/// ```swift
/// let vectors = try await retrying { try await model.embed(texts, deadline: .seconds(1)) }
/// ```
public func retrying<T: ~Copyable, Failure: Error>(
  for limit: Duration = .seconds(600), isolation: isolated (any Actor)? = #isolation, _ call: () async throws(Failure) -> T
) async throws(Failure) -> T {
  let end = ContinuousClock.now + limit
  while true {
    let refused: Failure
    do throws(Failure) { return try await call() } catch { refused = error }
    guard let error = refused as? AneLaneError, error.isTransient, error.isSafeToRetry else { throw refused }
    let pause = max(error.retryAfter ?? .milliseconds(250), .milliseconds(10))
    guard ContinuousClock.now + pause <= end else { throw refused }
    do { try await Task.sleep(for: pause) } catch { throw refused }
  }
}
