"""jieba's hidden Markov model in linear time; jieba's own copies the whole path at each character."""

from functools import cached_property
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

from simhash_hbase.words.installed import jieba_file

LEAST = -3.14e100  # jieba's logarithm of 0.


class WordModel:
    """Cuts a run of Han characters that are no words of the dictionary.

    A character begins a word, is within it, ends it, or is a word (B, M, E, S). Sums are added in jieba's order, and of
    two equal ones the later letter wins as in jieba, so that the results are the same to the last bit.
    """

    @cached_property
    def _tables(self) -> tuple[list[float], Any, list[Any]]:
        # They are read for the first run: most texts need none of them.
        start, step, emit = map(_table, ("start", "trans", "emit"))
        return [start[state] for state in "BMES"], step, [emit[state] for state in "BMES"]

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
        start, step, emit = self._tables
        eb, sb, bm, mm = step["E"]["B"], step["S"]["B"], step["B"]["M"], step["M"]["M"]
        be, me, es, ss = step["B"]["E"], step["M"]["E"], step["E"]["S"], step["S"]["S"]
        emit_b, emit_m, emit_e, emit_s = (table.get for table in emit)
        b, m, e, s = (chance + table.get(run[0], LEAST) for chance, table in zip(start, emit, strict=True))
        # For each character after the first: whether B and S came from S and not from E, M and E from M and not from B.
        steps = []
        for character in run[1:]:
            p, q = emit_b(character, LEAST), emit_m(character, LEAST)
            b_e, b_s, m_b, m_m = e + eb + p, s + sb + p, b + bm + q, m + mm + q
            p, q = emit_e(character, LEAST), emit_s(character, LEAST)
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


def _table(name: str) -> Any:  # noqa: ANN401 - jieba has no types
    """Load one of jieba's tables without jieba, whose import takes longer."""
    file = jieba_file("finalseg", f"prob_{name}.py")
    spec = spec_from_file_location(f"jieba.finalseg.{file.stem}", file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} cannot be loaded")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.P
