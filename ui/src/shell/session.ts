import { fold, type Fold } from '../model/fold'
import { flame, follow, pathOf, type Graph } from '../model/graph'
import { calleesOf, callersOf, filling, hotSpots, topmostOf, type Filling } from '../model/group'
import { carry, withoutNames, type Reduced } from '../model/merge'
import { shorten } from '../model/names'
import { LAYERS, type Page, type Tree, type Unit } from '../model/page'
import { placesOf, plain, unwind, type Unwound } from '../model/recursion'
import { query, search, share, shareWithin, type Search } from '../model/search'
import { grandTotal, STATES, total, totalsOf, unitOf, weigh, type Selection, type Weights } from '../model/select'
import { sortTop, top, type TopRow } from '../model/top'
import type { Pane, State } from './state'

/** A graph ready for a view, zoomed as far as the wanted path exists in it. */
export interface Shown {
  readonly pane: Pane
  readonly graph: Graph
  readonly unwound: Unwound
  readonly fold: Fold
  readonly zoom: number
  /** False where the zoomed frame has nothing under the present filter; its nearest caller is shown. */
  readonly complete: boolean
}

export type Found =
  | { readonly kind: 'error'; readonly message: string }
  | { readonly kind: 'hits'; readonly match: Uint8Array; readonly methods: number; readonly weight: number; readonly places: number }

/** What a page and a state give, each step computed anew only when what it depends on has changed. */
export class Session {
  private readonly shortNames: (string | undefined)[] = []
  private readonly idOf = new Map<string, number>()

  constructor(readonly page: Page) {
    page.names.forEach((name, id) => {
      if (!this.idOf.has(name)) this.idOf.set(name, id)
    })
  }

  short = (name: number): string => (this.shortNames[name] ??= shorten(this.page.names[name]))

  nameId(name: string): number {
    return this.idOf.get(name) ?? -1
  }

  unit(state: State): Unit {
    return unitOf(this.page, state.measure)
  }

  /** The total of what passes the filters. */
  total(state: State): number {
    return this.totalOf(this.selection(state.measure, state.labels, state.statesOff))
  }

  /** The total with no filter at all. */
  grand(state: State): number {
    return this.grandOf(state.measure)
  }

  tree(state: State): Tree {
    return this.reduced(state.hidden)?.tree ?? this.page.tree
  }

  weights(state: State): Weights {
    const weights = this.weighed(this.selection(state.measure, state.labels, state.statesOff))
    const reduced = this.reduced(state.hidden)
    return reduced === null ? weights : this.carried(weights, reduced)
  }

  shown(state: State, pane: Pane, unfolded: ReadonlySet<string>): Shown {
    const raw = this.raw(state, pane)
    const unwound = this.unwound[pane](raw, state.folded, unfolded)
    const { node, complete } = this.zoomed(state, pane, unwound)
    return { pane, graph: unwound.graph, unwound, fold: this.folded[pane](unwound, state.folded, unfolded), zoom: node, complete }
  }

  sandwich(state: State): Filling | null {
    const method = this.nameId(state.method)
    if (method < 1) return null
    const tree = this.tree(state)
    return this.filled(tree, this.topmost(tree), this.weights(state), method)
  }

  top(state: State): readonly TopRow[] {
    const cpu = this.cpuWeights(state)
    const tree = this.tree(state)
    return this.sorted(this.ranked(tree, this.topmost(tree), this.weights(state).self, cpu.self), state.order)
  }

  /** Null: nothing is searched for. */
  found(state: State): Found | null {
    return this.searched(state.search, this.tree(state), this.weights(state))
  }

  within({ unwound, zoom }: Shown, match: Uint8Array): number {
    // Not every stack of a ring has each of its methods in it.
    return placesOf(unwound, zoom).reduce((sum, place) => sum + shareWithin(unwound.raw, place, match), 0)
  }

  /** Self weight by layer; what hidden layers weighed is their callers'. */
  layerShares(state: State): readonly number[] {
    return this.layered(this.tree(state), this.weights(state))
  }

  /** Weight by thread state under the filters, states that are switched off included. */
  stateShares(state: State): readonly number[] {
    return this.stated(this.selection(state.measure, state.labels, NO_STATES))
  }

  names(graph: Graph, node: number): string[] {
    return pathOf(graph, node).map(name => this.page.names[name])
  }

