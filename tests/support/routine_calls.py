"""Routines of machine code as Python functions of arrays, many of one module."""

import ctypes

import numpy as np

from functier._programs.machine.compiler import engine
from functier._programs.machine.linalg import blas
from functier._programs.machine.text.routines import Operand


def operand(x):
    """Return the layout of an array."""
    return Operand("%x", x.dtype, x.shape, x.strides)


def block(size):
    """Return memory for a routine, at an address as parts have it."""
    memory = np.full(size + 64, 255, np.uint8)
    begin = -memory.ctypes.data % 64
    return memory[begin : begin + size]


def load(kernels, opt=1):
    """Return a function for each kernel; it takes arrays, and returns the status."""
    texts, names = {}, []
    for number, kernel in enumerate(kernels):
        texts |= kernel.texts
        definition = kernel.texts[kernel.name]
        count = definition[: definition.index(")")].count("ptr ")
        given = [f"%p{k}" for k in range(count)]
        kind = "i32" if kernel.status else "void"
        head = f"define {kind} @entry{number}({', '.join([f'ptr {p}' for p in given])})"
        call = kernel.call(given[:-1], given[-1])
        end = f"%s = {call}\n ret i32 %s" if kernel.status else f"{call}\n ret void"
        names.append(f"entry{number}")
        texts[names[-1]] = f"{head} {{\n {end}\n}}"
    library = engine.load("\n".join(texts.values()), names, blas.addresses(), opt, stored=False)

    def caller(name, kernel):
        address = library[name]

        def call(*arrays):
            scratch = block(max(kernel.scratch, 1))
            kind = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * (len(arrays) + 1))
            pointers = [x.__array_interface__["data"][0] for x in (*arrays, scratch)]
            status = kind(address)(*pointers)
            return status if kernel.status else 0

        call.library = library
        return call

    return [caller(name, kernel) for name, kernel in zip(names, kernels)]
