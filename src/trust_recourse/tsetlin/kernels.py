"""The loops of learning, compiled.

Notation, as in the paper's Appendix B and throughout this folder:

    C  clauses, j        K  automata of a clause (literals and their negations), k
    N  states per action; the 2N states of an automaton are rows 0 … 2N−1, include from row N on
    π  inclusion mass of an automaton: what its state vector holds in rows N … 2N−1
    s  specificity, T  vote target, v  vote

Learning is arranged around one fact: a state vector decides nothing but its π, and π changes only
by what crosses from row N−1 to row N or back. So a step touches a **window** of 2·BLOCK rows around
the middle, which stays exact for BLOCK steps, and writes the step into a short **history** (two
bits a step). After at most BLOCK steps `settle` carries the history over to the whole vector, four
steps at a time: away from the two ends four shifts compose into one convolution of five taps, and
at an end into one 8 × 4 matrix, both tabulated for each of the 256 histories of four.

Indices are unsigned and arrays stay flat, so that numba need not look for negative ones and the
loops become vector instructions; nothing checks them, so `training` must lay the arrays out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trust_recourse.cells import compiled, making

BLOCK = 16  # steps between two settlements: the history of one automaton fills 32 bits
LANES = 32  # automata that share a tile of the window
MARGIN = 8  # rows kept zero around a state vector while it is settled
FAINT = np.float32(1e-9)  # mass at the rim of a vector below which it is not carried further
NONE, DOWN, UP, SURE = 0, 1, 2, 3  # the letters of a history

CONTRACT: dict[str, Any] = {"fastmath": {"contract", "nsz"}}
kernel = compiled(**CONTRACT)
inline = compiled(**CONTRACT, forceinline=True)


_reduce = compiled(fastmath={"contract", "nsz", "reassoc"}, forceinline=True)
lanes = compiled(fastmath={"contract", "nsz", "nnan", "reassoc"}, forceinline=True)

_u = np.uint64
_f = np.float32
_LANES, _EIGHT, _U32, _FOUR, _FIVE = _u(LANES), _u(8), _u(32), _u(4), _u(5)
_ONE, _TWO, _THREE, _ZERO = _u(1), _u(2), _u(3), _u(0)
_TWO_BITS, _NO_LETTER = np.uint32(2), np.uint32(NONE)
_LOW_BITS = _u(0x55555555)


# ---------------------------------------------------------------- literals of one row


@kernel
def literal_row(rows: Any, i: int, layout: tuple[Any, Any, Any, Any, int], out: Any) -> None:
    """Truth of every literal at row i of cells: out[:o] the literals, out[o:2o] the negations.

    Feature f owns columns first[f] … first[f] + size[f]. An ordered feature's literal t says
    `cell ≤ t`, a category's says `cell = t`. With gap[f] one more literal says that the value is
    missing; then neither the other literals nor their negations hold.
    """
    first, size, ordered, gap, o = layout
    for f in range(rows.shape[1]):
        a, n, c = first[f], size[f], rows[i, f]
        missing = gap[f] and c == (n + 1 if ordered[f] else n)
        for t in range(n):
            yes = c <= t if ordered[f] else c == t
            out[a + t] = yes and not missing
            out[o + a + t] = not yes and not missing
        if gap[f]:
            out[a + n] = missing
            out[o + a + n] = not missing


# ---------------------------------------------------------------- one step on the window


@_reduce
def _none_of(pi: Any, a: Any, false: Any, b: Any, n: Any) -> Any:
    """Π (1 − π) over the false literals of one tile."""
    t = _f(1)
    for i in range(n):
        t *= _f(1) - pi[a + i] * false[b + i]
    return t


@inline
def _fires(pi: Any, a: Any, false: Any, K: Any, u: Any) -> bool:
    """Draw a clause's output: 1 with probability Π (1 − π) over the false literals.

    The product only falls, so the draw `u` is decided as soon as the product is below it.
    """
    p = _f(1)
    g = _ZERO
    while g < K:
        p *= _none_of(pi, a + g, false, g, _LANES)
        if p <= u:
            return False
        g += _LANES
    return True


@inline
def _feedback(v: int, y: int, T: float) -> float:
    """The probability that a clause gets feedback: (T ∓ v)/2T with v clipped to [−T, T]."""
    clipped = min(max(float(v), -T), T)
    return (T - clipped) / (2.0 * T) if y == 1 else (T + clipped) / (2.0 * T)


@inline
def _sink(window: Any, a: Any, n: Any, q: Any) -> None:
    """Every lane one row down with probability q; n values from index a."""
    for i in range(n):
        window[a + i] += q * (window[a + i + _LANES] - window[a + i])


@inline
def _fall(window: Any, a: Any, q: Any, b: Any, n: Any) -> None:
    """Row a after a step down with probability q of each lane."""
    for i in range(n):
        window[a + i] += q[b + i] * (window[a + i + _LANES] - window[a + i])


@inline
def _rise(window: Any, a: Any, q: Any, b: Any, n: Any) -> None:
    """Row a after a step up with probability q of each lane."""
    below = a - _LANES
    for i in range(n):
        window[a + i] += q[b + i] * (window[below + i] - window[a + i])


@inline
def _cross(pi: Any, a: Any, q: Any, b: Any, window: Any, m: Any, sign: Any, n: Any) -> None:
    """What crosses the middle: π changes by ± q · mass of window row m."""
    for i in range(n):
        pi[a + i] += sign * q[b + i] * window[m + i]


@inline
def _lose(pi: Any, a: Any, q: Any, window: Any, m: Any, n: Any) -> None:
    """The same with one q for all lanes, downwards."""
    for i in range(n):
        pi[a + i] -= q * window[m + i]


@inline
def _note(history: Any, a: Any, letters: Any, b: Any, K: Any) -> None:
    """Append one letter to each automaton's history; NONE appends nothing."""
    for i in range(K):
        h, letter = history[a + i], letters[b + i]
        history[a + i] = (h << _TWO_BITS) | letter if letter != _NO_LETTER else h


