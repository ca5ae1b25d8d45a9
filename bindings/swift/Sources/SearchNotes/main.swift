// Embeds a folder of notes and finds those that mean what you ask for.
//
//     SearchNotes MODEL_DIR NOTES_DIR QUESTION [--top N] [--lane-dir FOLDER]
//
// Reads *.txt and *.md below NOTES_DIR, cut into pieces that fit the model. Several files are embedded at the same time, the library puts
// them in order; a shape that still compiles is waited for as its error says. ANELANE_LIBRARY names the library.
internal import Anelane
internal import Foundation

struct Piece: Sendable {
  let path: String
  let text: String
}

struct Found: Sendable {
  let piece: Piece
  let vector: ArraySlice<Float>
}

struct Usage: Error {}

/// Paragraphs, joined while they fit the model; one that does not fit is cut between words.
func pieces(of text: String, fits: (String) throws -> Bool) throws -> [String] {
  var found: [String] = []
  var piece = ""
  for paragraph in text.replacingOccurrences(of: "\0", with: " ").components(separatedBy: "\n\n") {
    let paragraph = paragraph.trimmingCharacters(in: .whitespacesAndNewlines)
    if paragraph.isEmpty { continue }
    let joined = piece.isEmpty ? paragraph : piece + "\n\n" + paragraph
    if try fits(joined) {
      piece = joined
      continue
    }
    if !piece.isEmpty { found.append(piece) }
    var words = paragraph.split(whereSeparator: \.isWhitespace).map(String.init)
    while try !fits(words.joined(separator: " ")) {
      var low = 0, high = words.count  // the longest beginning that fits: at least low words, fewer than high
      while high - low > 1 {
        let middle = (low + high) / 2
        if try fits(words[..<middle].joined(separator: " ")) { low = middle } else { high = middle }
      }
      if low == 0 {  // one word that is too long
        let word = words[0], half = word.index(word.startIndex, offsetBy: word.count / 2)
        words.replaceSubrange(0..<1, with: [String(word[..<half]), String(word[half...])])
        continue
      }
      found.append(words[..<low].joined(separator: " "))
      words.removeFirst(low)
    }
    piece = words.joined(separator: " ")
  }
  if !piece.isEmpty { found.append(piece) }
  return found
}

func notes(below folder: String) throws -> [(path: String, text: String)] {
  let root = URL(fileURLWithPath: folder, isDirectory: true)
  return try FileManager.default.subpathsOfDirectory(atPath: folder).sorted()
    .filter { ($0.hasSuffix(".txt") || $0.hasSuffix(".md")) && !$0.split(separator: "/").contains { $0.hasPrefix(".") } }
    .map { ($0, String(decoding: try Data(contentsOf: root.appendingPathComponent($0)), as: UTF8.self)) }
}

func embed(_ model: Model, _ texts: [String]) async throws(AneLaneError) -> Vectors {
  try await retrying { () async throws(AneLaneError) in try await model.embed(texts, deadline: .seconds(30)) }
}

func search(model folder: String, notes: [(path: String, text: String)], question: String, lane options: LaneOptions) async throws -> [(Float, Piece)] {
  let lane = try await Lane.open(options, deadline: .seconds(10))
  let model = try await lane.load(folder)
  let tokenizer = try Tokenizer(folder), ceiling = try model.info().ceiling
  let files = try notes.map { note in
    try pieces(of: note.text) { try tokenizer.count($0) <= ceiling }.map { Piece(path: note.path, text: $0) }
  }
  let found = try await withThrowingTaskGroup(of: [Found].self) { group in
    for pieces in files where !pieces.isEmpty {
      group.addTask { zip(pieces, try await embed(model, pieces.map(\.text))).map { Found(piece: $0, vector: $1) } }
    }
    return try await group.reduce(into: []) { $0 += $1 }
  }
  let asked = try await embed(model, [question])[0]
  try await lane.close()
  return found.map { one in (zip(asked, one.vector).reduce(0) { $0 + $1.0 * $1.1 }, one.piece) }
    .sorted { ($1.0, $0.1.path, $0.1.text) < ($0.0, $1.1.path, $1.1.text) }
}

do {
  var words: [String] = []
  var top = 3
  var options = LaneOptions()
  var rest = CommandLine.arguments.dropFirst()
  while let word = rest.popFirst() {
    switch word {
    case "--top":
      guard let number = rest.popFirst().flatMap({ Int($0) }), number > 0 else { throw Usage() }
      top = number
    case "--lane-dir":
      guard let folder = rest.popFirst() else { throw Usage() }
      options.lockDirectory = folder
    case _ where word.hasPrefix("--"): throw Usage()
    default: words.append(word)
    }
  }
  guard words.count == 3 else { throw Usage() }
  for (cosine, piece) in try await search(model: words[0], notes: notes(below: words[1]), question: words[2], lane: options).prefix(top) {
    let line = piece.text.split(whereSeparator: \.isWhitespace).joined(separator: " ").prefix(70)
    print("\(String(format: "%.3f", cosine))  \(piece.path): \(line)")
  }
} catch is Usage {
  FileHandle.standardError.write(Data("usage: SearchNotes MODEL_DIR NOTES_DIR QUESTION [--top N] [--lane-dir FOLDER]\n".utf8))
  exit(2)
} catch {
  FileHandle.standardError.write(Data("SearchNotes: \(error)\n".utf8))
  exit(1)
}
