"""Stacks that are deeper than a report tells: every engine keeps leaf and root, and marks what lies between."""

import pytest

from accuracy.answer import NATIVE, OPTIONS_OF
from support import versions

# Of 16 frames a quarter is the root's.
KEPT = 16
ROOT = ["Deep.run", "Deep.descend", "Deep.descend", "Deep.descend", "[truncated]"]
OUT_OF_REACH = ["[truncated]"]
# What is measured, and the method in which the thread spends it.
WORK = {"cpu": "Deep.spin", "wall": "Deep.rest", "alloc_space": "Deep.allocate"}


@pytest.mark.parametrize("java", NATIVE if versions.FULL else [17])
def test_a_stack_beyond_the_limit_keeps_its_root_and_its_leaf(run_profiled, java):
    run = run_profiled("Deep", java, 100, 3, agent=f"depth={KEPT}", options=OPTIONS_OF.get(java, ()))
    assert ways_to_the_leaf(run) == {kind: [ROOT] for kind in WORK}


@pytest.mark.parametrize("java", NATIVE if versions.FULL else [17])
def test_a_stack_whose_root_is_out_of_reach_begins_with_the_mark(run_profiled, java):
    run = run_profiled("Deep", java, 3000, 3, agent=f"depth={KEPT}", options=OPTIONS_OF.get(java, ()))
    assert ways_to_the_leaf(run) == {kind: [OUT_OF_REACH] for kind in WORK}


@pytest.mark.parametrize("java", NATIVE if versions.FULL else [17])
def test_a_long_stack_within_reach_is_cut_at_the_limit_that_is_set_without_a_word(run_profiled, java):
    run = run_profiled("Deep", java, 1500, 3, options=OPTIONS_OF.get(java, ()))
    root = ["Deep.run", *["Deep.descend"] * 249, "[truncated]"]
    assert ways_to_the_leaf(run, kept=1000) == {kind: [root] for kind in WORK}


def ways_to_the_leaf(run, kept=KEPT) -> dict:
    """How the stacks of each kind of work begin, up to the mark."""
    deep = run.profile.where(thread="deep")
    print(run.stderr, {kind: deep.self_by_name(kind) for kind in WORK})
    ways = {}
    for kind, method in WORK.items():
        stacks = [stack for stack, value in deep.by_stack(kind).items() if value and method in stack]
        assert {len(stack) for stack in stacks} == {kept + 1}, f"{kind}: {stacks}"
        ways[kind] = [list(way) for way in {stack[:stack.index("[truncated]") + 1] for stack in stacks}]
    return ways