@kernel
def advance(
    i: int,
    rows: Any,  # (n, F) cells of the samples, in the order of learning
    y: Any,  # (n,) 0 or 1
    layout: tuple[Any, Any, Any, Any, int],  # first, size, ordered, gap, o: see literal_row
    draws: Any,  # (n, 2, C) uniforms: output, feedback
    T: float,
    qs: tuple[Any, Any],  # (s−1)/s and 1/s
    block: int,  # steps until a clause must be settled: BLOCK, or N if that is less
    pi: Any,  # (C·K,) K padded to whole tiles
    window: Any,  # (C · K/LANES · 2·BLOCK · LANES,)
    live: Any,  # (C, K/LANES) whether a tile's window holds any mass
    history: Any,  # (C·K,)
    steps: Any,  # (C,) steps since a clause was settled
    scratch: tuple[Any, Any, Any, Any, Any, Any],  # truth, false, up, down, letters, fired
    right: Any,  # (1,) how often the drawn vote had the right sign
) -> int:
    """Learn from sample i on until some clause's history is full; return the next sample."""
    truth, false, up, down, letters, fired = scratch
    q_up, q_down = qs
    C, tiles = live.shape
    width = tiles * LANES
    K = _u(width)
    while i < rows.shape[0]:
        literal_row(rows, i, layout, truth)
        for k in range(width):
            false[k] = _f(1) - truth[k]
            up[k] = q_up * truth[k]
            down[k] = q_down - q_down * truth[k]
            letters[k] = DOWN
            letters[width + k] = UP if truth[k] else DOWN
            letters[2 * width + k] = NONE if truth[k] else SURE
        v = 0
        for j in range(C):
            fired[j] = _fires(pi, _u(j) * K, false, K, draws[i, 0, j])
            if fired[j]:
                v += 1 - 2 * (j & 1)
        right[0] += (v >= 0) == (y[i] == 1)
        give = _feedback(v, y[i], T)
        full = False
        for j in range(C):
            own = ((j & 1) == 0) == (y[i] == 1)  # Type I to the sample's polarity, II to the other
            if draws[i, 1, j] >= give or not (own or fired[j]):
                continue
            kind = 0 if not fired[j] else 1 if own else 2
            low = BLOCK - block + steps[j]  # the window is exact from row low to row high
            high = 2 * BLOCK - 1 - low
            steps[j] += 1
            full |= steps[j] == block
            a = _u(j) * K
            _note(history, a, letters, _u(kind) * K, K)
            for g in range(tiles):
                if not live[j, g]:
                    continue
                base = (j * tiles + g) * 2 * BLOCK * LANES
                b = _u(g * LANES)
                upper = _u(base + BLOCK * LANES)
                lower = upper - _LANES
                if kind == 0:
                    _lose(pi, a + b, q_down, window, upper, _LANES)
                    _sink(window, _u(base + low * LANES), _u((high - low) * LANES), q_down)
                elif kind == 1:
                    _cross(pi, a + b, up, b, window, lower, _f(1), _LANES)
                    _cross(pi, a + b, down, b, window, upper, _f(-1), _LANES)
                    for w in range(high, low, -1):
                        _rise(window, _u(base + w * LANES), up, b, _LANES)
                    for w in range(low, high):
                        _fall(window, _u(base + w * LANES), down, b, _LANES)
                else:
                    _cross(pi, a + b, false, b, window, lower, _f(1), _LANES)
                    for w in range(high, low, -1):
                        _rise(window, _u(base + w * LANES), false, b, _LANES)
        i += 1
        if full:
            break
    return i


