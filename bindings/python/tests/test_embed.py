"""Vectors: the golden ones, NumPy in and out, what is refused and how it is said."""
import json
import os
import pickle
import unittest
from array import array

from support import BOUND_S, MINILM, SOURCE, LaneCase, TempCase, numpy, run_python

import anelane
from anelane import _abi, _encoder, _vectors


class Golden(TempCase):
    """tests/bindings/golden_test.py compares 60 texts with C bit for bit; this, all of an independent implementation's."""

    def test_texts_and_ids_give_the_golden_vectors_and_each_other_bit_for_bit(self):
        with open(os.path.join(SOURCE, "tests/data/minilm_golden.jsonl"), encoding="utf-8") as f:
            golden = [json.loads(line) for line in f]
        golden = [one for one in golden if len(one["ids"]) < 140 or len(one["ids"]) == 512]  # the others take their time
        self.assertGreater(len(golden), 60)
        with anelane.Lane(engine="soft", lock_dir=self.folder("lane")) as lane, lane.load(MINILM) as model, \
                anelane.Tokenizer(MINILM) as tokenizer:
            self.assertEqual([list(tokenizer.encode(one["text"])) for one in golden], [one["ids"] for one in golden])
            rows = model.embed_ids_rows([one["ids"] for one in golden], timeout=BOUND_S)
            for one, row in zip(golden, rows):
                right = array("f", bytes.fromhex(one["vector"]))
                self.assertGreater(sum(a * b for a, b in zip(row, right)), 0.9999, one["text"])
            plain = [i for i, one in enumerate(golden) if "\0" not in one["text"]]
            texts = model.embed_rows([golden[i]["text"] for i in plain], timeout=BOUND_S)
            self.assertEqual([row.tobytes() for row in texts], [rows[i].tobytes() for i in plain])


