import { useEffect, useRef, useState } from 'preact/hooks'
import { cut, visible } from '../model/names'
import type { Page } from '../model/page'
import { labelShares, NONE, THREAD_STATE, typeOf, type Selection } from '../model/select'
import { amount, MEASURE_NOUNS, percent } from '../model/units'
import type { Session } from './session'
import type { State } from './state'

interface Properties {
  readonly session: Session
  readonly state: State
  readonly onChange: (labels: State['labels']) => void
}

/** One button for each label that tells samples apart, each with a list of values and what they weigh. */
export function Filters({ session, state, onChange }: Properties) {
  const [open, setOpen] = useState('')
  const keys = usefulKeys(session.page, state)
  const change = (key: string, values: ReadonlySet<string>) => {
    const labels = new Map(state.labels)
    if (values.size === 0) labels.delete(key)
    else labels.set(key, values)
    onChange(labels)
  }
  return (
    <div class="filters" role="group" aria-label="Filters">
      {keys.map(key => (
        <Filter
          key={key}
          name={key}
          page={session.page}
          selection={state}
          wanted={state.labels.get(key) ?? EMPTY}
          isOpen={open === key}
          onOpen={isOpen => setOpen(isOpen ? key : '')}
          onChange={values => change(key, values)}
        />
      ))}
      {state.labels.size > 0 ? (
        <button class="link" onClick={() => onChange(new Map())}>
          Clear filters
        </button>
      ) : null}
    </div>
  )
}

interface FilterProperties {
  readonly name: string
  readonly page: Page
  readonly selection: Selection
  readonly wanted: ReadonlySet<string>
  readonly isOpen: boolean
  readonly onOpen: (isOpen: boolean) => void
  readonly onChange: (values: ReadonlySet<string>) => void
}

function Filter({ name, page, selection, wanted, isOpen, onOpen, onChange }: FilterProperties) {
  const host = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (!isOpen) return
    const outside = (event: Event) => {
      if (host.current !== null && !event.composedPath().includes(host.current)) onOpen(false)
    }
    document.addEventListener('pointerdown', outside)
    return () => document.removeEventListener('pointerdown', outside)
  }, [isOpen])
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || !isOpen) return
    event.stopPropagation()
    onOpen(false)
    host.current?.querySelector('button')?.focus()
  }
  const values = [...wanted]
  const text = values.length === 0 ? 'all' : shortened(values.map(value => valueName(name, value)).join(', '), 28)
  return (
    <div class="filter" ref={host} onKeyDown={onKeyDown}>
      <button class={values.length > 0 ? 'pick chosen' : 'pick'} aria-expanded={isOpen} aria-haspopup="true" onClick={() => onOpen(!isOpen)}>
        <span class="key">{keyName(name)}</span> {text} <span class="arrow">▾</span>
      </button>
      {values.length > 0 ? (
        <button class="remove" aria-label={`Clear the filter ${keyName(name)}`} title="Clear" onClick={() => onChange(EMPTY)}>
          ×
        </button>
      ) : null}
      {isOpen ? <Values name={name} page={page} selection={selection} wanted={wanted} onChange={onChange} /> : null}
    </div>
  )
}

