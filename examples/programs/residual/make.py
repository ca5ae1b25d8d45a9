#!/usr/bin/env python3
"""Writes the files of this folder anew: MIL texts for two widths, and the weight files that both share.

    y = down(0.5 * relu(up(x)) + up(x)) + x        total = the sum of y over its channels, for each column

`up` and `down` are 1×1 convolutions of 32 to 64 channels and back. Three programs, so that the wiring of program.json has
something to do: h = up(x) feeds both the second and the third (a skip connection), x feeds the first and the third.
Nothing but the standard library; the weights are made up.
"""
import json
import os
import struct
import sys

CHANNELS, HIDDEN, WIDTHS = 32, 64, (64, 128)

HEAD = """program(1.3)
[buildInfo = dict<string, string>({{"coremlc-component-MIL", "3510.2.1"}, {"coremlc-version", "3505.4.1"}, \
{"coremltools-component-milinternal", ""}, {"coremltools-version", "9.0"}})]
{
"""


def tensor(channels, width):
    return f"tensor<fp16, [1, {channels}, 1, {width}]>"


def blob(shape, offset):
    """A constant that lies in the weight file: `offset` is where its record begins."""
    kind = f"tensor<fp16, {shape}>"
    return (f'{kind}(BLOBFILE(path = string("@model_path/weights/weight.bin"), offset = uint64({offset})))', kind)


def conv_constants(outputs, inputs, bias_offset):
    weight, weight_kind = blob([outputs, inputs, 1, 1], 64)
    bias, bias_kind = blob([outputs], bias_offset)
    return f"""        string c_pad_type = const()[name = string("c_pad_type"), val = string("valid")];
        tensor<int32, [2]> c_ones = const()[name = string("c_ones"), val = tensor<int32, [2]>([1, 1])];
        tensor<int32, [4]> c_pad = const()[name = string("c_pad"), val = tensor<int32, [4]>([0, 0, 0, 0])];
        int32 c_groups = const()[name = string("c_groups"), val = int32(1)];
        {weight_kind} c_weight = const()[name = string("c_weight"), val = {weight}];
        {bias_kind} c_bias = const()[name = string("c_bias"), val = {bias}];
"""


CONV = ("conv(bias = c_bias, dilations = c_ones, groups = c_groups, pad = c_pad, pad_type = c_pad_type, strides = c_ones, "
        "weight = c_weight, x = {x})")


def function(inputs, body, outputs):
    arguments = ", ".join(f"{kind} {name}" for name, kind in inputs)
    return f"{HEAD}    func main<ios18>({arguments}) {{\n{body}    }} -> ({', '.join(outputs)});\n}}\n"


def up(width, bias_offset):
    body = conv_constants(HIDDEN, CHANNELS, bias_offset)
    body += f'        {tensor(HIDDEN, width)} h = {CONV.format(x="x")}[name = string("h")];\n'
    return function([("x", tensor(CHANNELS, width))], body, ["h"])


def activate(width):
    kind = tensor(HIDDEN, width)
    body = f"""        fp16 c_half = const()[name = string("c_half"), val = fp16(0x1p-1)];
        {kind} t_relu = relu(x = h)[name = string("t_relu")];
        {kind} g = mul(x = t_relu, y = c_half)[name = string("g")];
"""
    return function([("h", kind)], body, ["g"])


def down(width, bias_offset):
    wide, narrow = tensor(HIDDEN, width), tensor(CHANNELS, width)
    body = conv_constants(CHANNELS, HIDDEN, bias_offset)
    body += f"""        tensor<int32, [1]> c_axes = const()[name = string("c_axes"), val = tensor<int32, [1]>([1])];
        bool c_keep = const()[name = string("c_keep"), val = bool(true)];
        {wide} t_sum = add(x = skip, y = hidden)[name = string("t_sum")];
        {narrow} t_down = {CONV.format(x="t_sum")}[name = string("t_down")];
        {narrow} y = add(x = t_down, y = x)[name = string("y")];
        {tensor(1, width)} total = reduce_sum(axes = c_axes, keep_dims = c_keep, x = y)[name = string("total")];
"""
    return function([("hidden", wide), ("skip", wide), ("x", narrow)], body, ["total", "y"])


def weight_file(tensors):
    """(bytes of weights/weight.bin, offsets of its records): a head of 64 bytes, then for each tensor a head and its fp16 data."""
    data, offsets = bytearray(struct.pack("<II56x", len(tensors), 2)), []
    for values in tensors:
        data += bytes(-len(data) % 64)
        offsets.append(len(data))
        data += struct.pack("<IIQQQ32x", 0xDEADBEEF, 1, 2 * len(values), len(data) + 64, 0)
        data += struct.pack(f"<{len(values)}e", *values)
    return bytes(data), offsets


def made_up(count, scale):
    """Reproducible values, uniform in ±scale."""
    state, values = 12345, []
    for _ in range(count):
        state = (1103515245 * state + 12345) % 2**31
        values.append((state / 2**30 - 1) * scale)
    return values


def main(folder):
    files = {}
    files["up.bin"], up_offsets = weight_file([made_up(HIDDEN * CHANNELS, 0.25), made_up(HIDDEN, 0.125)])
    files["down.bin"], down_offsets = weight_file([made_up(CHANNELS * HIDDEN, 0.125), made_up(CHANNELS, 0.125)])
    rungs = {}
    for width in WIDTHS:
        files[f"up_{width}.mil"] = up(width, up_offsets[1]).encode()
        files[f"activate_{width}.mil"] = activate(width).encode()
        files[f"down_{width}.mil"] = down(width, down_offsets[1]).encode()
        rungs[str(width)] = [
            {"mil": f"up_{width}.mil", "weights": "up.bin"},
            {"mil": f"activate_{width}.mil"},
            {"mil": f"down_{width}.mil", "weights": "down.bin", "connect": {"hidden": "g", "skip": "h"}},
        ]
    files["program.json"] = (json.dumps({"format": 1, "name": "residual", "rungs": rungs}, indent=2) + "\n").encode()
    for name, data in files.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__)))
