"""How many random examples a property is tried on; --hypothesis-profile chooses."""

import pytest
from hypothesis import HealthCheck, Phase, settings

pytest.register_assert_rewrite("helpers")

COMMON = {
    "deadline": None,  # a busy machine is no reason to fail
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much],
    "phases": [phase for phase in Phase if phase is not Phase.explain],  # it takes longer than the rest
}
settings.register_profile("quick", max_examples=20, derandomize=True, **COMMON)
settings.register_profile("thorough", max_examples=250, print_blob=True, **COMMON)
settings.load_profile("quick")
