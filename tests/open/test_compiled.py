"""Compiled functions: what they watch, what they take, and how often they are traced."""

import random
import threading

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
