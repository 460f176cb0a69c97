import { useMemo, useRef, useState } from 'preact/hooks'
import { cut } from '../model/names'
import type { TopOrder, TopRow } from '../model/top'
import { amount, duration, MEASURE_NOUNS, percent } from '../model/units'
import type { Session } from './session'
import type { State } from './state'

interface Properties {
  readonly session: Session
  readonly state: State
  readonly rows: readonly TopRow[]
  readonly match: Uint8Array | null
  /** In a sandwich: name, self and total only. */
  readonly narrow: boolean
  /** Colours by layer. */
  readonly fills: readonly string[]
  readonly onOrder: (order: TopOrder) => void
  readonly onMethod: (name: number) => void
}

/** Methods by weight, as a real table; a search narrows it to its hits. */
export function TopTable({ session, state, rows, match, narrow, fills, onOrder, onMethod }: Properties) {
  const [shown, setShown] = useState(FIRST_ROWS)
  const unit = session.unit(state)
  const whole = session.total(state)
  const hits = useMemo(() => (match === null ? rows : rows.filter(row => match[row.name])), [rows, match])
  const choose = useRef(onMethod)
  choose.current = onMethod
  const head = (order: TopOrder, text: string, title: string) => (
    <th scope="col" class="number" aria-sort={state.order === order ? 'descending' : 'none'} title={title}>
      <button onClick={() => onOrder(order)}>
        {text} {state.order === order ? '▾' : ''}
      </button>
    </th>
  )
  // Hovering over a graph renders the page around it; a hundred rows must not be made for that.
  const lines = useMemo(
    () =>
      hits.slice(0, shown).map(row => {
        const full = session.page.names[row.name]
        const isChosen = state.method === full
        return (
          <tr class={isChosen && narrow ? 'chosen' : ''} aria-current={isChosen && narrow ? 'true' : undefined}>
            <th scope="row" title={cut(full, LONGEST_NAME)}>
              <button onClick={() => choose.current(row.name)}>
                <span class="swatch" style={{ background: fills[session.page.layers[row.name]] }} />
                <span class="name">{cut(session.short(row.name), LONGEST_NAME)}</span>
                {narrow ? null : <span class="place">{cut(packageOf(full), 200)}</span>}
              </button>
            </th>
            <td>{row.self > 0 ? amount(row.self, unit) : ''}</td>
            {narrow ? null : (
              <td class="share">
                <span class="bar" style={{ width: `calc(${row.self / whole} * (100% - 26px))` }} />
                {row.self > 0 ? percent(row.self, whole) : ''}
              </td>
            )}
            <td>{narrow ? percent(row.total, whole) : amount(row.total, unit)}</td>
            {narrow ? null : (
              <td class="share">
                <span class="bar" style={{ width: `calc(${row.total / whole} * (100% - 26px))` }} />
                {percent(row.total, whole)}
              </td>
            )}
            {narrow ? null : <td title={duration(row.cpu)}>{coreSeconds(row.cpu)}</td>}
          </tr>
        )
      }),
    [hits, shown, narrow, state.method, session, unit, whole, fills],
  )
  return (
    <div class={narrow ? 'top narrow' : 'top'}>
      <table>
        <caption>
          {match === null ? `${rows.length.toLocaleString('en')} methods` : `${hits.length.toLocaleString('en')} of ${rows.length.toLocaleString('en')} methods match the search`}. Percent of the {MEASURE_NOUNS[state.measure]}
          {state.labels.size > 0 || state.statesOff.size > 0 ? ' in this filter' : ''}; a recursive method counts once per stack.
        </caption>
        <thead>
          <tr>
            <th scope="col">Method</th>
            {head('self', 'Self', 'Spent in the method itself')}
            {narrow ? null : <th scope="col" class="number share" aria-label="Self, percent" />}
            {head('total', 'Total', 'Spent in the method and in what it calls')}
            {narrow ? null : <th scope="col" class="number share" aria-label="Total, percent" />}
            {narrow ? null : head('cpu', 'Core-seconds', 'CPU time in the method and in what it calls, whatever is measured')}
          </tr>
        </thead>
        <tbody>{lines}</tbody>
      </table>
      {hits.length > shown ? (
        <button class="plain" onClick={() => setShown(shown + MORE_ROWS)}>
          Show {Math.min(MORE_ROWS, hits.length - shown)} more of {(hits.length - shown).toLocaleString('en')}
        </button>
      ) : null}
      {hits.length === 0 ? <p class="empty">No method matches the search.</p> : null}
    </div>
  )
}

function packageOf(full: string): string {
  const method = full.lastIndexOf('.')
  const type = full.lastIndexOf('.', method - 1)
  return type > 0 && /^[\w$.]+$/.test(full) ? full.slice(0, type) : ''
}

function coreSeconds(microseconds: number): string {
  if (microseconds === 0) return ''
  const seconds = microseconds / 1e6
  return seconds.toLocaleString('en', { minimumFractionDigits: seconds < 1000 ? 2 : 0, maximumFractionDigits: seconds < 1000 ? 2 : 0 })
}

const FIRST_ROWS = 100
const MORE_ROWS = 400
const LONGEST_NAME = 1000