# ---------------------------------------------------------------- settling whole vectors


def step_tables(s: float) -> tuple[Any, Any, Any, Any]:
    """Taps, their offset, and the two ends' matrices, for each history of four letters.

    Read off the products of four transition matrices of a vector long enough that its middle row
    feels neither end.
    """
    rows, middle = 33, 16
    stay = np.eye(rows)
    up, down = np.eye(rows, k=1), np.eye(rows, k=-1)
    up[-1, -1] = down[0, 0] = 1.0
    one = np.stack([stay, stay + (down - stay) / s, stay + (up - stay) * ((s - 1) / s), up])
    two = (one[:, None] @ one[None]).reshape(16, rows, rows)
    four = (two[:, None] @ two[None]).reshape(256, rows, rows)

    codes = np.arange(256)
    downs = sum(((codes >> shift) & 3 == DOWN).astype(int) for shift in (6, 4, 2, 0))
    reach = middle - downs[:, None] + np.arange(5)
    taps = np.take_along_axis(four[:, middle], reach, axis=1).astype(np.float32)
    bottom = four[:, :8, :4].astype(np.float32)
    top = four[:, -8:, -4:].astype(np.float32)
    return taps.ravel(), downs.astype(np.uint64), bottom.ravel(), top.ravel()


@inline
def _convolve(x: Any, s: Any, y: Any, d: Any, n: Any, taps: Any, t: Any) -> None:
    """y[d + i] = Σ_t taps[t] · x[s + 4 − t + i]."""
    k0, k1, k2, k3, k4 = taps[t], taps[t + _ONE], taps[t + _TWO], taps[t + _THREE], taps[t + _FOUR]
    for i in range(n):
        p = s + i
        y[d + i] = (
            k0 * x[p + _FOUR] + k1 * x[p + _THREE] + k2 * x[p + _TWO] + k3 * x[p + _ONE] + k4 * x[p]
        )


@inline
def _end(x: Any, s: Any, y: Any, d: Any, matrix: Any, m: Any) -> None:
    """The four rows at an end, from the eight rows there before."""
    y0, y1, y2, y3 = _f(0), _f(0), _f(0), _f(0)
    for r in range(_EIGHT):
        v = x[s + r]
        y0 += v * matrix[m]
        y1 += v * matrix[m + _ONE]
        y2 += v * matrix[m + _TWO]
        y3 += v * matrix[m + _THREE]
        m += _FOUR
    y[d], y[d + _ONE], y[d + _TWO], y[d + _THREE] = y0, y1, y2, y3


@inline
def _four(
    x: Any, y: Any, a: Any, n: Any, low: bool, high: bool, S: Any, c: Any, tables: Any
) -> None:
    """Four steps of history c on n rows from index a, x to y."""
    taps, offset, bottom, top = tables
    _convolve(x, a + offset[c] - _FOUR, y, a, n, taps, c * _FIVE)
    if low:
        _end(x, _u(MARGIN), y, _u(MARGIN), bottom, c * _U32)
    if high:
        _end(x, _u(MARGIN - 8) + S, y, _u(MARGIN - 4) + S, top, c * _U32)


@inline
def _copy(y: Any, d: Any, x: Any, s: Any, n: Any) -> None:
    for i in range(n):
        y[d + i] = x[s + i]


@inline
def _clear(x: Any, a: Any, n: Any) -> None:
    for i in range(n):
        x[a + i] = _f(0)


@inline
def _scatter(window: Any, d: Any, x: Any, s: Any, n: Any) -> None:
    for i in range(n):
        window[d + i * _LANES] = x[s + i]


@_reduce
def _sum(x: Any, a: Any, n: Any) -> Any:
    t = _f(0)
    for i in range(n):
        t += x[a + i]
    return t


