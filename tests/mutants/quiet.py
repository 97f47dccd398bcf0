"""pytest plugin for mutation runs: a memory limit, and deterministic hypothesis settings."""

import resource

from hypothesis import HealthCheck, Phase, settings

# A mutant that never stops shall not take the machine with it.
MEMORY = 6 << 30  # bytes of address space
resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

settings.register_profile(
    "mutants",
    database=None,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],  # a failure need not be made small
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("mutants")
