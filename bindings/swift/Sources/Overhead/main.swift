// What a warm call costs in Swift over the same call in C: in one process, on the same lane and model, in turns, on a tiny
// checkpoint: what it computes is in both, and the less it is the less it hides.
//
//     Overhead [--quick]
//     Overhead --hold FOLDER      holds the lane of this folder until its input ends: for tests that need another process
//
// Prints a JSON line for each call: medians of the microseconds of one call in both by the clock and by processor time, the medians
// of the differences between neighbours (over_us, over_cpu_us), and the difference of the quickest tenths (over_quiet_us), which leaves out
// what other programs push in between. ANELANE_LIBRARY names the library.
internal import Anelane
internal import CAnelane
internal import Foundation
internal import TinyCheckpoint

struct Row { var clock = 0.0, processor = 0.0 }

func processorSeconds() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
func quiet(_ values: [Double]) -> Double {
  let few = values.sorted().prefix(max(values.count / 10, 1))
  return few.reduce(0, +) / Double(few.count)
}

func report(_ name: String, _ swift: [Row], _ c: [Row], _ calls: Int) {
  let figures = [
    ("swift_us", median(swift.map(\.clock))), ("c_us", median(c.map(\.clock))),
    ("over_us", median(zip(swift, c).map { $0.clock - $1.clock })),
    ("over_quiet_us", quiet(swift.map(\.clock)) - quiet(c.map(\.clock))),
    ("over_cpu_us", median(zip(swift, c).map { $0.processor - $1.processor })),
  ]
  let fields = figures.map { "\"\($0.0)\": \(String(format: "%.2f", $0.1))" }.joined(separator: ", ")
  print("{\"bench\": \"swift_overhead\", \"call\": \"\(name)\", \(fields), \"rounds\": \(swift.count), \"calls\": \(calls)}")
}

func microseconds(_ calls: Int, _ work: () throws -> Void) rethrows -> Row {
  let cpu = processorSeconds(), start = DispatchTime.now().uptimeNanoseconds
  for _ in 0..<calls { try work() }
  let ns = DispatchTime.now().uptimeNanoseconds - start
  return Row(clock: Double(ns) / 1000 / Double(calls), processor: (processorSeconds() - cpu) * 1e6 / Double(calls))
}

func compare(_ name: String, _ rounds: Int, _ calls: Int, swift: () throws -> Void, c: () -> Bool) rethrows {
  var rows: (swift: [Row], c: [Row]) = ([], [])
  for _ in 0..<rounds {
    rows.c.append(microseconds(calls) { precondition(c(), "\(name): the C call failed") })
    rows.swift.append(try microseconds(calls, swift))
  }
  report(name, rows.swift, rows.c, calls)
}

/// The calls that block, against the same in C.
func blocking(_ model: Model, _ handle: anelane_model, _ c: canelane_functions, _ rounds: Int, _ calls: Int) throws {
  let dimension = try model.info().dimension, shape = try model.info().rungs[0]
  let out = UnsafeMutableBufferPointer<Float>.allocate(capacity: dimension)
  defer { out.deallocate() }
  let ids: [Int32] = [2, 40, 41, 42, 3], list = [ids], texts = ["hello world"]
  func embedC() -> Bool {
    texts[0].withCString {
      var text: UnsafePointer<CChar>? = $0
      return c.embed_texts(handle, &text, 1, out.baseAddress, 0, nil, .max, nil) == ANELANE_OK
    }
  }
  func embedIdsC() -> Bool {
    ids.withUnsafeBufferPointer {
      var item = anelane_tokens(ids: $0.baseAddress, count: 5)
      return c.embed(handle, &item, 1, out.baseAddress, 0, nil, .max, nil) == ANELANE_OK
    }
  }
  try compare("embedBlocking(texts)", rounds, calls) { _ = try model.embedBlocking(texts) } c: { embedC() }
  try compare("embedBlocking(texts, into)", rounds, calls) { try model.embedBlocking(texts, into: out) } c: { embedC() }
  try compare("embedBlocking(tokens)", rounds, calls) { _ = try model.embedBlocking(tokens: list) } c: { embedIdsC() }
  try compare("leaseBlocking, release", rounds, calls * 100) { try model.leaseBlocking(shape: shape).release() } c: {
    var lease = anelane_lease()
    guard c.lease_acquire(handle, UInt32(shape), 0, &lease, nil) == ANELANE_OK else { return false }
    c.lease_release(lease)
    return true
  }
}