function Values({ name, page, selection, wanted, onChange }: Omit<FilterProperties, 'isOpen' | 'onOpen'>) {
  const [text, setText] = useState('')
  const shares = labelShares(page, selection, name)
  // A chosen value without weight under the other filters must stay visible, or it could not be taken away.
  const missing = [...wanted].filter(value => !shares.some(entry => entry.value === value)).map(value => ({ value, total: 0 }))
  const all = [...missing, ...shares]
  const whole = shares.reduce((sum, entry) => sum + entry.total, 0)
  const unit = page.types.find(type => type.name === typeOf(selection.measure))?.unit ?? 'count'
  const found = all.filter(entry => describe(page, name, entry.value).toLowerCase().includes(text.toLowerCase()))
  const toggle = (value: string) => {
    const next = new Set(wanted)
    if (!next.delete(value)) next.add(value)
    onChange(next)
  }
  return (
    <div class="popover" role="dialog" aria-label={`Filter by ${keyName(name)}`}>
      {all.length > 8 ? <input type="search" placeholder={`Find among ${all.length}`} aria-label="Find a value" value={text} onInput={event => setText(event.currentTarget.value)} /> : null}
      <div class="values">
        {found.slice(0, MOST_VALUES).map(({ value, total }) => (
          <label title={cut(describe(page, name, value), 300)}>
            <input type="checkbox" checked={wanted.has(value)} onChange={() => toggle(value)} />
            <span class="name">{cut(describe(page, name, value), 120)}</span>
            <span class="number">{amount(total, unit)}</span>
            <span class="number">{percent(total, whole)}</span>
            <span class="bar" style={{ width: `${whole > 0 ? (100 * total) / whole : 0}%` }} />
          </label>
        ))}
        {found.length === 0 ? <p class="muted">{all.length === 0 ? `No ${MEASURE_NOUNS[selection.measure]} under the other filters.` : 'No such value.'}</p> : null}
        {found.length > MOST_VALUES ? <p class="muted">{found.length - MOST_VALUES} more: type to find them.</p> : null}
      </div>
      <p class="foot">Shares of the {MEASURE_NOUNS[selection.measure]} that passes the other filters</p>
    </div>
  )
}

export function keyName(key: string): string {
  const known = KEY_NAMES.get(key)
  if (known !== undefined) return known
  const words = visible(key.replace(/^user_/, '')).replace(/_/g, ' ').trim()
  if (words === '') return '(label without a name)'
  const title = words.charAt(0).toUpperCase() + words.slice(1)
  // A label that the job sets may be called as one of Spark's.
  return [...KEY_NAMES.values()].includes(title) ? `Label ${words}` : title
}

function valueName(key: string, value: string): string {
  if (value === NONE) return OUTSIDE_TASKS.has(key) ? 'outside of tasks' : 'none'
  return value === '' ? '(empty)' : value
}

function shortened(text: string, length: number): string {
  return text.length <= length ? visible(text) : `${visible(text.slice(0, length))}…`
}

/** A value with what is known of it: a stage's name, a process's host. */
function describe(page: Page, key: string, value: string): string {
  const own = valueName(key, value)
  if (key === 'stage') {
    const stage = page.stages.find(entry => entry.stage === value)
    return stage === undefined || stage.name === '' ? own : `${own} · ${stage.name}`
  }
  if (key === 'process') {
    const process = page.processes.find(entry => entry.id === value)
    return process === undefined || process.host === '' ? own : `${own} · ${process.host}`
  }
  return own
}

/** A label with one value for everything picks nothing; a thread state is on wall time only, and latency has its legend. */
function usefulKeys(page: Page, state: State): string[] {
  const keys = page.labels.keys.filter((key, at) => {
    if (key === THREAD_STATE) return state.measure === 'wall'
    if (state.labels.has(key)) return true
    const first = page.labels.sets[0]?.[at]
    return page.labels.sets.some(set => set[at] !== first)
  })
  const rank = (key: string) => (KEY_ORDER.includes(key) ? KEY_ORDER.indexOf(key) : KEY_ORDER.length)
  return keys.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
}

const EMPTY: ReadonlySet<string> = new Set()
const MOST_VALUES = 200
const OUTSIDE_TASKS: ReadonlySet<string> = new Set(['stage', 'stage_attempt', 'sql_execution'])
const KEY_ORDER = [THREAD_STATE, 'process', 'stage', 'stage_attempt', 'sql_execution', 'job_group', 'job_description', 'thread']
const KEY_NAMES: ReadonlyMap<string, string> = new Map([
  ['process', 'Process'],
  ['stage', 'Stage'],
  ['stage_attempt', 'Attempt'],
  ['sql_execution', 'SQL'],
  ['job_group', 'Job group'],
  ['job_description', 'Job'],
  ['thread', 'Thread'],
  [THREAD_STATE, 'State'],
])
