"""Many operations cancelled at once."""
import unittest

from support import BOUND_S, LaneCase
from test_async import stopped

import anelane


class CancelAll(LaneCase):
    def test_what_waits_is_cancelled_and_what_has_ended_is_passed_over(self):
        ended = self.model.start_embed_rows(["hello"])
        expected = ended.result(BOUND_S)
        stopped(self)  # the worker: nothing ends by itself
        many = [self.model.start_embed_rows(["hello"]) for _ in range(20)]
        kept = self.model.start_embed_rows(["hello"])
        anelane.cancel_all([])
        anelane.cancel_all(op for op in [ended, *many])
        for op in many:
            with self.assertRaises(anelane.CancelledError):
                op.result(BOUND_S)
        self.assertIs(ended.result(), expected)
        with self.assertRaises(anelane.PendingError):
            kept.result(0)
        anelane.cancel_all([kept])
        with self.assertRaises(anelane.CancelledError):
            kept.result(BOUND_S)
        for op in [ended, kept, *many]:
            op.release()
        anelane.cancel_all(many)


if __name__ == "__main__":
    unittest.main()
