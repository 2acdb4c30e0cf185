"""jieba's cut as one kernel, in Cython's pure Python mode: the same file runs uncompiled."""

from __future__ import annotations

from simhash_hbase.kernel import uncompiled as cython

GOLDEN = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
ALL = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)  # for the uncompiled run, where nothing wraps


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def alnum(c: cython.uint) -> cython.bint:
    return 48 <= c <= 57 or 65 <= c <= 90 or 97 <= c <= 122


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def ishan(c: cython.uint) -> cython.bint:
    return 0x4E00 <= c <= 0x9FD5


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def inblock(c: cython.uint) -> cython.bint:
    return ishan(c) or alnum(c) or c == 43 or c == 35 or c == 38 or c == 46 or c == 95 or c == 37 or c == 45


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def slot(keys: cython.ulonglong[::1], mask: cython.ulonglong, key: cython.ulonglong) -> cython.ulonglong:
    h: cython.ulonglong
    h = (key * GOLDEN) & ALL
    h = (h ^ (h >> 29)) & mask
    while keys[h] != 0 and keys[h] != key:
        h = (h + 1) & mask
    return h


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def hmm(
    p: cython.uint[::1],
    s: cython.Py_ssize_t,
    e: cython.Py_ssize_t,
    sp: cython.double[::1],
    tr: cython.double[:, ::1],
    em: cython.double[:, ::1],
    v: cython.double[:, ::1],
    back: cython.schar[:, ::1],
    path: cython.schar[::1],
    out: cython.int[:, ::1],
    no: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    n: cython.Py_ssize_t = e - s
    t: cython.Py_ssize_t
    c: cython.uint
    y: cython.int
    a: cython.int
    b: cython.int
    m: cython.double
    pa: cython.double
    pb: cython.double
    begin: cython.Py_ssize_t
    nx: cython.Py_ssize_t
    for y in range(4):
        v[0, y] = sp[y] + em[y, p[s] - 0x4E00]
    for t in range(1, n):
        c = p[s + t] - 0x4E00
        for y in range(4):
            if y == 0 or y == 3:
                a = 1
                b = 3
            else:
                a = 0
                b = 2
            m = em[y, c]
            pa = v[t - 1, a] + tr[a, y] + m
            pb = v[t - 1, b] + tr[b, y] + m
            if pb >= pa:
                v[t, y] = pb
                back[t, y] = b
            else:
                v[t, y] = pa
                back[t, y] = a
    y = 3 if v[n - 1, 3] >= v[n - 1, 1] else 1
    for t in range(n - 1, -1, -1):
        path[t] = y
        y = back[t, y] if t > 0 else y
    begin = s
    nx = s
    for t in range(n):
        if path[t] == 0:
            begin = s + t
        elif path[t] == 1:
            out[no, 0] = begin
            out[no, 1] = s + t + 1
            no += 1
            nx = s + t + 1
        elif path[t] == 3:
            out[no, 0] = s + t
            out[no, 1] = s + t + 1
            no += 1
            nx = s + t + 1
    if nx < e:
        out[no, 0] = nx
        out[no, 1] = e
        no += 1
    return no


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def final(
    p: cython.uint[::1],
    s: cython.Py_ssize_t,
    e: cython.Py_ssize_t,
    sp: cython.double[::1],
    tr: cython.double[:, ::1],
    em: cython.double[:, ::1],
    v: cython.double[:, ::1],
    back: cython.schar[:, ::1],
    path: cython.schar[::1],
    out: cython.int[:, ::1],
    no: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    i: cython.Py_ssize_t = s
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    while i < e:
        j = i
        if ishan(p[i]):
            while j < e and ishan(p[j]):
                j += 1
            no = hmm(p, i, j, sp, tr, em, v, back, path, out, no)
        else:
            stop = i
            while stop < e and not ishan(p[stop]):
                stop += 1
            while j < stop:
                k = j
                if alnum(p[j]):
                    while k < stop and alnum(p[k]):
                        k += 1
                    if k + 1 < stop and p[k] == 46 and 48 <= p[k + 1] <= 57:
                        k += 2
                        while k < stop and 48 <= p[k] <= 57:
                            k += 1
                    if k < stop and p[k] == 37:
                        k += 1
                else:
                    while k < stop and not alnum(p[k]):
                        k += 1
                out[no, 0] = j
                out[no, 1] = k
                no += 1
                j = k
        i = j
    return no


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def cut(
    p: cython.uint[::1],
    s: cython.Py_ssize_t,
    e: cython.Py_ssize_t,
    keys: cython.ulonglong[::1],
    nxt: cython.int[::1],
    logf: cython.double[::1],
    lt: cython.double,
    sp: cython.double[::1],
    tr: cython.double[:, ::1],
    em: cython.double[:, ::1],
    best: cython.double[::1],
    to: cython.longlong[::1],
    v: cython.double[:, ::1],
    back: cython.schar[:, ::1],
    path: cython.schar[::1],
    out: cython.int[:, ::1],
    no: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    mask: cython.ulonglong = keys.shape[0] - 1
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    x: cython.Py_ssize_t
    bx: cython.Py_ssize_t
    buf: cython.Py_ssize_t
    st: cython.int
    b: cython.double
    c: cython.double
    f: cython.double
    seen: cython.bint
    known: cython.bint
    single: cython.bint
    key: cython.ulonglong
    h: cython.ulonglong
    best[e] = 0.0
    for i in range(e - 1, s - 1, -1):
        st = 0
        b = -1e300
        bx = i
        k = i
        seen = False
        while k < e:
            key = (cython.cast(cython.ulonglong, st) << 21) | p[k]
            h = slot(keys, mask, key)
            if keys[h] == 0:
                break
            st = nxt[h]
            f = logf[st]
            if f == f:
                c = f - lt + best[k + 1]
                seen = True
                if c >= b:
                    b = c
                    bx = k
            k += 1
        if not seen:
            b = -lt + best[i + 1]
            bx = i
        best[i] = b
        to[i] = bx
    i = s
    buf = -1
    while i <= e:
        x = to[i] + 1 if i < e else i + 1
        single = i < e and x - i == 1
        if single:
            if buf < 0:
                buf = i
        else:
            if buf >= 0:
                if i - buf == 1:
                    out[no, 0] = buf
                    out[no, 1] = i
                    no += 1
                else:
                    st = 0
                    known = True
                    for k in range(buf, i):
                        h = slot(keys, mask, (cython.cast(cython.ulonglong, st) << 21) | p[k])
                        if keys[h] == 0:
                            known = False
                            break
                        st = nxt[h]
                    if known and logf[st] == logf[st]:
                        for k in range(buf, i):
                            out[no, 0] = k
                            out[no, 1] = k + 1
                            no += 1
                    else:
                        no = final(p, buf, i, sp, tr, em, v, back, path, out, no)
                buf = -1
            if i < e:
                out[no, 0] = i
                out[no, 1] = x
                no += 1
        i = x
    return no


def spans(
    p: cython.uint[::1],
    keys: cython.ulonglong[::1],
    nxt: cython.int[::1],
    logf: cython.double[::1],
    lt: cython.double,
    sp: cython.double[::1],
    tr: cython.double[:, ::1],
    em: cython.double[:, ::1],
    best: cython.double[::1],
    to: cython.longlong[::1],
    v: cython.double[:, ::1],
    back: cython.schar[:, ::1],
    path: cython.schar[::1],
    out: cython.int[:, ::1],
):
    n: cython.Py_ssize_t = p.shape[0]
    i: cython.Py_ssize_t = 0
    j: cython.Py_ssize_t
    no: cython.Py_ssize_t = 0
    with cython.nogil:
        while i < n:
            if inblock(p[i]):
                j = i
                while j < n and inblock(p[j]):
                    j += 1
                no = cut(p, i, j, keys, nxt, logf, lt, sp, tr, em, best, to, v, back, path, out, no)
                i = j
            else:
                j = i + 1
                if p[i] == 13 and j < n and p[j] == 10:
                    j += 1
                out[no, 0] = i
                out[no, 1] = j
                no += 1
                i = j
    return no
