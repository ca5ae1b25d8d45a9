// What the C library of the system is called, in one place.
#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif
internal import CAnelane

func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

/// Copies of texts for C, until the end of a call.
func withCopies<R>(_ texts: [String?], _ body: ([UnsafePointer<CChar>?]) -> R) -> R {
  let copies = texts.map { $0.flatMap { strdup($0) } }
  defer { copies.forEach { free($0) } }
  return body(copies.map { UnsafePointer($0) })
}

/// Calls `work` on a thread of its own, for what blocks; false: the system has none.
func onThread(_ work: @escaping @Sendable () -> Void) -> Bool {
  let box = Unmanaged.passRetained(Work(work))
  if canelane_thread({ Unmanaged<Work>.fromOpaque($0!).takeRetainedValue().work() }, box.toOpaque()) { return true }
  box.release()
  return false
}

private final class Work: Sendable {
  let work: @Sendable () -> Void
  init(_ work: @escaping @Sendable () -> Void) { self.work = work }
}
