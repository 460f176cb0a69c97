"""What the page must say, computed from the samples and from nothing that the page reads."""

from decimal import ROUND_HALF_UP, Decimal


def passing(profile, measure="cpu", **labels):
    """(stack, value) of the samples that pass; a label's value None means: has no such label."""
    value_type = "wall" if measure == "latency" else measure
    for stack, own, values in profile.samples:
        if value_type not in values:
            continue
        if measure == "latency" and own.get("thread_state") in (None, "IDLE"):
            continue
        if all(own.get(key) in (wanted if isinstance(wanted, (set, tuple)) else {wanted}) for key, wanted in labels.items()):
            yield stack, values[value_type]


def total(profile, measure="cpu", **labels):
    return sum(value for _, value in passing(profile, measure, **labels))


def under(profile, path, measure="cpu", **labels):
    return sum(value for stack, value in passing(profile, measure, **labels) if stack[: len(path)] == tuple(path))


def holding(profile, matches, measure="cpu", **labels):
    """Samples with a hit anywhere in the stack, each once."""
    return sum(value for stack, value in passing(profile, measure, **labels) if any(matches(name) for name in stack))


def self_of(profile, name, measure="cpu", **labels):
    return sum(value for stack, value in passing(profile, measure, **labels) if stack[-1] == name)


def top(profile, measure="cpu", **labels):
    """name -> [self, total]"""
    rows = {}
    for stack, value in passing(profile, measure, **labels):
        for name in set(stack):
            rows.setdefault(name, [0, 0])[1] += value
        rows[stack[-1]][0] += value
    return rows


def callers(profile, name, measure="cpu", **labels):
    """Direct callers of the outermost call -> weight"""
    result = {}
    for stack, value in passing(profile, measure, **labels):
        if name in stack and stack.index(name) > 0:
            caller = stack[stack.index(name) - 1]
            result[caller] = result.get(caller, 0) + value
    return result


def callees(profile, name, measure="cpu", **labels):
    result = {}
    for stack, value in passing(profile, measure, **labels):
        if name in stack and stack.index(name) + 1 < len(stack):
            callee = stack[stack.index(name) + 1]
            result[callee] = result.get(callee, 0) + value
    return result


def seconds(microseconds):
    if microseconds < 1_000_000:
        return f"{rounded(microseconds, 1000, 1 if microseconds < 100_000 else 0)} ms"
    digits = 2 if microseconds < 10_000_000 else 1 if microseconds < 1_000_000_000 else 0
    return f"{rounded(microseconds, 1_000_000, digits)} s"


def percent(part, whole):
    digits = 1 if 100 * part >= whole else 2
    return f"{100 * part / whole:.{digits}f} %"


def rounded(value, divisor, digits):
    """Half away from zero, as people round."""
    return f"{(Decimal(value) / divisor).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP):,}"
