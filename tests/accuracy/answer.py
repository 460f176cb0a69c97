"""Compares a profile of tests/apps/Kernels.java with what that program measured itself."""

import json

from support import versions

# JDKs of this machine's own kind; those of them whose CPU is measured by timers, and that have sampled allocations.
NATIVE = [version for version in versions.JAVAS if isinstance(version, int)]
WITH_TIMERS = [version for version in NATIVE if version >= 11]
# Those whose threads count what they allocate, for want of sampled allocations.
COUNTING = [version for version in NATIVE if version < 11]
# Each kernel but the inlined one has a frame that nothing is inlined into.
OPTIONS = ("-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Kernels.kernel*", "-Xmx512m")
# On JDK 8 stacks are taken at safepoints alone, and its compiler leaves none in counted loops: their CPU would be charged
# to what comes after them. Newer JDKs have safepoints in them (loop strip mining).
OPTIONS_OF = {8: ("-XX:+UseCountedLoopSafepoints",)}
MEASURED = "Kernels.measured"


class Answer:
    def __init__(self, run):
        self.truth = run.truth
        self.profile = run.profile.where(lambda sample: MEASURED in sample.stack)
        self._by_name = self.profile.total_by_name("cpu")
        self._true_cpu = {name: kernel["cpu_ns"] for name, kernel in self.truth["kernels"].items()}

    def __str__(self) -> str:
        """What a failed test shows, and pytest -s."""
        shares = [f"{name:16} true {true:6.2f} %  profile {found:6.2f} %  {found - true:+5.2f}" for name, (true, found) in self.shares.items()]
        return "\n".join([
            *shares,
            f"covered CPU {self.covered_cpu:.2f} % of {sum(self._true_cpu.values()) / 1e9:.2f} s; clock step {self.truth['clock_step_ns']} ns",
            self.waited,
            f"allocated {self.covered_bytes:.2f} % of {self.true_bytes / 1e6:.0f} MB",
            f"wall: {json.dumps({name: self.states(name) for name in ['Kernels.measured', *self.truth['waiting']]})}",
        ])

    @property
    def waited(self) -> str:
        """How long the run queue kept the busy threads from their cores: no profiler could make up for that."""
        busy = self.truth["busy"]
        return f"busy threads waited {busy['queued_ns'] / 1e9:.2f} s for a core, of {busy['wall_ns'] / 1e9:.2f} s"

    @property
    def shares(self) -> dict:
        """Kernel -> its share of all kernels' CPU, true and in the profile, in percent."""
        found = {name: self._by_name.get(f"Kernels.{name}", 0) for name in self._true_cpu}
        true_sum, found_sum = sum(self._true_cpu.values()), sum(found.values())
        return {name: (100 * true / true_sum, 100 * found[name] / found_sum) for name, true in self._true_cpu.items()}

    @property
    def worst_share(self) -> float:
        return max(abs(true - found) for true, found in self.shares.values())

    @property
    def covered_cpu(self) -> float:
        """All CPU in the profile under the frame that is measured, in percent of the truth."""
        busy = self.profile.where(lambda sample: not self._is_waiting(sample))
        return 100 * busy.total("cpu") / sum(self._true_cpu.values())

    @property
    def true_bytes(self) -> int:
        return sum(kernel["bytes"] for kernel in self.truth["kernels"].values())

    @property
    def covered_bytes(self) -> float:
        return 100 * self.profile.total("alloc_space") / self.true_bytes

    @property
    def true_wall(self) -> int:
        return self.truth["busy"]["wall_ns"] + sum(thread["wall_ns"] for thread in self.truth["waiting"].values())

    def states(self, name: str) -> dict:
        """Wall seconds by state of all that ran through a frame."""
        frame = name if "." in name else f"Kernels.{name}"
        by_state = self.profile.where(lambda sample: frame in sample.stack).by_label("thread_state", "wall")
        return {state: round(nanoseconds / 1e9, 3) for state, nanoseconds in by_state.items()}

    def _is_waiting(self, sample) -> bool:
        return any(f"Kernels.{name}" in sample.stack for name in self.truth["waiting"])
