// A tiny BERT checkpoint (2 layers, 64 numbers, up to 256 tokens) with fixed weights, written in milliseconds. Its vocabulary
// holds the special tokens, the printable ASCII characters and some words.
package import Foundation

package enum TinyCheckpoint {
  package static let dimension = 64, ceiling = 256
  private static let layers = 2, inner = 128

  private static let vocabulary: [String] = {
    var words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    for code in UInt8(33)..<127 where !(65...90).contains(code) { words.append(String(UnicodeScalar(code))) }
    for character in "abcdefghijklmnopqrstuvwxyz0123456789" { words.append("##\(character)") }
    return words + ["the", "and", "of", "hello", "world", "engine", "lane", "##ing", "##ed", "##s"]
  }()

  /// Creates the folder.
  package static func write(to folder: URL) throws {
    try FileManager.default.createDirectory(at: folder.appendingPathComponent("1_Pooling"), withIntermediateDirectories: true)
    func write(_ name: String, _ text: String) throws { try Data(text.utf8).write(to: folder.appendingPathComponent(name)) }
    try write(
      "config.json",
      """
      {"architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", "hidden_size": \(dimension),
       "intermediate_size": \(inner), "layer_norm_eps": 1e-12, "max_position_embeddings": \(ceiling), "num_attention_heads": 2,
       "num_hidden_layers": \(layers), "position_embedding_type": "absolute", "type_vocab_size": 2, "vocab_size": \(vocabulary.count)}
      """)
    try write("tokenizer_config.json", #"{"do_lower_case": true, "tokenizer_class": "BertTokenizer"}"#)
    try write("1_Pooling/config.json", #"{"word_embedding_dimension": \#(dimension), "pooling_mode_mean_tokens": true}"#)
    try write(
      "modules.json",
      """
      [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
       {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
       {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]
      """)
    try write("vocab.txt", vocabulary.map { $0 + "\n" }.joined())
    try weights().write(to: folder.appendingPathComponent("model.safetensors"))
  }

  private static func weights() -> Data {
    var state: UInt64 = 1
    func random() -> Float {  // -1 … 1
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Float(Int32(truncatingIfNeeded: state >> 32)) / 2_147_483_648
    }
    var header: [String] = []
    var data: [Float] = []
    func tensor(_ name: String, _ shape: [Int], centre: Float = 0, spread: Float) {
      let start = data.count * 4
      for _ in 0..<shape.reduce(1, *) { data.append(centre + spread * random()) }
      header.append(#""\#(name)": {"dtype": "F32", "shape": \#(shape), "data_offsets": [\#(start), \#(data.count * 4)]}"#)
    }
    func linear(_ name: String, _ rows: Int, _ columns: Int) {
      tensor(name + ".weight", [rows, columns], spread: 0.15)
      tensor(name + ".bias", [rows], spread: 0.05)
    }
    func norm(_ name: String) {
      tensor(name + ".weight", [dimension], centre: 1, spread: 0.2)
      tensor(name + ".bias", [dimension], spread: 0.1)
    }
    tensor("embeddings.word_embeddings.weight", [vocabulary.count, dimension], spread: 1)
    tensor("embeddings.position_embeddings.weight", [ceiling, dimension], spread: 0.3)
    tensor("embeddings.token_type_embeddings.weight", [2, dimension], spread: 0.1)
    norm("embeddings.LayerNorm")
    for i in 0..<layers {
      let layer = "encoder.layer.\(i)."
      for part in ["query", "key", "value"] { linear(layer + "attention.self." + part, dimension, dimension) }
      linear(layer + "attention.output.dense", dimension, dimension)
      norm(layer + "attention.output.LayerNorm")
      linear(layer + "intermediate.dense", inner, dimension)
      linear(layer + "output.dense", dimension, inner)
      norm(layer + "output.LayerNorm")
    }
    let text = Data("{\(header.joined(separator: ", "))}".utf8)
    var file = withUnsafeBytes(of: UInt64(text.count).littleEndian) { Data($0) }
    file.append(text)
    for number in data { withUnsafeBytes(of: number.bitPattern.littleEndian) { file.append(contentsOf: $0) } }
    return file
  }
}
