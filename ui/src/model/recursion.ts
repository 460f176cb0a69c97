import { arrange, follow, type Graph } from './graph'

/** Methods that call each other over and over, drawn as one frame. */
export interface Ring {
  /** Each once, the outermost first. */
  readonly names: readonly number[]
  /** The most calls of the outermost method within each other in one stack. */
  readonly times: number
  /** The most frames of the ring in one stack. */
  readonly depth: number
}

/**
 * A graph in which each recursion is one frame. It weighs what its outermost call weighs; under it is what any of its
 * calls calls, merged by name. So a frame's total is that of its stacks, each once, as everywhere.
 */
export interface Unwound {
  readonly graph: Graph
  /** Per node its place in `rings`, -1 for a plain frame. */
  readonly ring: Int32Array
  readonly rings: readonly Ring[]
  readonly raw: Graph
  /** Raw node -> node. */
  readonly target: Int32Array
  /** Node -> the heaviest raw node in it: of a ring, its outermost call. */
  readonly source: Int32Array
}

export interface Options {
  /** Rings that are unfolded, as paths of names in the unwound graph. */
  readonly open: readonly (readonly number[])[]
  /** Leaves the root's children as they are: the methods that hot spots are about. */
  readonly keepsFirst: boolean
}

/** The longest cycle that is looked for. Catalyst's transformations come back to themselves after five to eight calls. */
const LONGEST_CYCLE = 12

/** A second round lighter than this share of the first call is left as it is: most of what is called there does not recurse. */
const LEAST_SHARE = 0.5

/** Merging what recursions call can bring out others in it. */
const MOST_PASSES = 8

export function plain(raw: Graph): Unwound {
  const same = new Int32Array(raw.count)
  for (let i = 0; i < raw.count; i++) same[i] = i
  return { graph: raw, ring: new Int32Array(raw.count).fill(-1), rings: [], raw, target: same, source: same }
}

export function unwind(raw: Graph, { open, keepsFirst }: Options): Unwound {
  let result = plain(raw)
  let barred: Uint8Array = new Uint8Array(raw.count)
  for (let pass = 0; pass < MOST_PASSES; pass++) {
    const heads = headsIn(result, barred, open, keepsFirst)
    if (heads.size === 0) break
    const merged = mergeRings(result, heads)
    barred = carried(barred, merged.step, merged.graph.count)
    const target = new Int32Array(raw.count)
    for (let i = 0; i < raw.count; i++) target[i] = merged.step[result.target[i]]
    result = { ...merged, raw, target, source: result.source }
  }
  if (result.graph === raw) return result
  const source = new Int32Array(result.graph.count).fill(-1)
  for (let i = 0; i < raw.count; i++) {
    const node = result.target[i]
    if (source[node] < 0 || raw.total[i] > raw.total[source[node]]) source[node] = i
  }
  return { ...result, source }
}

/** The raw nodes that a node is made of, each the first of its stacks. */
export function placesOf({ raw, target }: Unwound, node: number): number[] {
  const places: number[] = []
  for (let i = 0; i < raw.count; ) {
    if (target[i] === node) {
      places.push(i)
      i = raw.end[i]
    } else i++
  }
  return places
}

/** What each method of a ring weighs in it, recursion counted once. */
export function shares(unwound: Unwound, node: number): { name: number; total: number; self: number }[] {
  const { raw, target, rings, ring } = unwound
  return rings[ring[node]].names.map(name => {
    let total = 0
    let self = 0
    // The end of the outermost call of this method that is looked into.
    let inside = 0
    for (let i = 0; i < raw.count; i++) {
      if (target[i] !== node || raw.name[i] !== name) continue
      self += raw.self[i]
      if (i < inside) continue
      total += raw.total[i]
      inside = raw.end[i]
    }
    return { name, total, self }
  })
}

