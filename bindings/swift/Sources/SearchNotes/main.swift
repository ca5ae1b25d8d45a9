// Embeds a folder of notes and finds those that mean what you ask for.
//
//     SearchNotes MODEL_FOLDER NOTES_FOLDER QUESTION… [--top N] [--lock-dir FOLDER]
//
// Reads *.txt and *.md below NOTES_FOLDER, in pieces that fit the model, cut between paragraphs where it can and between words where it
// must. Files that cannot be read, or are not UTF-8, are named and left out. Several batches are embedded at the same time, the library
// puts them in order. --lock-dir is a lane of its own in that folder, rather than the user's. ANELANE_LIBRARY names the library.
internal import Anelane
internal import Foundation

struct Piece: Sendable {
  let path: String
  let text: String
}

struct Usage: Error {}

struct Refusal: Error, CustomStringConvertible {
  let description: String
}

/// For one call: a compile, and the queue before it.
let patience = Duration.seconds(600)

func complain(_ line: String) { FileHandle.standardError.write(Data((line + "\n").utf8)) }

func leaveOut(_ path: String, _ why: String) { complain("SearchNotes: left out: \(path): \(why)") }

func kind(_ path: String) -> FileAttributeType? {
  (try? FileManager.default.attributesOfItem(atPath: path))?[.type] as? FileAttributeType
}

/// Links to files are followed, those to folders are not; what begins with a dot is hidden.
func notes(below folder: String, inside: String = "") -> [String] {
  var found: [String] = []
  do {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder + "/" + inside) where !name.hasPrefix(".") {
      let path = inside + name, full = folder + "/" + path
      if kind(full) == .typeDirectory {
        found += notes(below: folder, inside: path + "/")
      } else if name.hasSuffix(".txt") || name.hasSuffix(".md"),
        kind(URL(fileURLWithPath: full).resolvingSymlinksInPath().path) == .typeRegular
      {
        found.append(path)
      }
    }
  } catch {
    leaveOut(folder + "/" + inside, error.localizedDescription)
  }
  return found
}

/// Cuts texts into pieces that fit the model.
struct Cutter {
  let tokenizer: Tokenizer
  /// Tokens that every text has, and what is left for its words.
  let special: Int
  let room: Int

  init(_ model: String) throws {
    let ceiling = try Model.inspect(model).ceiling
    tokenizer = try Tokenizer(model)
    special = try tokenizer.count("")
    room = ceiling - special
  }

  func tokens(_ text: String) throws -> Int { try tokenizer.count(text) - special }

  /// The longest of its halves, quarters and so on, cut between characters, that fits.
  func beginning(of word: String) throws -> String {
    var part = word
    while try tokens(part) > room {
      var cut = part.utf8.index(part.startIndex, offsetBy: part.utf8.count / 2)
      while cut.samePosition(in: part.unicodeScalars) == nil { cut = part.utf8.index(before: cut) }
      part = String(part.unicodeScalars[..<cut])
    }
    return part
  }

  /// Words are what lies between spaces and control characters; a paragraph ends at a line without words.
  func pieces(of text: String) throws -> [String] {
    var found: [String] = []
    // The words of a piece before its last paragraph, and of that; and their tokens.
    var before: [String] = [], within: [String] = []
    var used = 0, recent = 0
    var rest = text.unicodeScalars[...]
    while true {
      let gap = rest.prefix { $0.value <= 32 }
      let scalars = rest[gap.endIndex...].prefix { $0.value > 32 }
      rest = rest[scalars.endIndex...]
      if scalars.isEmpty { break }
      var word = String(scalars)
      if gap.count(where: { $0 == "\n" }) > 1 {
        before += within
        used += recent
        (within, recent) = ([], 0)
      }
      var cost = try tokens(word)
      while !(before.isEmpty && within.isEmpty), used + recent + cost > room {
        if before.isEmpty {
          found.append(within.joined(separator: " "))
          (within, recent) = ([], 0)
        } else {
          found.append(before.joined(separator: " "))
          (before, used) = ([], 0)
        }
      }
      while cost > room {  // too long by itself
        let part = try beginning(of: word)
        found.append(part)
        word = String(word.unicodeScalars.dropFirst(part.unicodeScalars.count))
        cost = try tokens(word)
      }
      within.append(word)
      recent += cost
    }
    before += within
    if !before.isEmpty { found.append(before.joined(separator: " ")) }
    return found
  }
}

