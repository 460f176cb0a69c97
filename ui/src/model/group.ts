import { arrange, type Graph } from './graph'
import type { Tree } from './page'
import { totalsOf, type Weights } from './select'

/**
 * Graphs that merge the paths of many nodes by name: hot spots (every node's self, callers above it) and the
 * two halves of a sandwich. Such a graph can be far larger than the tree it comes from, so a group lighter than
 * SMALLEST of what is zoomed to is not opened; zooming builds it anew from the path of names.
 */
export const SMALLEST = 1 / 8192

export interface Grouping {
  readonly graph: Graph
  /** The zoomed node, and how many steps of the wanted path exist. */
  readonly node: number
  readonly steps: number
}

export interface Sandwich {
  readonly callers: Grouping
  readonly callees: Grouping
  /** Every stack with the method in it, once, however often the method is in it. */
  readonly total: number
  readonly self: number
  /** Places in the call tree, calls within its own calls not counted. */
  readonly places: number
}

export function hotSpots(tree: Tree, weights: Weights, zoom: readonly number[]): Grouping {
  const leaves: number[] = []
  for (let i = 1; i < weights.self.length; i++) if (weights.self[i] > 0) leaves.push(i)
  return merge({
    tree,
    rootName: ALL,
    root: { origin: leaves, at: leaves },
    step: callersIn(tree),
    value: weights.self,
    self: null,
    parts: weights.parts,
    zoom,
  })
}

export function sandwich(
  tree: Tree,
  topmost: Uint8Array,
  weights: Weights,
  method: number,
  zoomCallers: readonly number[],
  zoomCallees: readonly number[],
): Sandwich {
  const value = totalsOf(tree, weights.self)
  const parts = weights.parts?.map(part => totalsOf(tree, part)) ?? null
  const places: number[] = []
  let total = 0
  let self = 0
  for (let i = 1; i < tree.name.length; i++) {
    if (tree.name[i] !== method) continue
    self += weights.self[i]
    if (!topmost[i] || value[i] === 0) continue
    total += value[i]
    places.push(i)
  }
  const half = { tree, rootName: method, root: { origin: places, at: places }, value, parts }
  const callers = merge({ ...half, step: callersIn(tree), self: null, zoom: zoomCallers })
  const callees = merge({ ...half, step: calleesIn(tree, value), self: weights.self, zoom: zoomCallees })
  return { callers, callees, total, self, places: places.length }
}

/** 1 where no node above has the same name: a recursive method counts once per stack. */
export function topmostOf(tree: Tree): Uint8Array {
  const size = tree.name.length
  const { firstChild, sibling } = links(tree)
  let names = 0
  for (const name of tree.name) if (name >= names) names = name + 1
  const open = new Int32Array(names)
  const topmost = new Uint8Array(size)
  let node = 0
  while (node >= 0) {
    topmost[node] = open[tree.name[node]]++ === 0 ? 1 : 0
    if (firstChild[node] >= 0) {
      node = firstChild[node]
      continue
    }
    while (node >= 0) {
      open[tree.name[node]]--
      if (sibling[node] >= 0) {
        node = sibling[node]
        break
      }
      node = tree.parent[node]
    }
  }
  return topmost
}

interface Merge {
  readonly tree: Tree
  readonly rootName: number
  readonly root: Group
  readonly step: Step
  readonly value: Float64Array
  /** Null in graphs of callers: there a node's self is what is left over, the stacks that begin in it. */
  readonly self: Float64Array | null
  readonly parts: readonly Float64Array[] | null
  readonly zoom: readonly number[]
}

/** Pairs of nodes: whose weight counts, and where its path has got to. */
interface Group {
  readonly origin: readonly number[]
  readonly at: readonly number[]
}

type Found = (origin: number, at: number) => void
type Step = (origin: number, at: number, found: Found) => void

function merge(wanted: Merge): Grouping {
  const sources = [wanted.value, wanted.self, ...(wanted.parts ?? [])]
  const columns = sources.map(() => [] as number[])
  const name: number[] = []
  const parent: number[] = []
  const add = (group: Group, groupName: number, under: number) => {
    sources.forEach((source, c) => {
      let sum = 0
      if (source !== null) for (const origin of group.origin) sum += source[origin]
      columns[c].push(sum)
    })
    parent.push(under)
    return name.push(groupName) - 1
  }

  let node = add(wanted.root, wanted.rootName, -1)
  let group = wanted.root
  let steps = 0
  for (const step of wanted.zoom) {
    const next = expand(wanted, group, node === 0).get(step)
    if (next === undefined) break
    node = add(next, step, node)
    group = next
    steps++
  }
  const smallest = columns[0][node] * SMALLEST
  const open = [{ node, group }]
  for (let k = 0; k < open.length; k++) {
    for (const [childName, child] of expand(wanted, open[k].group, open[k].node === 0)) {
      const id = add(child, childName, open[k].node)
      if (columns[0][id] >= smallest) open.push({ node: id, group: child })
    }
  }
  if (wanted.self === null) {
    columns[1] = columns[0].slice()
    for (let i = 1; i < name.length; i++) columns[1][parent[i]] -= columns[0][i]
  }
  const graph = arrange({ name, parent, total: columns[0], self: columns[1], parts: wanted.parts === null ? null : columns.slice(2) })
  // On the zoomed path each node is an only child, so depth first it keeps its place.
  return { graph, node, steps }
}

function expand(wanted: Merge, group: Group, isRoot: boolean): Map<number, Group> {
  const groups = new Map<number, { origin: number[]; at: number[] }>()
  const found: Found = (origin, at) => {
    const key = wanted.tree.name[at]
    let next = groups.get(key)
    if (next === undefined) groups.set(key, (next = { origin: [], at: [] }))
    next.origin.push(origin)
    next.at.push(at)
  }
  const step = isRoot && wanted.rootName === ALL ? stay : wanted.step
  for (let i = 0; i < group.at.length; i++) step(group.origin[i], group.at[i], found)
  return groups
}

const ALL = 0

const stay: Step = (origin, at, found) => found(origin, at)

function callersIn(tree: Tree): Step {
  return (origin, at, found) => {
    const parent = tree.parent[at]
    if (parent > 0) found(origin, parent)
  }
}

function calleesIn(tree: Tree, total: Float64Array): Step {
  const { firstChild, sibling } = links(tree)
  return (_, at, found) => {
    for (let child = firstChild[at]; child >= 0; child = sibling[child]) if (total[child] > 0) found(child, child)
  }
}

function links(tree: Tree): { firstChild: Int32Array; sibling: Int32Array } {
  const size = tree.name.length
  const firstChild = new Int32Array(size).fill(-1)
  const sibling = new Int32Array(size).fill(-1)
  for (let i = size - 1; i > 0; i--) {
    sibling[i] = firstChild[tree.parent[i]]
    firstChild[tree.parent[i]] = i
  }
  return { firstChild, sibling }
}
