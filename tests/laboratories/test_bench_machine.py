"""What the benchmark tells of the machine that it runs on."""

import os
from time import process_time

from bench.machine import processor_seconds


def test_the_processor_time_of_a_process_is_read_from_its_own_clock():
    before = process_time()
    seen = processor_seconds(os.getpid())

    assert before < seen < process_time()