@inline
def _restore(y: Any, d: Any, x: Any, s: Any, n: Any) -> None:
    """Copy with a mass of exactly 1: rounding, step after step, would let it drift."""
    scale = _f(1) / _sum(x, s, n)
    for i in range(n):
        y[d + i] = scale * x[s + i]


@inline
def _replay(
    x: Any, y: Any, h: Any, a: Any, n: Any, low: bool, high: bool, S: Any, tables: Any
) -> bool:
    """All steps of history h, to and fro between x and y; whether the result lies in y."""
    shift = _u(24)
    while (h >> shift) == _ZERO:
        shift -= _EIGHT
    odd = False
    while True:
        c = (h >> shift) & _u(255)
        if odd:
            _four(y, x, a, n, low, high, S, c, tables)
        else:
            _four(x, y, a, n, low, high, S, c, tables)
        odd = not odd
        if shift == _ZERO:
            return odd
        shift -= _EIGHT


@inline
def _count(bits: Any) -> Any:
    """How many of the even bits are set: sums of neighbours, twice as wide each time."""
    bits = (bits & _u(0x33333333)) + ((bits >> _TWO) & _u(0x33333333))
    bits = (bits + (bits >> _FOUR)) & _u(0x0F0F0F0F)
    return np.int64(((bits * _u(0x01010101)) >> _u(24)) & _u(0xFF))


@inline
def _trim(states: Any, base: int, low: int, high: int) -> tuple[int, int]:
    """The rows that hold mass; what is FAINT at the rim stays behind in the first row kept."""
    a, b = low, high
    while a < high and states[_u(base + a)] < FAINT:
        a += 1
    while b > a and states[_u(base + b)] < FAINT:
        b -= 1
    for w in range(low, a):
        states[_u(base + a)] += states[_u(base + w)]
        states[_u(base + w)] = _f(0)
    for w in range(b + 1, high + 1):
        states[_u(base + b)] += states[_u(base + w)]
        states[_u(base + w)] = _f(0)
    return a, b