  /** The names from the root down to a node, as a link holds them. */
  path({ unwound }: Shown, node: number): string[] {
    const { graph, ring } = unwound
    const path: string[] = []
    for (let i = node; i > 0; i = graph.parent[i]) path.push((ring[i] < 0 ? '' : RING) + this.page.names[graph.name[i]])
    return path.reverse()
  }

  /** The stack of a node, the calls of a recursion before it each in its own line: that of its heaviest place. */
  stack({ unwound }: Shown, node: number): string[] {
    return pathOf(unwound.raw, unwound.source[node]).map(name => this.page.names[name])
  }

  private raw(state: State, pane: Pane): Graph {
    if (pane === 'flame') return this.flamed(this.tree(state), this.weights(state))
    if (pane === 'hot') return this.openedFor(state.zoom.hot, zoom => this.hotSpotted(this.tree(state), this.weights(state), zoom).graph)
    const found = this.sandwich(state)
    if (found === null) throw new Error('A sandwich without a method has no panes.')
    return this.openedFor(state.zoom[pane], zoom => this.half[pane](found, zoom).graph)
  }

  /** The graph as it is without a zoom, where what is zoomed to is a good part of it: that is opened as far as can be seen. */
  private openedFor(path: readonly string[], open: (zoom: readonly string[]) => Graph): Graph {
    const wanted = this.opened(path)
    if (wanted.length === 0) return open(NOWHERE)
    const whole = open(NOWHERE)
    const { node, steps } = follow(whole, this.ids(wanted))
    return steps === wanted.length && whole.total[node] >= whole.total[0] * LEAST_OPENED ? whole : open(wanted)
  }

  /**
   * Where a path leads to. A path may come from a graph whose recursions were folded and this one's are not, or the
   * other way round.
   */
  private zoomed(state: State, pane: Pane, unwound: Unwound): { node: number; complete: boolean } {
    const path = this.ids(state.zoom[pane])
    const skip = (name: number) => state.hidden.has(this.page.layers[name])
    const here = follow(unwound.graph, path, skip)
    if (here.steps === path.length) return { node: here.node, complete: true }
    const raw = follow(unwound.raw, path, skip)
    if (raw.steps === path.length) return { node: unwound.target[raw.node], complete: true }
    const whole = this.whole[pane](unwound.raw)
    const there = follow(whole.graph, path, skip)
    if (there.steps === path.length) return { node: unwound.target[whole.source[there.node]], complete: true }
    return { node: here.node, complete: false }
  }

  /** As much of a path as leads to one place: the graphs that open what is zoomed to must open all of a ring. */
  private readonly opened = memo((path: readonly string[]): readonly string[] => {
    const ring = path.findIndex(name => this.nameId(name) < 0 && name.startsWith(RING))
    return ring < 0 ? path : path.slice(0, ring + 1)
  }, 6)

  private cpuWeights(state: State): Weights {
    const weights = this.cpuWeighed(this.selection('cpu', state.labels, NO_STATES))
    const reduced = this.reduced(state.hidden)
    return reduced === null ? weights : this.cpuCarried(weights, reduced)
  }

  private ids(path: readonly string[]): number[] {
    return path.map(name => {
      const id = this.nameId(name)
      return id < 0 && name.startsWith(RING) ? this.nameId(name.slice(RING.length)) : id
    })
  }

