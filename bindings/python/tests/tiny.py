"""A tiny BERT checkpoint (2 layers, 64 numbers, up to 256 tokens) with fixed weights, written in milliseconds.

Its vocabulary holds the special tokens, the printable ASCII characters, and some words.
"""
import json
import os
import random
import string
from array import array

DIM, CEILING, LAYERS, FFN = 64, 256, 2, 128
VOCABULARY = (["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
              + [chr(c) for c in range(33, 127) if not chr(c).isupper()]
              + ["##" + c for c in string.ascii_lowercase + string.digits]
              + ["the", "and", "of", "hello", "world", "engine", "lane", "##ing", "##ed", "##s"])


def _tensors(rng):
    """(name, shape, values), in the order of the file."""
    def values(count, centre, spread):
        return array("f", (rng.uniform(centre - spread, centre + spread) for _ in range(count)))

    def linear(name, rows, columns):
        yield name + ".weight", [rows, columns], values(rows * columns, 0, 0.15)
        yield name + ".bias", [rows], values(rows, 0, 0.05)

    def norm(name):
        yield name + ".weight", [DIM], values(DIM, 1, 0.2)
        yield name + ".bias", [DIM], values(DIM, 0, 0.1)

    yield "embeddings.word_embeddings.weight", [len(VOCABULARY), DIM], values(len(VOCABULARY) * DIM, 0, 1)
    yield "embeddings.position_embeddings.weight", [CEILING, DIM], values(CEILING * DIM, 0, 0.3)
    yield "embeddings.token_type_embeddings.weight", [2, DIM], values(2 * DIM, 0, 0.1)
    yield from norm("embeddings.LayerNorm")
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}."
        for part in ("query", "key", "value"):
            yield from linear(layer + "attention.self." + part, DIM, DIM)
        yield from linear(layer + "attention.output.dense", DIM, DIM)
        yield from norm(layer + "attention.output.LayerNorm")
        yield from linear(layer + "intermediate.dense", FFN, DIM)
        yield from linear(layer + "output.dense", DIM, FFN)
        yield from norm(layer + "output.LayerNorm")


def write_tiny(folder, seed=1):
    """Creates the folder; returns its path. Another seed is another model."""
    def write_json(name, value):
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            json.dump(value, f)

    os.makedirs(folder)
    write_json("config.json", {
        "architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", "hidden_size": DIM,
        "intermediate_size": FFN, "layer_norm_eps": 1e-12, "max_position_embeddings": CEILING, "num_attention_heads": 2,
        "num_hidden_layers": LAYERS, "position_embedding_type": "absolute", "type_vocab_size": 2,
        "vocab_size": len(VOCABULARY)})
    write_json("tokenizer_config.json", {"do_lower_case": True, "tokenizer_class": "BertTokenizer"})
    write_json("1_Pooling/config.json", {"word_embedding_dimension": DIM, "pooling_mode_mean_tokens": True})
    write_json("modules.json", [{"idx": i, "name": str(i), "path": path, "type": "sentence_transformers.models." + kind}
                                for i, (path, kind) in enumerate([("", "Transformer"), ("1_Pooling", "Pooling"),
                                                                  ("2_Normalize", "Normalize")])])
    with open(os.path.join(folder, "vocab.txt"), "w", encoding="utf-8") as f:
        f.write("".join(word + "\n" for word in VOCABULARY))
    header, data = {}, b""
    for name, shape, values in _tensors(random.Random(seed)):
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * len(values)]}
        data += values.tobytes()
    encoded = json.dumps(header).encode()
    with open(os.path.join(folder, "model.safetensors"), "wb") as f:
        f.write(len(encoded).to_bytes(8, "little") + encoded + data)
    return folder