class Embed(LaneCase):
    texts = ["hello world", "", "the engine of the lane", "hello world"]

    def test_arrays_and_rows_are_the_same_bits(self):
        vectors, rows = self.model.embed(self.texts), self.model.embed_rows(self.texts)
        self.assertEqual((vectors.shape, vectors.dtype), ((4, 64), numpy.float32))
        self.assertEqual([row.tobytes() for row in vectors], [row.tobytes() for row in rows])
        self.assertEqual(rows[0], rows[3])
        self.assertNotEqual(rows[0], rows[1])

    def test_vectors_are_written_into_the_array_given(self):
        right = self.model.embed(self.texts)
        out = numpy.zeros((6, 64), numpy.float32)
        given = out[1:5]
        self.assertIs(self.model.embed(self.texts, out=given), given)
        self.assertTrue((given == right).all() and not out[0].any() and not out[5].any())
        wide = numpy.zeros((4, 80), numpy.float32)
        self.model.embed(self.texts, out=wide[:, 8:72])
        self.assertTrue((wide[:, 8:72] == right).all() and not wide[:, :8].any() and not wide[:, 72:].any())
        frozen = numpy.zeros((4, 64), numpy.float32)
        frozen.flags.writeable = False
        for wrong in (numpy.zeros((3, 64), numpy.float32), numpy.zeros((4, 64)), frozen, [[0.0] * 64] * 4):
            with self.assertRaisesRegex(anelane.InvalidArgumentError, "out is not"):
                self.model.embed(self.texts, out=wrong)

    def test_ids_in_every_form(self):
        ids = [2, 40, 41, 42, 3]
        strided = numpy.array([2, 0, 40, 0, 41, 0, 42, 0, 3, 0], numpy.int32)[::2]
        forms = [ids, tuple(ids), array("i", ids), array("q", ids), numpy.array(ids, numpy.int32), numpy.array(ids),
                 numpy.array(ids, numpy.uint8), strided]
        vectors = self.model.embed_ids(forms)
        self.assertTrue((vectors == vectors[0]).all())
        self.assertTrue((self.model.embed_ids(numpy.array([ids, ids], numpy.int32)) == vectors[:2]).all())

    def test_int32_arrays_are_not_copied(self):
        ids, more, frozen = numpy.array([2, 40, 3], numpy.int32), array("i", [2, 41, 3]), numpy.array([4, 3], numpy.int32)
        frozen.flags.writeable = False
        words, count, _size, kept = _vectors.c_tokens([ids, more, frozen])
        self.assertEqual(count, 3)
        table = (_abi.anelane_tokens * 3).from_buffer_copy(words)
        self.assertEqual([(one.ids.contents.value, one.count) for one in table], [(2, 3), (2, 3), (4, 2)])
        ids[0], more[0] = 7, 8  # seen there: it is the same memory
        frozen.flags.writeable = True
        frozen[0] = 9
        self.assertEqual([one.ids.contents.value for one in table], [7, 8, 9])
        with self.assertRaises(BufferError):  # it cannot move as long as C may read it
            more.append(1)
        del kept
        more.append(1)

    def test_what_is_refused_says_which_item(self):
        long = [2] + [40] * 300 + [3]
        for items, kind, item, limit in (
                ([[2, 3], long], anelane.SequenceTooLongError, 1, 256), ([[2, 3], []], anelane.InvalidSequenceError, 1, None),
                ([[2, 9999, 3]], anelane.InvalidSequenceError, 0, None), ([[2, 2**40]], anelane.InvalidSequenceError, 0, None),
                ([[2], ["x"]], anelane.InvalidArgumentError, 1, None), ([[2], 5], anelane.InvalidArgumentError, 1, None)):
            with self.assertRaises(kind) as caught:
                self.model.embed_ids_rows(items)
            self.assertEqual(caught.exception.item, item)
            if limit is not None:
                self.assertEqual(caught.exception.limit, limit)
            self.assertFalse(caught.exception.transient)
        for texts, item in ((["a", "b\0c"], 1), (["a", "\ud800"], 1), (["a", 5], 1), ([b"a"], 0)):
            with self.assertRaises(anelane.InvalidArgumentError) as caught:
                self.model.embed_rows(texts)
            self.assertEqual(caught.exception.item, item)
        with self.assertRaisesRegex(ValueError, "one text"):
            self.model.embed_rows("hello")

    def test_an_error_has_all_fields(self):
        with self.assertRaises(anelane.SequenceTooLongError) as caught:
            self.model.embed_rows(["hello", "a " * 400])
        e = caught.exception
        self.assertEqual((e.code, e.name, e.transient, e.safe_to_retry, e.retry_after, e.retry_after_ms),
                         (9, "SEQUENCE_TOO_LONG", False, False, None, None))
        self.assertEqual((e.item, e.limit, e.model, e.shape, e.holder_pid), (1, 256, "tiny", None, None))
        self.assertIn("SEQUENCE_TOO_LONG: item 1 has 402 tokens", str(e))
        with self.assertRaises(anelane.DeadlineExceededError if self.model.predict(256) == 0 else anelane.ShapeCompilingError) as caught:
            self.model.lease(256, timeout=0)
        e = caught.exception
        self.assertTrue(e.transient and e.safe_to_retry)
        self.assertEqual((e.retry_after, e.shape), (e.retry_after_ms / 1000, 256))
        self.assertGreater(e.retry_after, 0)
        self.assertIsNotNone(e.lane_id)
        again = pickle.loads(pickle.dumps(e))
        self.assertEqual((type(again), again.__dict__), (type(e), e.__dict__))

    def test_no_texts_are_refused_as_in_c(self):
        for call, one in ((self.model.embed_rows, "text"), (self.model.embed_ids_rows, "token sequence")):
            with self.assertRaisesRegex(anelane.InvalidArgumentError, rf"count is 0; give at least one {one} \["):
                call([])

    def test_without_numpy(self):
        code, out, err = run_python(
            "import sys; sys.modules['numpy'] = None\n"
            "import anelane\n"
            "with anelane.Lane(engine='soft', lock_dir=sys.argv[1]) as lane, lane.load(sys.argv[2]) as model:\n"
            "    print(len(model.embed_rows(['hello'])[0]), len(model.embed_ids_rows([[2, 3]])))\n"
            "    with model.lease(128) as lease:\n"
            "        x, mask = (bytes(p.nbytes) for p in lease.ports[:2])\n"
            "        print(type(lease.run({0: x, 1: mask})['z00_y']))\n"
            "        mapped = lease.map(0); mapped.memory[:2] = b'ab'; print(bytes(mapped.memory[:2]))\n"
            "    try: mapped.memory\n"
            "    except anelane.LeaseExpiredError: print('expired')\n"
            "    try: model.embed(['hello'])\n"
            "    except anelane.UnsupportedError as e: print(e)\n", self.folder("other"), self.tiny)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.splitlines(), ["64 1", "<class 'bytes'>", "b'ab'", "expired",
                                            "UNSUPPORTED: embed() (embed_rows() does without) needs NumPy, which is not installed"])


