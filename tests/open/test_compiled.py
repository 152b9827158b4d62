"""Compiled functions: what they watch, what they take, and how often they are traced."""

import random
import threading

import numpy as np
import pytest

import functier as ft


@pytest.mark.xfail(raises=ft.RandomnessError)
def test_a_draw_of_another_thread_is_not_a_draw_of_the_function():
    asked, drawn = threading.Event(), threading.Event()

    def draw():
        while asked.wait(60) and not drawn.is_set():
            random.random()
            drawn.set()

    thread = threading.Thread(target=draw)
    thread.start()

    def f(x):
        asked.set()
        drawn.wait(60)
        return x * 2.0

    try:
        ft.trace(f)(1.0)
    finally:
        asked.set(), drawn.set()
        thread.join()


@pytest.mark.xfail(raises=ft.ConversionError)
def test_an_argument_without_derivative_may_become_an_array():
    def f(p, start):
        return np.sum((np.array(start) * p) ** 2)

    assert ft.compile(ft.grad(f))(2.0, np.ones(3)) == 12.0
