// The tokenizer of a checkpoint: immutable, needs no lane, given back with the last reference. Threads: any.
internal import CAnelane

/// Turns texts into the token ids that a model takes.
public final class Tokenizer: Sendable {
  private let library: Library
  private let raw: anelane_tokenizer

  /// Reads the tokenizer of a checkpoint folder.
  public init(_ path: String, library: Library? = nil) throws(AneLaneError) {
    try AneLaneError.refuseNUL("the model's path", path)
    let library = try Library.chosen(library)
    var raw = anelane_tokenizer()
    try library.check { library.c.pointee.tokenizer_load(path, &raw, $0) }
    self.library = library
    self.raw = raw
  }

  deinit { library.c.pointee.tokenizer_release(raw) }

  /// The ids of a text, special tokens included. NUL is a character like any other here.
  public func tokenize(_ text: String) throws(AneLaneError) -> [Int32] {
    var text = text
    var ids = [Int32](repeating: 0, count: text.utf8.count + 16)
    for _ in 0..<2 {
      var count = 0
      let cap = ids.count
      try library.check { error in
        text.withUTF8 { utf8 in
          utf8.withMemoryRebound(to: CChar.self) { bytes in
            ids.withUnsafeMutableBufferPointer {
              library.c.pointee.tokenize(raw, bytes.baseAddress, bytes.count, $0.baseAddress, cap, &count, error)
            }
          }
        }
      }
      if count <= cap {
        ids.removeLast(cap - count)
        return ids
      }
      ids = [Int32](repeating: 0, count: count)
    }
    throw AneLaneError(.internal, "INTERNAL", "the same text has another number of tokens each time")
  }

  /// How many ids a text has.
  public func count(_ text: String) throws(AneLaneError) -> Int {
    var text = text
    var count = 0
    try library.check { error in
      text.withUTF8 { utf8 in
        utf8.withMemoryRebound(to: CChar.self) { library.c.pointee.tokenize(raw, $0.baseAddress, $0.count, nil, 0, &count, error) }
      }
    }
    return count
  }
}