class Encoder(LaneCase):
    def test_encode_in_batches(self):
        texts = [f"hello {i}" for i in range(11)]
        with anelane.SentenceEncoder(self.tiny, lane=self.lane) as encoder:
            many = encoder.encode(texts, batch_size=4)
            self.assertTrue((many == encoder.encode(texts)).all())
            self.assertTrue((many[3] == encoder.encode("hello 3")).all())
            self.assertEqual((many.shape, encoder.encode("hello").shape, encoder.encode([]).shape), ((11, 64), (64,), (0, 64)))
            self.assertTrue(numpy.allclose(numpy.linalg.norm(many, axis=1), 1, atol=1e-5))
            self.assertTrue((many == self.model.embed(texts)).all())  # of length one already: bits are kept
            self.assertAlmostEqual(float(anelane.similarity(many[0], many[0])[0, 0]), 1, places=5)
            encoder._gives_unit_length = False
            wanted = encoder.encode(texts, batch_size=4)
            self.assertTrue(encoder._gives_unit_length and (wanted == many).all())
            with self.assertRaises(anelane.SequenceTooLongError) as caught:
                encoder.encode(["a"] * 6 + ["a " * 400], batch_size=4)
            self.assertEqual(caught.exception.item, 6)
        self.assertFalse(self.lane.closed)

    def test_vectors_of_any_length_are_made_unit_vectors(self):
        rows = numpy.random.default_rng(1).standard_normal((4, 64)).astype(numpy.float32)
        rows[1] /= numpy.linalg.norm(rows[1])
        rows[2] = 0
        unit = rows.copy()
        self.assertFalse(_encoder._normalize(numpy, unit))
        self.assertTrue(numpy.allclose(numpy.linalg.norm(unit, axis=1), [1, 1, 0, 1], atol=1e-6))
        self.assertTrue((unit[1] == rows[1]).all() and (unit[0] * rows[0] > 0).all())
        self.assertTrue(_encoder._normalize(numpy, unit[[0, 1, 3]]))

        class Scaled:  # a model that does not normalise
            _dim = 64

            def embed(self, texts, **_):
                return rows[: len(texts)].copy()

        encoder = anelane.SentenceEncoder.__new__(anelane.SentenceEncoder)
        encoder.model = Scaled()
        for _ in range(2):
            self.assertTrue((encoder.encode(["a"] * 4) == unit).all())
            self.assertTrue((encoder.encode("a", normalize=False) == rows[0]).all())

    def test_an_encoder_closes_what_it_opened_and_prints_only_when_asked(self):
        code, out, err = run_python(
            "import sys, anelane\n"
            "with anelane.SentenceEncoder(sys.argv[1], engine='soft', lock_dir=sys.argv[2]) as e:\n"
            "    e.encode(['a'] * 5, batch_size=2)\n"
            "    e.encode(['a'] * 5, 2, True, True)\n"
            "    e.encode(['a'] * 3, show_progress=True)\n"
            "    lane = e.lane\n"
            "print(lane.closed)", self.tiny, self.folder("own"))
        self.assertEqual((code, out, err), (0, "True\n", "\r2/5 texts\r4/5 texts\r5/5 texts\n\r3/3 texts\n"))


if __name__ == "__main__":
    unittest.main()
