"""jieba's hidden Markov model in linear time; jieba's own copies the whole path at each character."""

from typing import Any

from simhash_hbase.words.dictionary import jieba_model


class WordModel:
    """Cuts a run of Han characters that are no words of the dictionary.

    A character begins a word, is within it, ends it, or is a word (B, M, E, S). Sums are added in jieba's order, and of
    two equal ones the later letter wins as in jieba, so that the results are the same to the last bit.
    """

    def __init__(self) -> None:
        self._model: Any = jieba_model()
        emit = self._model.emit_P
        self._emit = tuple(emit[state] for state in "BMES")

    def cut(self, run: str) -> list[str]:
        """Cut a run into words."""
        words: list[str] = []
        begin = 0
        states = self._states(run)
        for at, ends in enumerate(states, 1):
            if ends:
                words.append(run[begin:at])
                begin = at
        return words

    def _states(self, run: str) -> list[bool]:
        """Return for each character whether a word ends with it on the likeliest path."""
        least, step = self._model.MIN_FLOAT, self._model.trans_P
        eb, sb, bm, mm = step["E"]["B"], step["S"]["B"], step["B"]["M"], step["M"]["M"]
        be, me, es, ss = step["B"]["E"], step["M"]["E"], step["E"]["S"], step["S"]["S"]
        emit_b, emit_m, emit_e, emit_s = (table.get for table in self._emit)
        b, m, e, s = (self._model.start_P[state] + self._emit[n].get(run[0], least) for n, state in enumerate("BMES"))
        # For each character after the first: whether B and S came from S and not from E, M and E from M and not from B.
        steps = []
        for character in run[1:]:
            p, q = emit_b(character, least), emit_m(character, least)
            b_e, b_s, m_b, m_m = e + eb + p, s + sb + p, b + bm + q, m + mm + q
            p, q = emit_e(character, least), emit_s(character, least)
            e_b, e_m, s_e, s_s = b + be + p, m + me + p, e + es + q, s + ss + q
            steps.append((b_s >= b_e, m_m >= m_b, e_m >= e_b, s_s >= s_e))
            b, m, e, s = max(b_e, b_s), max(m_b, m_m), max(e_b, e_m), max(s_e, s_s)
        state = "S" if s >= e else "E"
        ends = [True]
        for from_s, from_m, e_from_m, s_from_s in reversed(steps):
            if state in "BS":
                state = "S" if (from_s if state == "B" else s_from_s) else "E"
            else:
                state = "M" if (from_m if state == "M" else e_from_m) else "B"
            ends.append(state in "ES")
        return ends[::-1]
