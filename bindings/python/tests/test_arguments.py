"""Arguments that ctypes would cut, pad or misread are refused with words of this package, before anything runs."""
import os
import unittest
import unittest.mock

from support import BOUND_S, SOURCE, LaneCase, numpy

import anelane
from anelane import _abi, _library

WRAPPED = 2**32 + 128  # the lower 32 bits are a shape of the model
RESIDUAL = os.path.join(SOURCE, "examples/programs/residual")


class Arguments(LaneCase):
    def refused(self, words, call):
        with self.assertRaisesRegex(anelane.InvalidArgumentError, words):
            call()

    def test_a_number_beyond_32_bits_is_no_shape(self):
        model = self.model
        for shape in (WRAPPED, 128 - 2**32, -1):
            for call in (model.predict, model.lease, model.start_lease, model.admit, model.ports):
                with self.subTest(call=call.__name__, shape=shape):
                    self.refused(f"shape is {shape}: not a number from 0 to 4294967295", lambda: call(shape))
        self.refused("a rung is 4294967424", lambda: self.lane.load(self.tiny, rungs=[WRAPPED, 2**32 + 256]))
        self.refused("a shape is 4294967424", lambda: self.lane.load_program({WRAPPED: [{"mil": "x"}]}))
        self.assertEqual(model.predict(numpy.uint32(128)), model.predict(128))
        with model.lease(numpy.int64(128)) as lease:
            self.assertIs(type(lease.shape), int)

    def test_a_name_is_never_cut_at_nul(self):
        self.refused("name holds NUL", lambda: self.lane.load(self.tiny, name="a\0b"))
        self.refused("numerics holds NUL", lambda: self.lane.start_load(self.tiny, numerics="fast\0er"))
        self.refused("name holds NUL", lambda: self.lane.load_program({64: [{"mil": "x"}]}, name="a\0b"))
        for connect, words in (({"a\0b": "c"}, "an input in 'connect' holds NUL"), ({"a": "c\0"}, "an output in 'connect' holds NUL")):
            self.refused(words, lambda: self.lane.load_program({64: [{"mil": "x", "connect": connect}]}))
        self.refused("name is no Unicode text", lambda: self.lane.load(self.tiny, name="\ud800"))

    def test_bytes_are_no_token_ids(self):
        for item in (bytes([2, 0, 0, 0]), bytearray(4), b"123"):
            self.refused(r"items\[1\] is no sequence of token ids", lambda: self.model.embed_ids_rows([[2, 3], item]))

    def test_a_number_is_no_weights(self):
        for part in ("mil", "weights"):
            self.refused(f"'{part}' of a layer", lambda: self.lane.load_program({64: [{"mil": "x", part: 5}]}))

    def test_weights_may_be_any_buffer(self):
        with open(os.path.join(RESIDUAL, "up_64.mil"), encoding="utf-8") as f:
            mil = f.read()
        weights = numpy.fromfile(os.path.join(RESIDUAL, "up.bin"), numpy.uint8)
        self.lane.load_program({64: [{"mil": bytearray(mil.encode()), "weights": weights}]}, timeout=BOUND_S).close()

    def test_what_was_resized_since_the_start_is_not_written_to(self):
        out = numpy.empty((2, 64), numpy.float32)
        op = self.model.start_embed(["a", "b"], out=out)
        out.resize((1, 64), refcheck=False)
        self.refused(r"out is not a writable float32 array of shape \(2, 64\)", lambda: op.result(BOUND_S))

    def test_outputs_go_to_mapped_ports_only(self):
        """Arrays of another layout would have been copied, and the copy written to."""
        with self.model.lease(128, timeout=BOUND_S) as lease:
            inputs = {port.index: bytes(port.nbytes) for port in lease.ports if not port.is_output}
            port = lease.ports[2]
            for other in (numpy.zeros(port.shape, numpy.float16), bytes(port.nbytes), None):
                self.refused(r"outputs\['z00_y'\] is a \w+: give what Lease.map answered",
                             lambda: lease.run(inputs, outputs={"z00_y": other}))

    def test_route_and_dialect_are_flags_of_c(self):
        opened = []

        def lane_open(options, *_):
            opened.append(options._obj.flags)
            return _abi.ANELANE_UNSUPPORTED

        with unittest.mock.patch.object(_library.library(), "lane_open", lane_open):
            for options in ({}, {"apple_route": "in-memory"}, {"apple_route": "client", "prewarm": True}, {"mil_dialect": "ios18"},
                            {"mil_dialect": "ios16", "apple_route": "client"}):
                with self.assertRaises(anelane.Error):
                    anelane.Lane(**options)
        self.assertEqual(opened, [0, 2, 1 | 4, 8, 16 | 4])
        self.refused("apple_route is 'both': not one of in-memory, client", lambda: anelane.Lane(apple_route="both"))
        self.refused("mil_dialect is 'ios17': not one of ios18, ios16", lambda: anelane.Lane(mil_dialect="ios17"))
        with anelane.Lane(engine="soft", lock_dir=self.folder("flags"), apple_route="client", mil_dialect="ios16"):
            pass


if __name__ == "__main__":
    unittest.main()
