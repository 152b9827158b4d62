"""Settings of the whole suite: the profiles of hypothesis.

``quick`` is the default; ``pytest --hypothesis-profile=slow`` looks for longer, at random.
"""

from hypothesis import HealthCheck, settings

# A shared machine stalls now and then, and what is drawn is small: time says nothing.
patient = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("quick", max_examples=60, derandomize=True, database=None, **patient)
settings.register_profile("slow", max_examples=1000, **patient)
settings.load_profile("quick")