/// The async call against an operation of C with a callback, waited for with a semaphore.
func awaited(_ model: Model, _ handle: anelane_model, _ c: canelane_functions, _ rounds: Int, _ calls: Int) async throws {
  let texts = ["hello world"]
  let swift: () async throws -> Row = {
    let cpu = processorSeconds(), start = DispatchTime.now().uptimeNanoseconds
    for _ in 0..<calls { _ = try await model.embed(texts) }
    let ns = DispatchTime.now().uptimeNanoseconds - start
    return Row(clock: Double(ns) / 1000 / Double(calls), processor: (processorSeconds() - cpu) * 1e6 / Double(calls))
  }
  var rows: (swift: [Row], c: [Row]) = ([], [])
  for _ in 0..<rounds {
    rows.c.append(callbacks(handle, c, calls, texts[0]))
    rows.swift.append(try await swift())
  }
  report("await embed(texts)", rows.swift, rows.c, calls)
}

func callbacks(_ handle: anelane_model, _ c: canelane_functions, _ calls: Int, _ text: String) -> Row {
  let ended = DispatchSemaphore(value: 0)
  return microseconds(calls) {
    text.withCString {
      var pointer: UnsafePointer<CChar>? = $0
      var op = anelane_op()
      let user = Unmanaged.passUnretained(ended).toOpaque()
      let status = c.start_embed_texts(
        handle, &pointer, 1, .max, { user, _, _ in _ = Unmanaged<DispatchSemaphore>.fromOpaque(user!).takeUnretainedValue().signal() }, user,
        &op, nil)
      precondition(status == ANELANE_OK)
      ended.wait()
      var data: UnsafePointer<Float>?
      var rows = 0, columns = 0
      precondition(c.op_floats(op, &data, &rows, &columns, nil) == ANELANE_OK)
      c.op_release(op)
    }
  }
}

if CommandLine.arguments.count == 3, CommandLine.arguments[1] == "--hold" {
  var options = LaneOptions()
  options.engine = .soft
  options.lockDirectory = CommandLine.arguments[2]
  let lane = try await Lane.open(options)
  print("held by \(getpid())")
  fflush(nil)
  while readLine() != nil {}
  try await lane.close()
  exit(0)
}
guard CommandLine.arguments.dropFirst().allSatisfy({ $0 == "--quick" }) else {
  FileHandle.standardError.write(Data("usage: Overhead [--quick | --hold FOLDER]\n".utf8))
  exit(2)
}
let quick = CommandLine.arguments.contains("--quick")
let folder = FileManager.default.temporaryDirectory.appendingPathComponent("anelane-swift-bench-\(getpid())")
do {
  try TinyCheckpoint.write(to: folder.appendingPathComponent("tiny"))
  defer { try? FileManager.default.removeItem(at: folder) }
  var options = LaneOptions()
  options.engine = .soft
  options.softThreads = 1
  options.lockDirectory = folder.appendingPathComponent("lane").path
  let lane = try await Lane.open(options)
  var load = ModelOptions()
  load.rungs = [32, TinyCheckpoint.ceiling]
  let model = try await lane.load(folder.appendingPathComponent("tiny").path, load)
  try await model.admit(shape: 32)
  let (rounds, calls) = quick ? (3, 5) : (400, 8)
  let c = model.functions
  try blocking(model, model.handle, c, rounds, calls)
  try await awaited(model, model.handle, c, rounds, calls)
  try await lane.close()
} catch {
  FileHandle.standardError.write(Data("Overhead: \(error)\n".utf8))
  exit(1)
}