/** The outermost calls of recursions, each with the length of its cycle. */
function headsIn({ graph, ring }: Unwound, barred: Uint8Array, open: Options['open'], keepsFirst: boolean): Map<number, number> {
  const { parent } = graph
  const opened = new Set<number>()
  for (const path of open) {
    const { node, steps } = follow(graph, path)
    if (steps === path.length) opened.add(node)
  }
  const heads = new Map<number, number>()
  const taken = barred.slice()
  for (const i of comingBack(graph)) {
    if (ring[i] >= 0 || taken[i] || (keepsFirst && parent[i] === 0)) continue
    const cycle = cycleAt(graph, ring, i)
    if (cycle === 0) continue
    // Within a recursion, unfolded or not, no other begins that is the same one call later.
    markRing(graph, i, cycle, taken)
    if (opened.has(i)) markRing(graph, i, cycle, barred)
    else heads.set(i, cycle)
  }
  return heads
}

/** The nodes whose name comes again within a cycle's length, along heaviest callees: few, so that the rest costs nothing. */
function comingBack({ count, name, parent }: Graph): number[] {
  const lastAt: number[] = []
  const found: number[] = []
  let chain = 1
  for (let i = 1; i < count; i++) {
    if (parent[i] !== i - 1) chain = i
    const before = lastAt[name[i]] ?? 0
    if (before >= chain && i - before <= LONGEST_CYCLE) found.push(before)
    lastAt[name[i]] = i
  }
  return found.sort((a, b) => a - b)
}

/**
 * Length of the cycle that begins at a node and goes round at least twice, 0 for none. It is looked for along heaviest
 * callees only: they carry half of the weight or more. Of several cycles the one that goes on longest, as in AABAAB.
 */
function cycleAt({ count, name, parent, total }: Graph, ring: Int32Array, node: number): number {
  const least = total[node] * LEAST_SHARE
  const own = name[node]
  let best = 0
  let longest = 0
  let last = node
  for (let cycle = 1; cycle <= LONGEST_CYCLE; cycle++) {
    const next = last + 1
    // Depth first, the heaviest callee comes right after its caller.
    if (next >= count || parent[next] !== last || ring[next] >= 0 || total[next] < least) break
    last = next
    if (name[last] !== own) continue
    let at = last
    while (at + 1 < count && parent[at + 1] === at && ring[at + 1] < 0 && name[at + 1] === name[at + 1 - cycle]) at++
    if (at + 1 < node + 2 * cycle || total[node + 2 * cycle - 1] < least || at <= longest) continue
    longest = at
    best = cycle
  }
  return best
}

/** Marks the recursion from `head` down: calls of the cycle's methods by one another, in any order. */
function markRing({ name, end }: Graph, head: number, cycle: number, marks: Uint8Array): void {
  const members = name.subarray(head, head + cycle)
  for (let i = head; i < end[head]; ) {
    if (members.includes(name[i])) marks[i++] = 1
    else i = end[i]
  }
}

interface Merged {
  readonly graph: Graph
  readonly ring: Int32Array
  readonly rings: readonly Ring[]
  /** Node of the graph before -> node of this one. */
  readonly step: Int32Array
}