@kernel
def settle(
    clauses: tuple[int, int],
    due: int,
    N: int,
    automata: int,
    tables: tuple[Any, Any, Any, Any],
    states: Any,  # (C · automata · 2N,)
    band: Any,  # (C, automata, 2) first and last row that hold mass
    pi: Any,
    window: Any,
    live: Any,
    history: Any,
    steps: Any,
    x: Any,  # scratch, 2N + 2·MARGIN
    y: Any,
) -> None:
    """Carry the history of every clause with at least `due` steps over to its state vectors."""
    S = 2 * N
    half = min(BLOCK, N)
    tiles = live.shape[1]
    K = tiles * LANES
    for j in range(clauses[0], clauses[1]):
        if steps[j] < due:
            continue
        steps[j] = 0
        for g in range(tiles):
            live[j, g] = False
        for k in range(automata):
            at = _u(j * K + k)
            h = _u(history[at])
            history[at] = np.uint32(0)
            base = (j * automata + k) * S
            low, high = np.int64(band[j, k, 0]), np.int64(band[j, k, 1])
            if h > _ZERO:
                ups = (h >> _ONE) & _LOW_BITS  # a letter's high bit says up, its low bit alone down
                r0 = max(low - _count(h & ~ups & _LOW_BITS), 0) & ~7
                r1 = min((high + _count(ups) + 8) & ~7, S)
                a, n = _u(MARGIN + r0), _u(r1 - r0)
                for end in (_u(r0), _u(MARGIN + r1)):
                    _clear(x, end, _EIGHT)
                    _clear(y, end, _EIGHT)
                _copy(x, a, states, _u(base + r0), n)
                if _replay(x, y, h, a, n, r0 == 0, r1 == S, _u(S), tables):
                    _restore(states, _u(base + r0), y, a, n)
                else:
                    _restore(states, _u(base + r0), x, a, n)
                low, high = _trim(states, base, r0, r1 - 1)
                band[j, k, 0] = low
                band[j, k, 1] = high
                m = max(N, low)
                pi[at] = _sum(states, _u(base + m), _u(high + 1 - m)) if high >= m else _f(0)
            if high >= N - half and low < N + half:
                live[j, k // LANES] = True
        for k in range(automata):  # a window is read only where its tile is live
            g = k // LANES
            if live[j, g]:
                at = _u((j * tiles + g) * 2 * BLOCK * LANES + (BLOCK - half) * LANES + k % LANES)
                _scatter(window, at, states, _u((j * automata + k) * S + N - half), _u(2 * half))


# ---------------------------------------------------------------- the plain machines


@kernel
def shift(states: Any, base: int, way: int, q: Any, low: int, high: int) -> None:
    """Rows low … high of one vector one row up or down with probability q, in place.

    Mass that would leave 0 … 2N−1 stays; the caller says which rows move and never passes the
    end row itself as one that does.
    """
    if way > 0:
        for w in range(high, low - 1, -1):
            m = q * states[base + w]
            states[base + w] -= m
            states[base + w + 1] += m
    else:
        for w in range(low, high + 1):
            m = q * states[base + w]
            states[base + w] -= m
            states[base + w - 1] += m


@kernel
def learn_plain(
    rows: Any,
    y: Any,
    layout: tuple[Any, Any, Any, Any, int],
    allowed: Any,  # (2, automata) the literals of clauses that vote for class 1, then against
    draws: Any,
    T: float,
    qs: tuple[Any, Any],
    keep: bool,
    N: int,
    automata: int,
    states: Any,  # (C · automata · 2N,)
    pi: Any,  # (C · automata,)
    truth: Any,
    fired: Any,
    right: Any,
) -> None:
    """Learn step by step on whole vectors: the rules of DESIGN, with nothing to make it fast.

    With `keep`, mass in the include half stays where it is when a clause fires on a false literal.
    """
    q_up, q_down = qs
    S = 2 * N
    C = fired.shape[0]
    for i in range(rows.shape[0]):
        literal_row(rows, i, layout, truth)
        v = 0
        for j in range(C):
            p = _f(1)
            for k in range(automata):
                if truth[k] == 0:
                    p *= _f(1) - pi[j * automata + k]
            fired[j] = draws[i, 0, j] < p
            if fired[j]:
                v += 1 - 2 * (j & 1)
        right[0] += (v >= 0) == (y[i] == 1)
        give = _feedback(v, y[i], T)
        for j in range(C):
            own = ((j & 1) == 0) == (y[i] == 1)
            if draws[i, 1, j] >= give or not (own or fired[j]):
                continue
            for k in range(automata):
                if not allowed[j & 1, k]:
                    continue
                at = j * automata + k
                base = at * S
                still = keep and fired[j] and truth[k] == 0  # the tables' NA cells
                if own and fired[j] and truth[k] == 1:
                    pi[at] += q_up * states[base + N - 1]
                    shift(states, base, 1, q_up, 0, S - 2)
                elif own:
                    if not still:
                        pi[at] -= q_down * states[base + N]
                    shift(states, base, -1, q_down, 1, N - 1 if still else S - 1)
                elif truth[k] == 0:
                    pi[at] += states[base + N - 1]
                    shift(states, base, 1, _f(1), 0, N - 1 if still else S - 2)


@making
def learn_integer(
    rows: Any,
    y: Any,
    layout: tuple[Any, Any, Any, Any, int],
    allowed: Any,  # (2, automata), as above
    rng: Any,
    T: float,
    s: float,
    N: int,
    states: Any,  # (C, automata), rows 0 … 2N−1
    truth: Any,
    fired: Any,
    right: Any,
) -> None:
    """Learn the ordinary Tsetlin Machine (Granmo 2018): one state per automaton, in place."""
    C, automata = states.shape
    for i in range(rows.shape[0]):
        literal_row(rows, i, layout, truth)
        v = 0
        for j in range(C):
            fired[j] = True
            for k in range(automata):
                if truth[k] == 0 and states[j, k] >= N:
                    fired[j] = False
                    break
            if fired[j]:
                v += 1 - 2 * (j & 1)
        right[0] += (v >= 0) == (y[i] == 1)
        give = _feedback(v, y[i], T)
        for j in range(C):
            own = ((j & 1) == 0) == (y[i] == 1)
            if rng.random() >= give or not (own or fired[j]):
                continue
            for k in range(automata):
                if not allowed[j & 1, k]:
                    continue
                if own and fired[j] and truth[k] == 1:
                    if rng.random() * s < s - 1:
                        states[j, k] = min(states[j, k] + 1, 2 * N - 1)
                elif own:
                    if rng.random() * s < 1:
                        states[j, k] = max(states[j, k] - 1, 0)
                elif truth[k] == 0:
                    states[j, k] = min(states[j, k] + 1, 2 * N - 1)
