// Texts and token ids to vectors. Inputs cross as pointers into one block each; results are copied once, out of the operation's
// memory, because that belongs to the lane and a vector should outlive it. `embedBlocking(_:into:)` writes into the caller's own
// memory and copies nothing.
// Threads: any.
internal import CAnelane

/// Vectors, one for each input, in their order.
public struct Vectors: Sendable, Equatable, RandomAccessCollection {
  /// All numbers, row after row.
  public let values: [Float]
  /// Numbers of one vector.
  public let dimension: Int

  public var startIndex: Int { 0 }
  public var endIndex: Int { dimension == 0 ? 0 : values.count / dimension }
  /// One vector, without a copy.
  public subscript(row: Int) -> ArraySlice<Float> {
    precondition(row >= 0 && row < endIndex, "there is no vector \(row)")
    return values[row * dimension..<(row + 1) * dimension]
  }
  /// All numbers where they lie.
  public func withUnsafeBufferPointer<R, E: Error>(_ body: (UnsafeBufferPointer<Float>) throws(E) -> R) throws(E) -> R {
    try values.withUnsafeBufferPointer(body)
  }
}

extension Model {
  /// One vector for each text. Nothing is truncated: a text that is too long refuses the call (``AneLaneError/Code/sequenceTooLong`` with
  /// ``AneLaneError/item``), and so does one with NUL in it. Cancelling the task cancels the call.
  public func embed(_ texts: [String], deadline: Deadline = .none) async throws(AneLaneError) -> Vectors {
    try refuseNUL(texts)
    let until = deadline.nanoseconds(library)
    return try await library.run { done, user, op, error in
      withCStrings(texts) { library.c.pointee.start_embed_texts(raw, $0, texts.count, until, done, user, op, error) }
    } take: { op throws(AneLaneError) in
      try vectors(of: op)
    }
  }

  /// One vector for each sequence of token ids (``Tokenizer``).
  public func embed(tokens: [[Int32]], deadline: Deadline = .none) async throws(AneLaneError) -> Vectors {
    let until = deadline.nanoseconds(library)
    return try await library.run { done, user, op, error in
      withTokens(tokens) { library.c.pointee.start_embed(raw, $0, tokens.count, until, done, user, op, error) }
    } take: { op throws(AneLaneError) in
      try vectors(of: op)
    }
  }

  /// One vector for each text, for code that may block.
  @available(*, noasync, message: "blocks: use the async form")
  public func embedBlocking(_ texts: [String], deadline: Deadline = .none) throws(AneLaneError) -> Vectors {
    let values = try rows(texts.count) { (out) throws(AneLaneError) in try embedBlocking(texts, into: out, deadline: deadline) }
    return Vectors(values: values, dimension: dimension)
  }

  /// One vector for each sequence of token ids, for code that may block.
  @available(*, noasync, message: "blocks: use the async form")
  public func embedBlocking(tokens: [[Int32]], deadline: Deadline = .none) throws(AneLaneError) -> Vectors {
    let values = try rows(tokens.count) { (out) throws(AneLaneError) in try embedBlocking(tokens: tokens, into: out, deadline: deadline) }
    return Vectors(values: values, dimension: dimension)
  }

  /// Writes the vectors of the texts into memory of the caller's, which has room for all of them.
  @available(*, noasync, message: "blocks: use the async form")
  public func embedBlocking(_ texts: [String], into out: UnsafeMutableBufferPointer<Float>, deadline: Deadline = .none) throws(AneLaneError) {
    try refuseNUL(texts)
    try checkRoom(out, texts.count)
    let until = deadline.nanoseconds(library)
    try library.check { error in
      withCStrings(texts) { library.c.pointee.embed_texts(raw, $0, texts.count, out.baseAddress, 0, nil, until, error) }
    }
  }