/** A graph with rings has up to a hundred thousand nodes and is made at each zoom: columns and a table of its own, no Map. */
function mergeRings(before: Unwound, heads: ReadonlyMap<number, number>): Merged {
  const { graph } = before
  const { count, name } = graph
  const total = new Float64Array(count)
  const self = new Float64Array(count)
  const parts = graph.parts?.map(() => new Float64Array(count)) ?? null
  const names = new Int32Array(count)
  const parent = new Int32Array(count)
  const ringOf = new Int32Array(count).fill(-1)
  const moved = new Int32Array(count)
  // Calls of a ring that lead to a node, its own included: all of them, and those of the outermost method.
  const depth = new Int32Array(count)
  const times = new Int32Array(count)
  const rings: Ring[] = []
  const children = new Children(count, parent, names)
  const cycles = new Uint8Array(count)
  for (const [head, cycle] of heads) cycles[head] = cycle
  let made = 0
  for (let i = 0; i < count; i++) {
    const above = i === 0 ? -1 : moved[graph.parent[i]]
    const ringAbove = above < 0 ? -1 : ringOf[above]
    if (ringAbove >= 0 && rings[ringAbove].names.includes(name[i])) {
      // Its total is in that of the outermost call.
      self[above] += graph.self[i]
      moved[i] = above
      depth[i] = depth[graph.parent[i]] + 1
      times[i] = times[graph.parent[i]] + (name[i] === names[above] ? 1 : 0)
    } else {
      let node = children.find(above, name[i])
      if (node < 0) {
        node = made++
        names[node] = name[i]
        parent[node] = above
        if (above >= 0) children.add(node)
      } else children.merge(node)
      total[node] += graph.total[i]
      self[node] += graph.self[i]
      if (parts !== null && graph.parts !== null) for (let p = 0; p < parts.length; p++) parts[p][node] += graph.parts[p][i]
      moved[i] = node
      const cycle = cycles[i]
      if (cycle > 0) join(node, { names: [...new Set(name.subarray(i, i + cycle))], times: 1, depth: 1 })
      if (ringOf[node] >= 0) {
        depth[i] = times[i] = 1
        children.merge(node)
      }
    }
    if (before.ring[i] >= 0) join(moved[i], before.rings[before.ring[i]])
    const ring = ringOf[moved[i]]
    if (ring >= 0 && (depth[i] > rings[ring].depth || times[i] > rings[ring].times)) join(moved[i], { names: [], times: times[i], depth: depth[i] })
  }
  function join(node: number, ring: Ring): void {
    if (ringOf[node] < 0) ringOf[node] = rings.push(ring) - 1
    else rings[ringOf[node]] = joined(rings[ringOf[node]], ring)
  }
  const arranged = arrange({
    name: names.subarray(0, made),
    parent: parent.subarray(0, made),
    total: total.subarray(0, made),
    self: self.subarray(0, made),
    parts: parts?.map(part => part.subarray(0, made)) ?? null,
  })
  const ring = new Int32Array(arranged.graph.count)
  for (let node = 0; node < made; node++) ring[arranged.moved[node]] = ringOf[node]
  for (let i = 0; i < count; i++) moved[i] = arranged.moved[moved[i]]
  return { graph: arranged.graph, ring, rings, step: moved }
}

/**
 * Children by name. A node made of one other has children of different names, so that only those of merged nodes are
 * looked up: by open addressing, once there is anything to look for.
 */
class Children {
  private readonly first: Int32Array
  private readonly sibling: Int32Array
  private readonly isMerged: Uint8Array
  private readonly slots: Int32Array
  private readonly mask: number

  constructor(size: number, private readonly parent: Int32Array, private readonly name: Int32Array) {
    this.first = new Int32Array(size).fill(-1)
    this.sibling = new Int32Array(size)
    this.isMerged = new Uint8Array(size)
    const length = 2 ** Math.ceil(Math.log2(size * 2 + 2))
    this.slots = new Int32Array(length)
    this.mask = length - 1
  }

  add(node: number): void {
    const above = this.parent[node]
    this.sibling[node] = this.first[above]
    this.first[above] = node
    if (this.isMerged[above]) this.put(node)
  }

  /** Another node will be, or has been, put into this one: their children meet. */
  merge(node: number): void {
    if (this.isMerged[node]) return
    this.isMerged[node] = 1
    for (let child = this.first[node]; child >= 0; child = this.sibling[child]) this.put(child)
  }

  find(above: number, name: number): number {
    if (above < 0 || !this.isMerged[above]) return -1
    for (let at = this.start(above, name); this.slots[at] > 0; at = (at + 1) & this.mask) {
      const node = this.slots[at] - 1
      if (this.parent[node] === above && this.name[node] === name) return node
    }
    return -1
  }

  private put(node: number): void {
    let at = this.start(this.parent[node], this.name[node])
    while (this.slots[at] > 0) at = (at + 1) & this.mask
    this.slots[at] = node + 1
  }

  private start(above: number, name: number): number {
    const mixed = Math.imul(Math.imul(above, 0x9e3779b1) ^ name, 0x85ebca6b)
    return (mixed ^ (mixed >>> 15)) & this.mask
  }
}

function joined(a: Ring, b: Ring): Ring {
  return { names: [...new Set([...a.names, ...b.names])], times: Math.max(a.times, b.times), depth: Math.max(a.depth, b.depth) }
}

function carried(flags: Uint8Array, step: Int32Array, count: number): Uint8Array {
  const moved = new Uint8Array(count)
  for (let i = 0; i < flags.length; i++) if (flags[i]) moved[step[i]] = 1
  return moved
}
