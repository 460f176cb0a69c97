import type { Tree } from './page'
import { totalsOf, type Weights } from './select'

/**
 * A tree ready to be drawn: depth first, larger children first, nothing without weight in it.
 * Node 0 is the root; the subtree of i is [i, end[i]).
 */
export interface Graph {
  readonly count: number
  readonly name: Int32Array
  readonly parent: Int32Array
  readonly end: Int32Array
  readonly total: Float64Array
  readonly self: Float64Array
  /** Where the node begins, in units of the value, the root at 0. */
  readonly start: Float64Array
  /** Totals by thread state, in the order of STATES. */
  readonly parts: readonly Float64Array[] | null
}

/** The columns a graph is arranged from; a parent comes before its children. */
export interface Columns {
  readonly name: ArrayLike<number>
  readonly parent: ArrayLike<number>
  readonly total: ArrayLike<number>
  readonly self: ArrayLike<number>
  readonly parts: readonly ArrayLike<number>[] | null
}

export function flame(tree: Tree, weights: Weights): Graph {
  return arrange({
    name: tree.name,
    parent: tree.parent,
    total: totalsOf(tree, weights.self),
    self: weights.self,
    parts: weights.parts?.map(part => totalsOf(tree, part)) ?? null,
  }).graph
}

/** `moved`: column -> node, where it has weight. */
export function arrange(columns: Columns): { graph: Graph; moved: Int32Array } {
  const { name, parent, total } = columns
  const order = depthFirst(name, parent, total)
  const count = order.length
  const moved = new Int32Array(total.length)
  for (let i = 0; i < count; i++) moved[order[i]] = i
  // Loops, not TypedArray.from: that one goes through an iterator, several times slower.
  const graph = {
    count,
    name: new Int32Array(count),
    parent: new Int32Array(count),
    end: new Int32Array(count),
    total: pick(total, order),
    self: pick(columns.self, order),
    start: new Float64Array(count),
    parts: columns.parts?.map(part => pick(part, order)) ?? null,
  }
  for (let i = 0; i < count; i++) {
    const from = order[i]
    graph.name[i] = name[from]
    graph.parent[i] = from === 0 ? -1 : moved[parent[from]]
  }
  place(graph)
  return { graph, moved }
}

/** The nodes from the root down to `node`, the root not included. */
export function pathOf(graph: Graph, node: number): number[] {
  const path: number[] = []
  for (let i = node; i > 0; i = graph.parent[i]) path.push(graph.name[i])
  return path.reverse()
}

/** Follows names from the root as far as they lead; `skip` tells names that the graph leaves out. */
export function follow(graph: Graph, path: readonly number[], skip: (name: number) => boolean = () => false): { node: number; steps: number } {
  let node = 0
  let steps = 0
  for (const name of path) {
    const next = childOf(graph, node, name)
    if (next < 0 && !skip(name)) break
    if (next >= 0) node = next
    steps++
  }
  return { node, steps }
}

export function childOf(graph: Graph, node: number, name: number): number {
  for (let child = node + 1; child < graph.end[node]; child = graph.end[child]) {
    if (graph.name[child] === name) return child
  }
  return -1
}

function pick(column: ArrayLike<number>, order: Int32Array): Float64Array {
  const picked = new Float64Array(order.length)
  for (let i = 0; i < order.length; i++) picked[i] = column[order[i]]
  return picked
}

function depthFirst(name: ArrayLike<number>, parent: ArrayLike<number>, total: ArrayLike<number>): Int32Array {
  const size = total.length
  const first = new Int32Array(size + 1)
  let kept = 0
  for (let i = 1; i < size; i++) {
    if (total[i] > 0) {
      first[parent[i] + 1]++
      kept++
    }
  }
  for (let i = 0; i < size; i++) first[i + 1] += first[i]
  const children = new Int32Array(kept)
  const filled = first.slice(0, size)
  for (let i = 1; i < size; i++) if (total[i] > 0) children[filled[parent[i]]++] = i
  const isAfter = (a: number, b: number) => total[a] < total[b] || (total[a] === total[b] && name[a] > name[b])

  const order = new Int32Array(kept + 1)
  const open = new Int32Array(kept + 1)
  let height = 1
  let at = 0
  while (height > 0) {
    const node = open[--height]
    order[at++] = node
    const from = first[node]
    const to = first[node + 1]
    sort(children, from, to, isAfter)
    for (let k = to - 1; k >= from; k--) open[height++] = children[k]
  }
  return order
}

/** Most frames have a few callees: there a plain insertion beats the library's sort by far. */
function sort(nodes: Int32Array, from: number, to: number, isAfter: (a: number, b: number) => boolean): void {
  if (to - from > 24) {
    nodes.subarray(from, to).sort((a, b) => (isAfter(a, b) ? 1 : -1))
    return
  }
  for (let i = from + 1; i < to; i++) {
    const node = nodes[i]
    let at = i
    for (; at > from && isAfter(nodes[at - 1], node); at--) nodes[at] = nodes[at - 1]
    nodes[at] = node
  }
}

function place(graph: { count: number; parent: Int32Array; end: Int32Array; total: Float64Array; start: Float64Array }): void {
  const { count, parent, end, total, start } = graph
  const next = new Float64Array(count)
  for (let i = 0; i < count; i++) {
    end[i] = i + 1
    if (i > 0) {
      start[i] = next[parent[i]]
      next[parent[i]] += total[i]
    }
    next[i] = start[i]
  }
  for (let i = count - 1; i > 0; i--) if (end[i] > end[parent[i]]) end[parent[i]] = end[i]
}
