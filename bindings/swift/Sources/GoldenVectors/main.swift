// The golden vectors through the Swift binding, linked: tests/bindings/golden.c says what is read and written.
//
//     GoldenVectors MODEL_DIR TEXTS OUT FOLDER
internal import AnelaneLinked
internal import Foundation

guard CommandLine.arguments.count == 5 else {
  FileHandle.standardError.write(Data("usage: GoldenVectors MODEL_DIR TEXTS OUT FOLDER\n".utf8))
  exit(2)
}
let arguments = CommandLine.arguments
do {
  // "\n" alone ends a line; other characters that Swift takes for line ends belong to the text.
  let texts = try Data(contentsOf: URL(fileURLWithPath: arguments[2])).split(separator: 10, omittingEmptySubsequences: false).dropLast()
    .map { String(decoding: $0, as: UTF8.self) }
  var options = LaneOptions()
  options.engine = .soft
  options.lockDirectory = arguments[4]
  let lane = try await Lane.open(options, library: .linked(), deadline: .seconds(240))
  let model = try await lane.load(arguments[1], deadline: .seconds(240))
  let vectors = try await model.embed(texts, deadline: .seconds(240))
  try await lane.close()
  var bytes = Data()
  for number in vectors.values { withUnsafeBytes(of: number.bitPattern.littleEndian) { bytes.append(contentsOf: $0) } }
  try bytes.write(to: URL(fileURLWithPath: arguments[3]))
} catch {
  FileHandle.standardError.write(Data("GoldenVectors: \(error)\n".utf8))
  exit(1)
}
