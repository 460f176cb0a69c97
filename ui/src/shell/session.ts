import { fold, type Fold } from '../model/fold'
import { flame, follow, pathOf, type Graph } from '../model/graph'
import { hotSpots, sandwich, topmostOf, type Sandwich } from '../model/group'
import { carry, withoutNames, type Reduced } from '../model/merge'
import { shorten } from '../model/names'
import { LAYERS, type Page, type Tree, type Unit } from '../model/page'
import { query, search, share, shareWithin, type Search } from '../model/search'
import { grandTotal, STATES, total, totalsOf, unitOf, weigh, type Selection, type Weights } from '../model/select'
import { sortTop, top, type TopRow } from '../model/top'
import type { Pane, State } from './state'

/** A graph ready for a view, zoomed as far as the wanted path exists in it. */
export interface Shown {
  readonly pane: Pane
  readonly graph: Graph
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
    const { graph, node, complete } = this.zoomed(state, pane)
    return { pane, graph, fold: this.folded[pane](graph, state.folded, unfolded), zoom: node, complete }
  }

  sandwich(state: State): Sandwich | null {
    const method = this.nameId(state.method)
    if (method < 1) return null
    const tree = this.tree(state)
    return this.sandwiched(tree, this.topmost(tree), this.weights(state), method, state.zoom.callers, state.zoom.callees)
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

  within(shown: Shown, match: Uint8Array): number {
    return shareWithin(shown.graph, shown.zoom, match)
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

  private zoomed(state: State, pane: Pane): { graph: Graph; node: number; complete: boolean } {
    if (pane === 'flame') {
      const graph = this.flamed(this.tree(state), this.weights(state))
      const { node, steps } = follow(graph, this.ids(state.zoom.flame), name => state.hidden.has(this.page.layers[name]))
      return { graph, node, complete: steps === state.zoom.flame.length }
    }
    if (pane === 'hot') {
      const hot = this.hotSpotted(this.tree(state), this.weights(state), state.zoom.hot)
      return { ...hot, complete: hot.steps === state.zoom.hot.length }
    }
    const half = this.sandwich(state)?.[pane]
    if (half === undefined) throw new Error('A sandwich without a method has no panes.')
    return { ...half, complete: half.steps === state.zoom[pane].length }
  }

  private cpuWeights(state: State): Weights {
    const weights = this.cpuWeighed(this.selection('cpu', state.labels, NO_STATES))
    const reduced = this.reduced(state.hidden)
    return reduced === null ? weights : this.cpuCarried(weights, reduced)
  }

  private ids(path: readonly string[]): number[] {
    return path.map(name => this.nameId(name))
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
  private readonly hotSpotted = memo((tree: Tree, weights: Weights, zoom: readonly string[]) => hotSpots(tree, weights, this.ids(zoom)), 1)
  private readonly sandwiched = memo(
    (tree: Tree, topmost: Uint8Array, weights: Weights, method: number, callers: readonly string[], callees: readonly string[]) =>
      sandwich(tree, topmost, weights, method, this.ids(callers), this.ids(callees)),
    1,
  )
  private readonly ranked = memo(
    (tree: Tree, topmost: Uint8Array, self: Float64Array, cpu: Float64Array) => top(tree, topmost, this.page.names.length, self, cpu),
    1,
  )
  private readonly sorted = memo((rows: readonly TopRow[], order: State['order']) => sortTop(rows, order), 1)
  private readonly folded: Record<Pane, (graph: Graph, on: boolean, unfolded: ReadonlySet<string>) => Fold> = {
    flame: this.folder('flame'),
    hot: this.folder('hot'),
    callers: this.folder('callers'),
    callees: this.folder('callees'),
  }

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

  private folder(pane: Pane): (graph: Graph, on: boolean, unfolded: ReadonlySet<string>) => Fold {
    return memo((graph: Graph, on: boolean, unfolded: ReadonlySet<string>) => {
      const open = new Set<number>()
      for (const key of unfolded) {
        const path = unfoldPath(key, pane)
        if (path === null) continue
        const { node, steps } = follow(graph, this.ids(path))
        if (steps === path.length) open.add(node)
      }
      return fold(graph, this.page.layers, on, head => open.has(head), pane === 'hot')
    }, 1)
  }
}

/** How an unfolded chain is remembered: the pane, and the path of names to its head. */
export function unfoldKey(pane: Pane, path: readonly string[]): string {
  return JSON.stringify([pane, ...path])
}

function unfoldPath(key: string, pane: Pane): string[] | null {
  const [of, ...path] = JSON.parse(key) as string[]
  return of === pane ? path : null
}

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
