import type { Ring, Unwound } from './recursion'

/** Which rows a graph takes when chains of calls with one and the same weight share a row. */
export interface Fold {
  /** 1 where the node has its own row: all but the inner members of a folded chain. */
  readonly shown: Uint8Array
  /** End of the chain that the node is in: the members are [head, chainEnd). Node + 1 where there is none. */
  readonly chainEnd: Int32Array
  readonly row: Int32Array
  readonly rows: number
  /** The ring that a node is, if it is one. */
  readonly ringOf: (node: number) => Ring | null
}

/** A recursion of fewer calls may be a member of a chain; one of more has its own row, which tells how many. */
export const FEWEST_CALLS = 5

/**
 * A chain is a run of only callees of equal weight in one layer: one colour, nothing lost but its names.
 * `isOpen` tells the heads of chains that are unfolded; `keepsFirst` leaves the root's children out of chains, as the
 * methods that hot spots are about.
 */
export function fold({ graph, ring, rings }: Unwound, layers: Uint8Array, on: boolean, isOpen: (head: number) => boolean, keepsFirst = false): Fold {
  const { count, parent, end, total, name } = graph
  const shown = new Uint8Array(count).fill(1)
  const chainEnd = new Int32Array(count)
  const row = new Int32Array(count)
  for (let i = 0; i < count; i++) chainEnd[i] = i + 1
  const links = (node: number) => {
    if (ring[node] < 0) return true
    const { times, names } = rings[ring[node]]
    return times < FEWEST_CALLS && names.every(member => layers[member] === layers[name[node]])
  }
  for (let i = 1; on && i < count; ) {
    let last = i
    if (!(keepsFirst && parent[i] === 0) && total[i + 1] === total[i] && links(i)) {
      while (last + 1 < end[last] && total[last + 1] === total[last] && layers[name[last + 1]] === layers[name[i]] && links(last + 1)) last++
    }
    if (last > i && !isOpen(i)) {
      for (let k = i; k <= last; k++) {
        chainEnd[k] = last + 1
        if (k > i) shown[k] = 0
      }
    }
    i = last + 1
  }
  let rows = 1
  for (let i = 1; i < count; i++) {
    row[i] = row[parent[i]] + shown[i]
    if (row[i] >= rows) rows = row[i] + 1
  }
  return { shown, chainEnd, row, rows, ringOf: node => rings[ring[node]] ?? null }
}

/** The node whose row shows `node`: the head of its folded chain, or itself. */
export function headOf(fold_: Fold, node: number): number {
  let head = node
  while (head > 0 && !fold_.shown[head]) head--
  return head
}

/** Calls that a row stands for: a chain's members, a recursion's with all of its calls. */
export function callsOf({ chainEnd, ringOf }: Fold, head: number): number {
  let calls = 0
  for (let k = head; k < chainEnd[head]; k++) calls += ringOf(k)?.depth ?? 1
  return calls
}
