"""CityHash64 of version 1.0 (Pike and Alakuijala, 2011): the numbers that CatBoost knows texts by.

Words are of 64 bits, the lowest byte first; sums and products are kept to their lowest 64 bits.
"""

from __future__ import annotations

from struct import unpack

_K0, _K1, _K2, _K3 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F, 0xC949D7C7509E6557
_TIMES = 0x9DDFEA08EB382D69
_LOWEST = (1 << 64) - 1

Two = tuple[int, int]


def city_hash(data: bytes) -> int:
    """The hash of some bytes, of 64 bits.

    >>> hex(city_hash(b""))
    '0x9ae16a3b2f90404f'
    """
    if len(data) > 64:
        return _beyond_64(data)
    if len(data) > 32:
        return _33_to_64(data)
    return _17_to_32(data) if len(data) > 16 else _up_to_16(data)


def _up_to_16(data: bytes) -> int:
    n = len(data)
    if n > 8:
        first, last = _whole(data[:8]), _whole(data[-8:])
        return _joined(first, _turned(last + n, n)) ^ last
    if n >= 4:
        first, last = _whole(data[:4]), _whole(data[-4:])
        return _joined(n + (first << 3), last)
    if n:
        y, z = data[0] + (data[n // 2] << 8), n + (data[-1] << 2)
        return _mixed(y * _K2 ^ z * _K3) * _K2 & _LOWEST
    return _K2


def _17_to_32(data: bytes) -> int:
    (a, b), (d, c) = unpack("<2Q", data[:16]), unpack("<2Q", data[-16:])
    a, c, d = a * _K1, c * _K2, d * _K0
    return _joined(
        _turned(a - b, 43) + _turned(c, 30) + d, a + _turned(b ^ _K3, 20) - c + len(data)
    )


def _33_to_64(data: bytes) -> int:
    first, last = unpack("<4Q", data[:32]), unpack("<4Q", data[-32:])
    v = _summed(first[0] + (len(data) + last[2]) * _K0, *first[1:])
    w = _summed(first[2] + last[0], *last[1:])
    r = _mixed((v[0] + w[1]) * _K2 + (w[0] + v[1]) * _K0)
    return _mixed(r * _K0 + v[1]) * _K2 & _LOWEST


def _summed(a: int, x: int, y: int, z: int) -> Two:
    b = _turned(a + z, 52) + _turned(a, 37) + _turned(a + x, 7)
    return a + x + y + z, b + _turned(a + x + y, 31)


def _beyond_64(data: bytes) -> int:
    n, end = len(data), unpack("<8Q", data[-64:])
    y = end[6] ^ _K1
    v, w = _seeded(end[:4], n, y), _seeded(end[4:], n * _K1, _K0)
    z = (end[1] ^ _K0) + _mixed(v[1]) * _K1
    x = _turned(z + _whole(data[:8]), 39) * _K1
    y = _turned(y, 33) * _K1
    for at in range(0, (n - 1) // 64 * 64, 64):
        each = unpack("<8Q", data[at : at + 64])
        x = _turned(x + y + v[0] + each[2], 37) * _K1 ^ w[1]
        y = _turned(y + v[1] + each[6], 42) * _K1 ^ v[0]
        z = _turned(z ^ w[0], 33)
        v, w = _seeded(each[:4], v[1] * _K1, x + w[0]), _seeded(each[4:], z + w[1], y)
        x, z = z, x
    return _joined(_joined(v[0], w[0]) + _mixed(y) * _K1 + z, _joined(v[1], w[1]) + x)


def _seeded(words: tuple[int, ...], a: int, b: int) -> Two:
    """Two numbers of four words and two seeds."""
    a += words[0]
    b = _turned(b + a + words[3], 21)
    c = a + words[1] + words[2]
    return (c + words[3]) & _LOWEST, (b + _turned(c, 44) + a) & _LOWEST


def _whole(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _joined(u: int, v: int) -> int:
    a = _mixed((u ^ v) * _TIMES)
    return _mixed((v ^ a) * _TIMES) * _TIMES & _LOWEST


def _mixed(word: int) -> int:
    word &= _LOWEST
    return word ^ word >> 47


def _turned(word: int, by: int) -> int:
    """A word turned to the right."""
    word &= _LOWEST
    return (word >> by | word << 64 - by) & _LOWEST
