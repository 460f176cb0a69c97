import { MEASURES, NONE, STATES, type Measure } from '../model/select'
import type { TopOrder } from '../model/top'

/** Everything a link to a view must carry. Paths are names, not nodes: a later report has other nodes. */
export interface State {
  readonly measure: Measure
  readonly view: View
  readonly labels: ReadonlyMap<string, ReadonlySet<string>>
  readonly statesOff: ReadonlySet<string>
  readonly search: string
  readonly zoom: Readonly<Record<Pane, readonly string[]>>
  /** The sandwich's method. */
  readonly method: string
  readonly folded: boolean
  readonly dimmed: ReadonlySet<number>
  readonly hidden: ReadonlySet<number>
  readonly order: TopOrder
}

export type View = 'flame' | 'hot' | 'sandwich' | 'top'
export type Pane = 'flame' | 'hot' | 'callers' | 'callees'

export const VIEWS: readonly View[] = ['flame', 'hot', 'sandwich', 'top']
export const PANES: readonly Pane[] = ['flame', 'hot', 'callers', 'callees']

export const START: State = {
  measure: 'cpu',
  view: 'flame',
  labels: new Map(),
  statesOff: new Set(),
  search: '',
  zoom: { flame: [], hot: [], callers: [], callees: [] },
  method: '',
  folded: true,
  dimmed: new Set(),
  hidden: new Set(),
  order: 'self',
}

export function toHash(state: State): string {
  const parameters = new URLSearchParams()
  if (state.measure !== START.measure) parameters.append('measure', state.measure)
  if (state.view !== START.view) parameters.append('view', state.view)
  for (const [key, values] of state.labels) {
    for (const value of values) parameters.append(value === NONE ? 'without' : `label.${key}`, value === NONE ? key : value)
  }
  for (const name of state.statesOff) parameters.append('off', name)
  if (state.search !== '') parameters.append('search', state.search)
  if (state.method !== '') parameters.append('method', state.method)
  for (const pane of PANES) for (const name of state.zoom[pane]) parameters.append(`zoom.${pane}`, name)
  if (!state.folded) parameters.append('folded', 'false')
  for (const layer of state.dimmed) parameters.append('dim', String(layer))
  for (const layer of state.hidden) parameters.append('hide', String(layer))
  if (state.order !== START.order) parameters.append('order', state.order)
  return parameters.toString()
}

/** Anything unknown in a link is left out, so that an old link still opens what it can. */
export function fromHash(hash: string): State {
  const parameters = new URLSearchParams(hash.replace(/^#/, ''))
  const labels = new Map<string, Set<string>>()
  const add = (key: string, value: string) => labels.set(key, (labels.get(key) ?? new Set()).add(value))
  const zoom: Record<Pane, string[]> = { flame: [], hot: [], callers: [], callees: [] }
  for (const [key, value] of parameters) {
    if (key.startsWith('label.')) add(key.slice('label.'.length), value)
    else if (key === 'without') add(value, NONE)
    for (const pane of PANES) if (key === `zoom.${pane}`) zoom[pane].push(value)
  }
  return {
    measure: oneOf(MEASURES, parameters.get('measure'), START.measure),
    view: oneOf(VIEWS, parameters.get('view'), START.view),
    labels,
    statesOff: new Set(parameters.getAll('off').filter(name => (STATES as readonly string[]).includes(name))),
    search: parameters.get('search') ?? '',
    zoom,
    method: parameters.get('method') ?? '',
    folded: parameters.get('folded') !== 'false',
    dimmed: layersIn(parameters.getAll('dim')),
    hidden: layersIn(parameters.getAll('hide')),
    order: oneOf(['self', 'total', 'cpu'] as const, parameters.get('order'), START.order),
  }
}

function oneOf<T extends string>(allowed: readonly T[], value: string | null, otherwise: T): T {
  return (allowed as readonly (string | null)[]).includes(value) ? (value as T) : otherwise
}

function layersIn(values: readonly string[]): Set<number> {
  return new Set(values.filter(value => /^[0-7]$/.test(value)).map(Number))
}