  /// The same for token ids.
  @available(*, noasync, message: "blocks: use the async form")
  public func embedBlocking(tokens: [[Int32]], into out: UnsafeMutableBufferPointer<Float>, deadline: Deadline = .none) throws(AneLaneError) {
    try checkRoom(out, tokens.count)
    let until = deadline.nanoseconds(library)
    try library.check { error in
      withTokens(tokens) { library.c.pointee.embed(raw, $0, tokens.count, out.baseAddress, 0, nil, until, error) }
    }
  }

  private func rows(_ count: Int, _ fill: (UnsafeMutableBufferPointer<Float>) throws(AneLaneError) -> Void) throws(AneLaneError) -> [Float] {
    var failure: AneLaneError?
    let values = [Float](unsafeUninitializedCapacity: count * dimension) { room, written in
      do throws(AneLaneError) {
        try fill(UnsafeMutableBufferPointer(rebasing: room[..<(count * dimension)]))
        written = count * dimension
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return values
  }

  private func checkRoom(_ out: UnsafeMutableBufferPointer<Float>, _ count: Int) throws(AneLaneError) {
    let (needed, overflow) = count.multipliedReportingOverflow(by: dimension)
    if overflow || out.count < needed {
      throw .invalidArgument("there is room for \(out.count) numbers: \(count) vectors have \(needed)", limit: UInt64(clamping: needed))
    }
  }

  private func vectors(of op: anelane_op) throws(AneLaneError) -> Vectors {
    var data: UnsafePointer<Float>?
    var rows = 0, columns = 0
    try library.check { library.c.pointee.op_floats(op, &data, &rows, &columns, $0) }
    return Vectors(values: Array(UnsafeBufferPointer(start: data, count: rows * columns)), dimension: columns)
  }
}

/// The C interface would see the beginning of such a text only.
private func refuseNUL(_ texts: [String]) throws(AneLaneError) {
  for (i, text) in texts.enumerated() {
    if let place = text.utf8.withContiguousStorageIfAvailable({ $0.firstIndex(of: 0) }) ?? text.utf8.enumerated().first(where: { $1 == 0 })?.offset {
      throw .invalidArgument("text \(i) has NUL at byte \(place): embed its token ids", item: i, limit: UInt64(place))
    }
  }
}

/// All texts as C strings, in one block; one alone where it is.
private func withCStrings<R>(_ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> R) -> R {
  if texts.count == 1 {
    return texts[0].withCString { one in
      var pointer: UnsafePointer<CChar>? = one
      return body(&pointer)
    }
  }
  var bytes: [CChar] = []
  bytes.reserveCapacity(texts.reduce(0) { $0 + $1.utf8.count + 1 })
  var starts: [Int] = []
  starts.reserveCapacity(texts.count)
  for text in texts {
    starts.append(bytes.count)
    for byte in text.utf8 { bytes.append(CChar(bitPattern: byte)) }
    bytes.append(0)
  }
  return bytes.withUnsafeBufferPointer { bytes in
    // One more than there are: an empty list has a place too.
    let pointers: [UnsafePointer<CChar>?] = starts.map { bytes.baseAddress! + $0 } + [nil]
    return pointers.withUnsafeBufferPointer { body($0.baseAddress!) }
  }
}

/// All sequences, in one block.
private func withTokens<R>(_ sequences: [[Int32]], _ body: (UnsafePointer<anelane_tokens>) -> R) -> R {
  if sequences.count == 1 {
    return sequences[0].withUnsafeBufferPointer { one in
      var item = anelane_tokens(ids: one.baseAddress, count: UInt64(one.count))
      return body(&item)
    }
  }
  let all = Array(sequences.joined())
  return all.withUnsafeBufferPointer { all in
    var items: [anelane_tokens] = []
    items.reserveCapacity(sequences.count + 1)
    var place = 0
    for sequence in sequences {
      items.append(anelane_tokens(ids: all.baseAddress.map { $0 + place }, count: UInt64(sequence.count)))
      place += sequence.count
    }
    items.append(anelane_tokens())
    return items.withUnsafeBufferPointer { body($0.baseAddress!) }
  }
}
