// What the tests share: a lane of their own with a tiny model, what a process holds, waiting that ends. All tests are of one suite that
// runs them one after the other: they count the process's descriptors and children.
import Anelane
import Foundation
import Testing
import TinyCheckpoint

@Suite(.serialized) enum Everything {}

/// Against hanging only.
let bound = Deadline.seconds(240)
let shape = 128

enum Place {
  static let source = ProcessInfo.processInfo.environment["ANELANE_SOURCE_DIR"] ?? "../.."
  static let library = ProcessInfo.processInfo.environment["ANELANE_LIBRARY"] ?? "../../build/libanelane.so"
  static let folder: URL = {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("anelane-swift-test-\(getpid())")
    try! TinyCheckpoint.write(to: folder.appendingPathComponent("tiny"))
    atexit { try? FileManager.default.removeItem(at: Place.folder) }
    return folder
  }()
  static let tiny = folder.appendingPathComponent("tiny").path
  static let lock = folder.appendingPathComponent("lane").path
  /// Asked for before the first lane is opened.
  static let log = Result { () throws(AneLaneError) in try Library.standard().logLines(from: .debug) }
}

func options() -> LaneOptions {
  _ = Place.log
  var options = LaneOptions()
  options.engine = .soft
  options.lockDirectory = Place.lock
  options.softThreads = 1
  return options
}
func openLane() async throws -> Lane { try await Lane.open(options(), deadline: bound) }
func openModel(_ lane: Lane, rungs: [Int] = []) async throws -> Model {
  var options = ModelOptions()
  options.rungs = rungs
  return try await lane.load(Place.tiny, options, deadline: bound)
}

/// A lane with a model for a test, closed afterwards; then nothing is left of it.
func withModel(rungs: [Int] = [], _ body: (Lane, Model) async throws -> Void) async throws {
  let lane = try await openLane()
  let before = descriptors()
  do {
    let model = try await openModel(lane, rungs: rungs)
    try await body(lane, model)
  } catch {
    try? await lane.close(deadline: bound)
    throw error
  }
  // Some tests have closed it.
  do { try await lane.close(deadline: bound) } catch { #expect(error.code == .badHandle || error.code == .closed) }
  #expect(children().isEmpty)
  #expect(descriptors() < before)
}

/// Until it is so; false: it never was.
func eventually(_ condition: () throws -> Bool) async rethrows -> Bool {
  for _ in 0..<3000 {
    if try condition() { return true }
    try? await Task.sleep(for: .milliseconds(10))
  }
  return false
}

func descriptors() -> Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0 }

func children() -> [Substring] {
  let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
  return tasks.flatMap { ((try? String(contentsOfFile: "/proc/self/task/\($0)/children", encoding: .utf8)) ?? "").split(separator: " ") }
}

func residentBytes() -> Int {
  let words = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
  return (words.count > 1 ? Int(words[1]) ?? 0 : 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
}

/// The error of a call that is refused; nil: it was not.
func refusal<T: ~Copyable>(_ call: () async throws -> T) async -> AneLaneError? {
  do {
    _ = try await call()
    return nil
  } catch {
    return known(error)
  }
}
func refusalBlocking<T: ~Copyable>(_ call: () throws -> T) -> AneLaneError? {
  do {
    _ = try call()
    return nil
  } catch {
    return known(error)
  }
}
private func known(_ error: any Error) -> AneLaneError? {
  if error as? AneLaneError == nil { Issue.record(error) }
  return error as? AneLaneError
}
