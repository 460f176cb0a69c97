import { ABSENT, type Page, type Tree, type Unit } from './page'

/** What the page shows: one kind of value, of the label sets that pass the filters. */
export interface Selection {
  readonly measure: Measure
  /** Label key -> the values that pass; a key that is missing or empty passes everything. */
  readonly labels: ReadonlyMap<string, ReadonlySet<string>>
  /** Thread states switched off in the latency measure. */
  readonly statesOff: ReadonlySet<string>
}

/** Latency is wall time of every thread state but IDLE, told apart by state. */
export type Measure = 'cpu' | 'wall' | 'latency' | 'alloc_space' | 'alloc_objects' | 'samples' | 'delay' | 'contentions'

export const MEASURES: readonly Measure[] = ['cpu', 'wall', 'latency', 'alloc_space', 'alloc_objects', 'samples', 'delay', 'contentions']

export const STATES = ['RUNNABLE', 'NATIVE', 'BLOCKED', 'WAITING', 'TIMED_WAITING'] as const

/** How a label filter writes "this sample has no such label". */
export const NONE = '\u0000none'

export const THREAD_STATE = 'thread_state'

/** Values per node of the selection; `parts` holds the same by state, in the order of STATES, for latency. */
export interface Weights {
  readonly self: Float64Array
  readonly parts: readonly Float64Array[] | null
}

export interface LabelShare {
  readonly value: string
  readonly total: number
}

export function weigh(page: Page, selection: Selection): Weights {
  const self = new Float64Array(page.tree.name.length)
  const parts = selection.measure === 'latency' ? STATES.map(() => new Float64Array(self.length)) : null
  const type = typeOf(selection.measure)
  const passes = passing(page, selection)
  const states = statesOfSets(page)
  for (const cell of page.cells) {
    const values = cell.values.get(type)
    if (!passes[cell.set] || values === undefined) continue
    const { node } = cell
    for (let i = 0; i < node.length; i++) self[node[i]] += values[i]
    if (parts === null) continue
    const part = parts[states[cell.set]]
    for (let i = 0; i < node.length; i++) part[node[i]] += values[i]
  }
  return { self, parts }
}

export function totalsOf(tree: Tree, self: Float64Array): Float64Array {
  const total = self.slice()
  for (let i = total.length - 1; i > 0; i--) total[tree.parent[i]] += total[i]
  return total
}

/** The total of each value of one label, the other filters applied; largest first. */
export function labelShares(page: Page, selection: Selection, key: string): LabelShare[] {
  const at = page.labels.keys.indexOf(key)
  if (at < 0) return []
  const labels = new Map(selection.labels)
  labels.delete(key)
  const passes = passing(page, { ...selection, labels })
  const type = typeOf(selection.measure)
  const values = page.labels.values[at]
  const totals = new Map<number, number>()
  for (const cell of page.cells) {
    const column = cell.values.get(type)
    if (!passes[cell.set] || column === undefined) continue
    const value = page.labels.sets[cell.set][at]
    let sum = totals.get(value) ?? 0
    for (let i = 0; i < column.length; i++) sum += column[i]
    totals.set(value, sum)
  }
  return [...totals]
    .filter(([, total]) => total > 0)
    .map(([value, total]) => ({ value: value === ABSENT ? NONE : values[value], total }))
    .sort((a, b) => b.total - a.total || (a.value < b.value ? -1 : 1))
}

/** The sum over every label set: what "of all" means. */
export function grandTotal(page: Page, measure: Measure): number {
  return total(page, { measure, labels: new Map(), statesOff: new Set() })
}

export function total(page: Page, selection: Selection): number {
  const passes = passing(page, selection)
  const type = typeOf(selection.measure)
  let sum = 0
  for (const cell of page.cells) {
    const column = cell.values.get(type)
    if (!passes[cell.set] || column === undefined) continue
    for (let i = 0; i < column.length; i++) sum += column[i]
  }
  return sum
}

export function typeOf(measure: Measure): string {
  return measure === 'latency' ? 'wall' : measure
}

export function unitOf(page: Page, measure: Measure): Unit {
  const type = typeOf(measure)
  return page.types.find(entry => entry.name === type)?.unit ?? 'count'
}

function passing(page: Page, selection: Selection): Uint8Array {
  const { keys, values, sets } = page.labels
  const passes = new Uint8Array(sets.length).fill(1)
  keys.forEach((key, at) => {
    const wanted = selection.labels.get(key)
    if (wanted === undefined || wanted.size === 0) return
    // A thread state is on wall values only; it must not hide the other measures.
    if (key === THREAD_STATE && typeOf(selection.measure) !== 'wall') return
    const open = values[at].map(value => wanted.has(value))
    const none = wanted.has(NONE)
    sets.forEach((set, i) => {
      if (!(set[at] === ABSENT ? none : open[set[at]])) passes[i] = 0
    })
  })
  if (selection.measure !== 'latency') return passes
  const states = statesOfSets(page)
  states.forEach((state, i) => {
    if (state < 0 || selection.statesOff.has(STATES[state])) passes[i] = 0
  })
  return passes
}

/** Per label set its index in STATES, -1 for IDLE and for sets that carry no state. */
function statesOfSets(page: Page): Int8Array {
  const at = page.labels.keys.indexOf(THREAD_STATE)
  return Int8Array.from(page.labels.sets, set => {
    if (at < 0 || set[at] === ABSENT) return -1
    return (STATES as readonly string[]).indexOf(page.labels.values[at][set[at]])
  })
}
