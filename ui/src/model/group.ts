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

/** What a sandwich of a method is made of; its halves are opened one by one. */
export interface Filling {
  readonly tree: Tree
  readonly method: number
  /** The outermost calls of the method. */
  readonly calls: readonly number[]
  readonly value: Float64Array
  readonly weights: Weights
  readonly parts: readonly Float64Array[] | null
  /** Every stack with the method in it, once, however often the method is in it. */
  readonly total: number
  readonly self: number
  /** Places in the call tree, calls within its own calls not counted. */
  readonly places: number
}

export function hotSpots(tree: Tree, weights: Weights, zoom: readonly number[]): Grouping {
  const leaves: number[] = []
  for (let i = 1; i < weights.self.length; i++) if (weights.self[i] > 0) leaves.push(i)
  return merge({ tree, rootName: 0, places: leaves, from: 'leaves', value: weights.self, self: null, parts: weights.parts, zoom })
}

export function filling(tree: Tree, topmost: Uint8Array, weights: Weights, method: number): Filling {
  const value = totalsOf(tree, weights.self)
  const parts = weights.parts?.map(part => totalsOf(tree, part)) ?? null
  const calls: number[] = []
  let total = 0
  let self = 0
  for (let i = 1; i < tree.name.length; i++) {
    if (tree.name[i] !== method) continue
    self += weights.self[i]
    if (!topmost[i] || value[i] === 0) continue
    total += value[i]
    calls.push(i)
  }
  return { tree, method, calls, value, weights, parts, total, self, places: calls.length }
}

export function callersOf({ tree, method, calls, value, parts }: Filling, zoom: readonly number[]): Grouping {
  return merge({ tree, rootName: method, places: calls, from: 'callers', value, self: null, parts, zoom })
}

export function calleesOf({ tree, method, calls, value, weights, parts }: Filling, zoom: readonly number[]): Grouping {
  return merge({ tree, rootName: method, places: calls, from: 'callees', value, self: weights.self, parts, zoom })
}

/** 1 where no node above has the same name: a recursive method counts once per stack. */
export function topmostOf(tree: Tree): Uint8Array {
  const size = tree.name.length
  const { firstChild, sibling } = links(tree)
  const open = new Int32Array(nameCount(tree))
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
  /** The nodes that the root stands for. */
  readonly places: readonly number[]
  /** How paths lead on. From leaves: to themselves, by name, then to their callers. */
  readonly from: 'leaves' | 'callers' | 'callees'
  readonly value: Float64Array
  /** Null in graphs of callers: there a node's self is what is left over, the stacks that begin in it. */
  readonly self: Float64Array | null
  readonly parts: readonly Float64Array[] | null
  readonly zoom: readonly number[]
}

type Step = 'stay' | 'callers' | 'callees'

function merge(wanted: Merge): Grouping {
  const { tree, value, parts, places } = wanted
  const sources = [value, wanted.self, ...(parts ?? [])]
  const columns = sources.map(() => [] as number[])
  const name: number[] = []
  const parent: number[] = []
  const add = (level: Level, group: number, groupName: number, under: number) => {
    for (let c = 0; c < sources.length; c++) {
      const source = sources[c]
      let sum = 0
      if (source !== null) for (let i = level.from[group]; i < level.to[group]; i++) sum += source[level.origin[i]]
      columns[c].push(sum)
    }
    parent.push(under)
    return name.push(groupName) - 1
  }
  const splitter = new Splitter(tree, wanted.from === 'callees' ? value : null)
  const stepFrom = (node: number): Step => (wanted.from !== 'leaves' ? wanted.from : node === 0 ? 'stay' : 'callers')

  let level = new Level(tree.name.length)
  let next = new Level(tree.name.length)
  level.fill(places)
  level.node[0] = add(level, 0, wanted.rootName, -1)
  let node = 0
  for (const step of wanted.zoom) {
    next.clear()
    splitter.split(level, 0, stepFrom(node), next)
    const group = next.name.indexOf(step)
    if (group < 0) break
    next.keep(group)
    node = next.node[0] = add(next, 0, step, node)
    ;[level, next] = [next, level]
  }
  const steps = node
  const smallest = columns[0][node] * SMALLEST
  while (level.from.length > 0) {
    next.clear()
    for (let group = 0; group < level.from.length; group++) {
      if (columns[0][level.node[group]] < smallest) continue
      const first = next.from.length
      splitter.split(level, group, stepFrom(level.node[group]), next)
      for (let child = first; child < next.from.length; child++) next.node[child] = add(next, child, next.name[child], level.node[group])
    }
    ;[level, next] = [next, level]
  }
  if (wanted.self === null) {
    columns[1] = columns[0].slice()
    for (let i = 1; i < name.length; i++) columns[1][parent[i]] -= columns[0][i]
  }
  const { graph } = arrange({ name, parent, total: columns[0], self: columns[1], parts: parts === null ? null : columns.slice(2) })
  // On the zoomed path each node is an only child, so depth first it keeps its place.
  return { graph, node, steps }
}