func pieces(below folder: String, _ cutter: Cutter) throws -> [Piece] {
  var found: [Piece] = []
  for path in notes(below: folder).sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
    let full = folder + "/" + path
    do {
      var data = try Data(contentsOf: URL(fileURLWithPath: full))
      if data.starts(with: [0xEF, 0xBB, 0xBF]) { data = data.dropFirst(3) }  // a byte order mark
      guard let text = String(data: data, encoding: .utf8) else { throw Refusal(description: "it is not UTF-8") }
      found += try cutter.pieces(of: text).map { Piece(path: path, text: $0) }
    } catch let error as AneLaneError {
      throw error
    } catch let error as Refusal {
      leaveOut(full, error.description)
    } catch {
      leaveOut(full, error.localizedDescription)
    }
  }
  return found
}

/// The time for the call is all that there is: an error says when it is worth asking again.
func embed(_ model: Model, _ texts: [String]) async throws(AneLaneError) -> Vectors {
  let end = ContinuousClock.now + patience
  return try await retrying(for: patience) { () async throws(AneLaneError) in try await model.embed(texts, deadline: .at(end)) }
}

func cosine(_ a: ArraySlice<Float>, _ b: ArraySlice<Float>) -> Double {
  func dot(_ a: ArraySlice<Float>, _ b: ArraySlice<Float>) -> Double { zip(a, b).reduce(0) { $0 + Double($1.0) * Double($1.1) } }
  return dot(a, b) / (dot(a, a) * dot(b, b)).squareRoot()
}

func search(model folder: String, notes: String, questions: [String], top: Int, lane options: LaneOptions) async throws {
  var isFolder: ObjCBool = false
  guard FileManager.default.fileExists(atPath: notes, isDirectory: &isFolder), isFolder.boolValue else {
    throw Refusal(description: "there is no folder \(notes)")
  }
  let pieces = try pieces(below: notes, Cutter(folder))
  if pieces.isEmpty { throw Refusal(description: "there is no text in *.txt and *.md files below \(notes)") }

  let lane = try await Lane.open(options, deadline: .seconds(10))
  let model = try await lane.load(folder, deadline: .after(patience))
  let asked = try await embed(model, questions)
  let vectors = try await withThrowingTaskGroup(of: (Int, Vectors).self) { group in
    let batch = 64
    for first in stride(from: 0, to: pieces.count, by: batch) {
      let texts = pieces[first..<min(first + batch, pieces.count)].map(\.text)
      group.addTask { (first, try await embed(model, texts)) }
    }
    return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.flatMap { Array($0.1) }
  }
  try await lane.close()
  for (question, asked) in zip(questions, asked) {
    print(question)
    let found = zip(pieces.indices, vectors.map { cosine(asked, $0) }).sorted { ($1.1, $0.0) < ($0.1, $1.0) }
    for (index, cosine) in found.prefix(top) {
      let start = String(pieces[index].text.unicodeScalars.prefix(70))
      print("  \(String(format: "%.3f", cosine))  \(pieces[index].path): \(start)")
    }
  }
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
    case "--lock-dir":
      guard let folder = rest.popFirst() else { throw Usage() }
      options.lockDirectory = URL(fileURLWithPath: folder).path  // the library takes no relative ones
    case _ where word.hasPrefix("--"): throw Usage()
    default: words.append(word)
    }
  }
  guard words.count >= 3 else { throw Usage() }
  try await search(model: words[0], notes: words[1], questions: Array(words[2...]), top: top, lane: options)
} catch is Usage {
  complain("usage: SearchNotes MODEL_FOLDER NOTES_FOLDER QUESTION... [--top N] [--lock-dir FOLDER]")
  exit(2)
} catch {
  complain("SearchNotes: \(error)")
  exit(1)
}