  private readonly selection = memo((measure: Selection['measure'], labels: Selection['labels'], statesOff: Selection['statesOff']): Selection => ({ measure, labels, statesOff }), 4)
  private readonly weighed = memo((selection: Selection) => weigh(this.page, selection), 1)
  private readonly cpuWeighed = memo((selection: Selection) => weigh(this.page, selection), 1)
  private readonly totalOf = memo((selection: Selection) => total(this.page, selection), 1)
  private readonly grandOf = memo((measure: Selection['measure']) => grandTotal(this.page, measure), 1)
  private readonly reduced = memo((hidden: ReadonlySet<number>) => {
    return hidden.size === 0 ? null : withoutNames(this.page.tree, name => name > 0 && hidden.has(this.page.layers[name]))
  }, 1)
  private readonly carried = memo((weights: Weights, reduced: Reduced) => carry(weights, reduced), 1)
  private readonly cpuCarried = memo((weights: Weights, reduced: Reduced) => carry(weights, reduced), 1)
  private readonly topmost = memo((tree: Tree) => topmostOf(tree), 1)
  private readonly flamed = memo((tree: Tree, weights: Weights) => flame(tree, weights), 1)
  private readonly hotSpotted = memo((tree: Tree, weights: Weights, zoom: readonly string[]) => hotSpots(tree, weights, this.ids(zoom)), 2)
  private readonly filled = memo((tree: Tree, topmost: Uint8Array, weights: Weights, method: number) => filling(tree, topmost, weights, method), 1)
  // Each half by itself: a zoom in one leaves the other as it is.
  private readonly half = {
    callers: memo((found: Filling, zoom: readonly string[]) => callersOf(found, this.ids(zoom)), 2),
    callees: memo((found: Filling, zoom: readonly string[]) => calleesOf(found, this.ids(zoom)), 2),
  }
  private readonly ranked = memo(
    (tree: Tree, topmost: Uint8Array, self: Float64Array, cpu: Float64Array) => top(tree, topmost, this.page.names.length, self, cpu),
    1,
  )
  private readonly sorted = memo((rows: readonly TopRow[], order: State['order']) => sortTop(rows, order), 1)
  private readonly unwound = perPane(pane =>
    memo((raw: Graph, on: boolean, unfolded: ReadonlySet<string>) => (on ? unwind(raw, { open: this.unfoldedIn(pane, unfolded), keepsFirst: pane === 'hot' }) : plain(raw)), 2),
  )
  private readonly whole = perPane(pane => memo((raw: Graph) => unwind(raw, { open: [], keepsFirst: pane === 'hot' }), 1))
  private readonly folded = perPane(pane =>
    memo((unwound: Unwound, on: boolean, unfolded: ReadonlySet<string>) => {
      const open = new Set<number>()
      for (const path of this.unfoldedIn(pane, unfolded)) {
        const { node, steps } = follow(unwound.graph, path)
        if (steps === path.length) open.add(node)
      }
      return fold(unwound, this.page.layers, on, head => open.has(head), pane === 'hot')
    }, 2),
  )

  private readonly layered = memo((tree: Tree, weights: Weights) => {
    const shares = LAYERS.map(() => 0)
    for (let i = 1; i < tree.name.length; i++) shares[this.page.layers[tree.name[i]]] += weights.self[i]
    return shares
  }, 1)

  private readonly stated = memo((selection: Selection) => {
    const { parts } = weigh(this.page, selection)
    return (parts ?? STATES.map(() => new Float64Array(0))).map(part => part.reduce((sum, value) => sum + value, 0))
  }, 1)

  private readonly matched = memo((text: string): Search | { error: string } | null => {
    const wanted = query(text)
    if (wanted === null || 'error' in wanted) return wanted
    return search(this.page.names, this.page.names.map((_, id) => this.short(id)), wanted.matches)
  }, 1)

  private readonly searched = memo((text: string, tree: Tree, weights: Weights): Found | null => {
    const result = this.matched(text)
    if (result === null) return null
    if ('error' in result) return { kind: 'error', message: result.error }
    return { kind: 'hits', ...result, ...share(tree, totalsOf(tree, weights.self), result.match) }
  }, 1)

  private unfoldedIn(pane: Pane, unfolded: ReadonlySet<string>): number[][] {
    return [...unfolded].map(key => unfoldPath(key, pane)).filter(path => path !== null).map(path => this.ids(path))
  }
}

/** How an unfolded row is remembered: the pane, and the path of names to its head. */
export function unfoldKey(pane: Pane, path: readonly string[]): string {
  return JSON.stringify([pane, ...path])
}

function unfoldPath(key: string, pane: Pane): string[] | null {
  const [of, ...path] = JSON.parse(key) as string[]
  return of === pane ? path : null
}

function perPane<T>(make: (pane: Pane) => T): Record<Pane, T> {
  return { flame: make('flame'), hot: make('hot'), callers: make('callers'), callees: make('callees') }
}

const NOWHERE: readonly string[] = []

/** Of the whole graph. What is not opened in it is then narrower than 1/2048 of the view. */
const LEAST_OPENED = 1 / 4

/** Before a name in a path: its frame is a recursion, which all of its calls share. */
const RING = '\u21bb'

const NO_STATES: ReadonlySet<string> = new Set()

/** Remembers the results for the last few distinct arguments. */
function memo<A extends unknown[], R>(compute: (...parts: A) => R, kept: number): (...parts: A) => R {
  const known: { parts: A; result: R }[] = []
  return (...parts) => {
    const hit = known.find(entry => entry.parts.every((part, i) => Object.is(part, parts[i])))
    if (hit !== undefined) return hit.result
    const result = compute(...parts)
    known.unshift({ parts, result })
    known.length = Math.min(known.length, kept)
    return result
  }
}