/**
 * The groups of one depth. A group is a range of pairs: whose weight counts, and where its path has got to. A node
 * is in one pair of a level at most, so two levels' buffers do for the whole merge.
 */
class Level {
  readonly origin: Int32Array
  readonly at: Int32Array
  readonly name: number[] = []
  readonly node: number[] = []
  readonly from: number[] = []
  readonly to: number[] = []
  filled = 0

  constructor(size: number) {
    this.origin = new Int32Array(size)
    this.at = new Int32Array(size)
  }

  fill(places: readonly number[]): void {
    this.origin.set(places)
    this.at.set(places)
    this.filled = places.length
    this.from.push(0)
    this.to.push(places.length)
  }

  clear(): void {
    for (const list of [this.name, this.node, this.from, this.to]) list.length = 0
    this.filled = 0
  }

  keep(group: number): void {
    const [name, from, to] = [this.name[group], this.from[group], this.to[group]]
    this.clear()
    this.name.push(name)
    this.from.push(from)
    this.to.push(to)
    this.filled = to
  }
}

/** Splits what a step leads to by name: a counting sort. */
class Splitter {
  private readonly origin: Int32Array
  private readonly at: Int32Array
  private readonly slot: Int32Array
  private readonly slotOf: Int32Array
  private names: number[] = []
  private sizes: number[] = []
  private count = 0

  private readonly links: { firstChild: Int32Array; sibling: Int32Array } | null

  /** `total`: needed to step to callees, of which only those with weight count. */
  constructor(private readonly tree: Tree, private readonly total: Float64Array | null) {
    this.links = total === null ? null : links(tree)
    const size = tree.name.length
    this.origin = new Int32Array(size)
    this.at = new Int32Array(size)
    this.slot = new Int32Array(size)
    this.slotOf = new Int32Array(nameCount(tree)).fill(-1)
  }

  /** Appends the groups to `into`. */
  split(level: Level, group: number, step: Step, into: Level): void {
    this.names = []
    this.sizes = []
    this.count = 0
    const { parent } = this.tree
    for (let i = level.from[group]; i < level.to[group]; i++) {
      const at = level.at[i]
      if (step === 'stay') this.found(level.origin[i], at)
      else if (step === 'callers') {
        if (parent[at] > 0) this.found(level.origin[i], parent[at])
      } else this.foundCallees(at)
    }
    const next: number[] = []
    this.names.forEach((name, slot) => {
      this.slotOf[name] = -1
      next.push(into.filled)
      into.name.push(name)
      into.from.push(into.filled)
      into.filled += this.sizes[slot]
      into.to.push(into.filled)
    })
    for (let i = 0; i < this.count; i++) {
      const to = next[this.slot[i]]++
      into.origin[to] = this.origin[i]
      into.at[to] = this.at[i]
    }
  }

  private foundCallees(at: number): void {
    const { links, total } = this
    if (links === null || total === null) return
    for (let child = links.firstChild[at]; child >= 0; child = links.sibling[child]) if (total[child] > 0) this.found(child, child)
  }

  private found(origin: number, at: number): void {
    const name = this.tree.name[at]
    let slot = this.slotOf[name]
    if (slot < 0) {
      slot = this.slotOf[name] = this.names.push(name) - 1
      this.sizes.push(0)
    }
    this.sizes[slot]++
    this.origin[this.count] = origin
    this.at[this.count] = at
    this.slot[this.count++] = slot
  }
}

function nameCount(tree: Tree): number {
  let count = 0
  for (const name of tree.name) if (name >= count) count = name + 1
  return count
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
