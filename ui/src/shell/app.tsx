import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { markOf, restOf, ROW, type Scene } from '../canvas/draw'
import { DARK, LIGHT, type Palette } from '../canvas/palette'
import type { Drawn, FlameView, Listener } from '../canvas/view'
import { callsOf } from '../model/fold'
import type { Graph } from '../model/graph'
import { cut } from '../model/names'
import { LAYERS, type Page } from '../model/page'
import { shares } from '../model/recursion'
import { MEASURES, STATES, type Measure } from '../model/select'
import { amount, MEASURE_NAMES, MEASURE_NOUNS, percent } from '../model/units'
import { Crumbs } from './crumbs'
import { Filters } from './filters'
import { Header } from './header'
import { Help } from './help'
import { Legend } from './legend'
import { FlamePane } from './pane'
import { Session, unfoldKey, type Found, type Shown } from './session'
import { fromHash, START, toHash, VIEWS, type Pane, type State, type View } from './state'
import { TopTable } from './table'
import { useTheme } from './theme'
import { Menu, Tooltip, type MenuItem, type Tip } from './tooltip'
import { copyText, saveCollapsed } from './transfer'

/** What is shown and drawn now; filled by the app at each change. */
export interface Inspector {
  page: Page | null
  state: State | null
  frames: (pane: Pane) => (Drawn & { names: string[]; times: number; total: number; self: number })[]
  hits: (pane: Pane) => Drawn[]
  ticks: (pane: Pane) => readonly number[]
  numbers: () => { total: number; all: number; found: Found | null } | null
}

interface Properties {
  readonly page: Page | null
  readonly problem: string
  readonly inspect: Inspector
}

export function App({ page, problem, inspect }: Properties) {
  const { theme, choice, choose } = useTheme()
  return (
    <div class="app" data-theme={theme}>
      {page === null ? (
        <main class="message">
          <p role={problem === '' ? 'status' : 'alert'}>{problem === '' ? 'Reading the profile…' : problem}</p>
        </main>
      ) : (
        <Profile page={page} inspect={inspect} palette={theme === 'dark' ? DARK : LIGHT} themeChoice={choice} onTheme={choose} />
      )}
    </div>
  )
}

interface ProfileProperties {
  readonly page: Page
  readonly inspect: Inspector
  readonly palette: Palette
  readonly themeChoice: ReturnType<typeof useTheme>['choice']
  readonly onTheme: ReturnType<typeof useTheme>['choose']
}

function Profile({ page, inspect, palette, themeChoice, onTheme }: ProfileProperties) {
  const session = useMemo(() => new Session(page), [page])
  const [wanted, setState] = useState(() => fromHash(location.hash))
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set())
  const [tip, setTip] = useState<Tip | null>(null)
  const [menu, setMenu] = useState<{ x: number; y: number; items: MenuItem[] } | null>(null)
  const [isHelping, setHelping] = useState(false)
  const [message, setMessage] = useState('')
  const trail = useRef<State[]>([])
  const views = useRef(new Map<Pane, FlameView>())
  const search = useRef<HTMLInputElement>(null)
  const root = useRef<HTMLDivElement>(null)
  const state = useMemo(() => withMethod(session, wanted), [session, wanted])
  const latest = useRef(state)
  latest.current = state

  const change = useCallback((part: Partial<State>, replace = false) => {
    const before = latest.current
    const next = { ...before, ...part }
    latest.current = next
    setState(next)
    setTip(null)
    setMessage('')
    const hash = `#${toHash(next)}`
    if (replace) history.replaceState(null, '', hash)
    else history.pushState(null, '', hash)
  }, [])

  /** A step that Esc takes back. */
  const go = useCallback(
    (part: Partial<State>) => {
      trail.current.push(latest.current)
      change(part)
    },
    [change],
  )

  const back = useCallback(() => {
    const before = trail.current.pop()
    if (before !== undefined) return change({ view: before.view, zoom: before.zoom, method: before.method })
    const { view, zoom } = latest.current
    const isZoomed = panesOf(view).some(pane => zoom[pane].length > 0)
    if (isZoomed) change({ zoom: { ...zoom, ...Object.fromEntries(panesOf(view).map(pane => [pane, []])) } })
  }, [change])

  useEffect(() => {
    const onPop = () => {
      trail.current = []
      setState(fromHash(location.hash))
    }
    addEventListener('popstate', onPop)
    return () => removeEventListener('popstate', onPop)
  }, [])

  const sandwich = state.view === 'sandwich' ? session.sandwich(state) : null
  const total = session.total(state)
  const found = session.found(state)
  const match = found !== null && found.kind === 'hits' ? found.match : null
  const unit = session.unit(state)
  const noun = MEASURE_NOUNS[state.measure]
  const isFiltered = state.labels.size > 0 || state.statesOff.size > 0
  const ofWhat = isFiltered ? `of ${noun} in this filter` : `of all ${noun}`

  const drawnPanes = total === 0 || (state.view === 'sandwich' && (sandwich === null || sandwich.total === 0)) ? [] : panesOf(state.view)
  const shown = new Map(drawnPanes.map(pane => [pane, session.shown(state, pane, unfolded)]))

  const describe = ({ graph, fold }: Shown, node: number): string => {
    const ring = fold.ringOf(node)
    return `${cut(nameOf(session, graph, node, rootLabel), 200)}${ring === null ? '' : ` ×${ring.times}`}: ${weightOf(graph, node)}`
  }
  const weightOf = (graph: Graph, node: number): string =>
    `${amount(graph.total[node], unit)}, ${percent(graph.total[node], total)} ${ofWhat}, self ${amount(graph.self[node], unit)}`
  const rootLabel = `all · ${amount(total, unit)}${isFiltered ? ' in this filter' : ''}`

  const copy = async (text: string) => setMessage((await copyText(text)) ? `Copied: ${cut(text, 120)}` : 'This browser does not let the page copy.')
  const toSandwich = (name: number) => {
    if (name > 0) go({ view: 'sandwich', method: page.names[name], zoom: { ...state.zoom, callers: [], callees: [] } })
  }
  const zoomTo = (shownPane: Shown, node: number) => {
    const { pane, graph } = shownPane
    const path = session.path(shownPane, node)
    const before = state.zoom[pane]
    if (path.length === before.length && path.every((name, at) => name === before[at])) return
    go({ zoom: { ...state.zoom, [pane]: path } })
    // The breadcrumb tells the name.
    setMessage(`Zoomed to ${weightOf(graph, node)}`)
  }
  const keyOf = ({ pane, graph }: Shown, head: number) => unfoldKey(pane, session.names(graph, head))
  const toggleFold = (shownPane: Shown, head: number) => {
    const key = keyOf(shownPane, head)
    const next = new Set(unfolded)
    if (!next.delete(key)) {
      if (markOf(shownPane.fold, head) === '') return
      next.add(key)
    }
    setUnfolded(next)
    setTip(null)
  }

  const listenerOf = (shownPane: Shown): Listener => {
    const { graph, fold } = shownPane
    return {
      zoom: node => zoomTo(shownPane, node),
      unfold: head => toggleFold(shownPane, head),
      sandwich: node => toSandwich(graph.name[node]),
      copy: node => void copy(page.names[graph.name[node]]),
      leave: () => setTip(null),
      focus: node => setMessage(describe(shownPane, node)),
      hover: (node, rest, x, y) => setTip(rest ? restTip(graph, node, x, y) : frameTip(shownPane, node, x, y)),
      menu: (node, x, y) => {
        const name = graph.name[node]
        const full = page.names[name]
        const items: MenuItem[] = [{ text: 'Zoom to this frame', key: 'Enter', act: () => zoomTo(shownPane, node) }]
        if (markOf(fold, node) !== '') items.push({ text: `Unfold ${counted(callsOf(fold, node), 'call')}`, key: 'Space', act: () => toggleFold(shownPane, node) })
        else if (unfolded.has(keyOf(shownPane, node))) items.push({ text: 'Fold again', key: 'Space', act: () => toggleFold(shownPane, node) })
        if (name > 0) {
          items.push(
            { text: 'Sandwich: callers and callees', key: 's', act: () => toSandwich(name) },
            { text: 'Search for this method', act: () => change({ search: full }, true) },
            { text: 'Copy full name', key: 'c', act: () => void copy(full) },
            { text: 'Copy stack', act: () => void copy(session.stack(shownPane, node).join('\n')) },
            { text: `Leave out ${LAYERS[page.layers[name]]}`, act: () => change({ hidden: new Set([...state.hidden, page.layers[name]]) }, true) },
          )
        }
        setTip(null)
        setMenu({ x, y, items })
      },
    }
  }

  const frameTip = (shownPane: Shown, node: number, x: number, y: number): Tip => {
    const { graph, fold, unwound, zoom } = shownPane
    const isRoot = node === 0 && graph.name[0] === 0
    const isChain = fold.chainEnd[node] - node > 1
    const ring = isChain ? null : fold.ringOf(node)
    const rows: string[] = []
    for (let k = node; isChain && k < fold.chainEnd[node]; k++) {
      const times = fold.ringOf(k)?.times
      for (const name of fold.ringOf(k)?.names ?? [graph.name[k]]) rows.push(cut(page.names[name], LONGEST_TIP) + (times === undefined ? '' : ` ×${times}`))
    }
    if (ring !== null) {
      for (const { name, total: inAll, self } of shares(unwound, node)) rows.push(`${cut(page.names[name], LONGEST_TIP)}: total ${amount(inAll, unit)}, self ${amount(self, unit)}`)
    }
    const names = rows.slice(0, MOST_TIP_ROWS)
    if (rows.length > MOST_TIP_ROWS) names.push(`… ${rows.length - MOST_TIP_ROWS} more`)
    const lines: [string, string][] = [['Total', `${amount(graph.total[node], unit)} · ${percent(graph.total[node], total)} ${ofWhat}`]]
    if (zoom > 0 && node !== zoom) lines.push(['', `${percent(graph.total[node], graph.total[zoom])} of the zoomed frame`])
    if (total < session.grand(state) && state.measure !== 'latency') lines.push(['', `${percent(graph.total[node], session.grand(state))} of all ${noun}`])
    lines.push(['Self', `${amount(graph.self[node], unit)} · ${percent(graph.self[node], total)} ${ofWhat}`])
    if (graph.parts !== null) {
      graph.parts.forEach((part, at) => {
        if (part[node] > 0) lines.push([STATES[at], `${amount(part[node], unit)} · ${percent(part[node], graph.total[node])} of this frame`])
      })
    }
    if (!isRoot) lines.push(['Layer', LAYERS[page.layers[graph.name[node]]]])
    return { x, y, title: isRoot ? rootLabel : tipTitle(shownPane, node), lines, names }
  }
  const tipTitle = ({ graph, fold }: Shown, node: number): string => {
    const ring = fold.ringOf(node)
    if (fold.chainEnd[node] - node > 1) return `${callsOf(fold, node)} calls of the same weight`
    if (ring === null) return cut(page.names[graph.name[node]], LONGEST_TIP)
    return `Recursion, up to ${ring.times} times in a stack${ring.names.length > 1 ? `, of ${ring.names.length} methods that call each other` : ''}`
  }
  const restTip = (graph: Graph, first: number, x: number, y: number): Tip => {
    const { frames, weight } = restOf(graph, first)
    const text = frames === 1 ? 'A frame too narrow to draw' : `${frames.toLocaleString('en')} frames, each too narrow to draw`
    return { x, y, title: text, lines: [['Together', `${amount(weight, unit)} · ${percent(weight, total)} ${ofWhat}`]], names: [] }
  }

  const sceneOf = ({ graph, fold, zoom, pane }: Shown): Scene => ({
    graph,
    fold,
    zoom,
    layers: page.layers,
    dimmed: state.dimmed,
    colouring: state.measure === 'latency' ? 'state' : 'layer',
    match,
    flipped: pane === 'hot' || pane === 'callers',
    palette,
    label: session.short,
    rootLabel,
  })

  const paneOf = (shownPane: Shown) => {
    const { pane, zoom } = shownPane
    const label = `${PANE_NAMES[pane]}, ${MEASURE_NAMES[state.measure]}, ${describe(shownPane, zoom)}. Arrow keys walk, Enter zooms, Escape goes back.`
    return (
      <PaneScene
        key={pane}
        scene={sceneOf(shownPane)}
        label={label}
        listener={listenerOf(shownPane)}
        height={pane === 'callers' ? contentRows(shownPane) * ROW + 6 : null}
        register={view => {
          if (view === null) views.current.delete(pane)
          else views.current.set(pane, view)
        }}
      />
    )
  }

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const target = event.composedPath()[0] as HTMLElement
    const isTyping = target instanceof HTMLInputElement && target.type !== 'checkbox'
    if (event.key === 'Escape') {
      if (isTyping) {
        if (state.search !== '' && target === search.current) change({ search: '' }, true)
        else target.blur()
      } else back()
      event.preventDefault()
      return
    }
    if (isTyping) {
      if (event.key === 'Enter' && target === search.current) step(event.shiftKey ? -1 : 1)
      return
    }
    const actions = new Map<string, () => void>([
      ['/', () => search.current?.focus()],
      ['?', () => setHelping(true)],
      ['n', () => step(1)],
      ['p', () => step(-1)],
      ...VIEWS.map((view, at): [string, () => void] => [String(at + 1), () => openView(view)]),
    ])
    const action = actions.get(event.key)
    if (action !== undefined) {
      event.preventDefault()
      action()
      return
    }
    // An arrow with the focus nowhere in particular walks the graph.
    const isLoose = target === document.body || target === root.current
    if (isLoose && event.key.startsWith('Arrow')) views.current.get(panesOf(state.view)[0])?.takeKey(event)
  }
  useEffect(() => {
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  })

  const step = (direction: 1 | -1) => {
    const view = views.current.get(panesOf(state.view)[0])
    view?.takeFocus()
    view?.toHit(direction)
  }
  const openView = (view: View) => {
    if (view !== state.view) go({ view })
  }

  inspect.page = page
  inspect.state = state
  inspect.numbers = () => ({ total, all: session.grand(state), found })
  inspect.frames = pane => {
    const here = shown.get(pane)
    if (here === undefined) return []
    const { fold } = here
    return (views.current.get(pane)?.frames() ?? []).map(frame => ({
      ...frame,
      names: Array.from(here.graph.name.subarray(frame.node, fold.chainEnd[frame.node]), (name, at) => (fold.ringOf(frame.node + at)?.names ?? [name]).map(member => page.names[member])).flat(),
      times: fold.ringOf(frame.node)?.times ?? 1,
      total: here.graph.total[frame.node],
      self: here.graph.self[frame.node],
    }))
  }
  inspect.hits = pane => views.current.get(pane)?.hits() ?? []
  inspect.ticks = pane => views.current.get(pane)?.ticks() ?? []

  const main = shown.get('flame') ?? shown.get('hot')
  return (
    <div class="profile" ref={root}>
      <Header
        page={page}
        samples={useMemo(() => session.grand({ ...START, measure: 'samples' }), [session])}
        theme={themeChoice}
        onTheme={onTheme}
        onHelp={() => setHelping(true)}
        onFilter={(key, value) => change({ labels: new Map(state.labels).set(key, new Set([value])) })}
      />
      <div class="bar">
        <div class="segments" role="radiogroup" aria-label="What is measured" onKeyDown={roving}>
          {MEASURES.filter(measure => !RARE.has(measure) || hasData(page, measure)).map(measure => (
            <button role="radio" tabIndex={state.measure === measure ? 0 : -1} aria-checked={state.measure === measure} class={hasData(page, measure) ? '' : 'without'} onClick={() => change({ measure })} title={MEASURE_TITLES[measure]}>
              {MEASURE_TABS[measure]}
            </button>
          ))}
        </div>
        <div class="tabs" role="tablist" aria-label="View" onKeyDown={roving}>
          {VIEWS.map((view, at) => (
            <button role="tab" tabIndex={state.view === view ? 0 : -1} aria-selected={state.view === view} onClick={() => openView(view)} title={`${VIEW_TITLES[view]} (${at + 1})`}>
              {VIEW_TABS[view]}
            </button>
          ))}
        </div>
        <div class="search">
          <input
            ref={search}
            type="search"
            placeholder="Search: text or /regex/"
            aria-label="Search for methods"
            aria-describedby="found"
            spellcheck={false}
            value={state.search}
            onInput={event => change({ search: event.currentTarget.value }, true)}
          />
          <kbd>/</kbd>
        </div>
        <output id="found" class={found?.kind === 'error' ? 'found problem' : 'found'} aria-live="polite">
          {foundText(found)}
        </output>
      </div>
      <div class="bar second">
        <Filters session={session} state={state} onChange={labels => change({ labels })} />
        <span class="sum">
          <b>{amount(total, unit)}</b> {totalText()}
        </span>
        <label class="check" title="Show as one row: a chain of only callees of one weight, and methods that call each other again and again">
          <input type="checkbox" checked={state.folded} onChange={event => change({ folded: event.currentTarget.checked }, true)} /> Fold chains and recursion
        </label>
        <button class="plain" title="Download the collapsed stacks of what passes the filters" disabled={total === 0} onClick={() => void download()}>
          Collapsed .gz
        </button>
      </div>
      <div class="whereabouts">
        {main !== undefined ? <Crumbs key={main.pane} session={session} shown={main} rootLabel={rootLabel} onZoom={node => zoomTo(main, node)} /> : null}
        <span class="status" role="status" aria-live="polite">
          {message}
        </span>
        {message === '' ? <span class="hint">{HINTS[state.view]}</span> : null}
      </div>
      {[...shown.values()].some(pane => !pane.complete) ? <p class="note">The zoomed frame has no {noun} under these filters; the nearest of its callers that has is shown.</p> : null}
      <main class={`view ${state.view}`}>{body()}</main>
      <footer>
        <Legend session={session} state={state} palette={palette} onChange={part => change(part, true)} />
      </footer>
      {tip === null || menu !== null ? null : <Tooltip tip={tip} />}
      {menu === null ? null : <Menu {...menu} onClose={() => setMenu(null)} />}
      {isHelping ? <Help onClose={() => setHelping(false)} /> : null}
    </div>
  )

  function body() {
    if (total === 0) return <Empty page={page} session={session} state={state} onClear={() => change({ labels: new Map(), statesOff: new Set() })} />
    const table = (narrow: boolean) => (
      <TopTable
        session={session}
        state={state}
        rows={session.top(state)}
        match={match}
        narrow={narrow}
        fills={palette.layers}
        onOrder={order => change({ order }, true)}
        onMethod={toSandwich}
      />
    )
    if (state.view === 'top') return table(false)
    if (state.view !== 'sandwich') return [...shown.values()].map(paneOf)
    return (
      <>
        {table(true)}
        <div class="halves">
          {sandwich === null || sandwich.total === 0 ? (
            <p class="empty">{state.method === '' ? 'Choose a method in the list.' : `${cut(session.short(Math.max(session.nameId(state.method), 0)) || state.method, 200)} has no ${noun} under these filters.`}</p>
          ) : (
            <>
              {halfCrumbs('callers')}
              {paneOf(shown.get('callers') as Shown)}
              <div class="middle">
                <h2 title={cut(state.method, LONGEST_TIP)}>
                  <span class="swatch" style={{ background: palette.layers[page.layers[session.nameId(state.method)]] }} />
                  {cut(session.short(session.nameId(state.method)), 200)}
                </h2>
                <p>
                  Total <b>{amount(sandwich.total, unit)}</b> · {percent(sandwich.total, total)} {ofWhat} — self <b>{amount(sandwich.self, unit)}</b> · {percent(sandwich.self, total)} — in{' '}
                  {sandwich.places.toLocaleString('en')} {sandwich.places === 1 ? 'place' : 'places'} of the call tree, recursion counted once
                </p>
                <button class="plain" onClick={() => void copy(state.method)}>
                  Copy name
                </button>
              </div>
              {paneOf(shown.get('callees') as Shown)}
              {halfCrumbs('callees')}
            </>
          )}
        </div>
      </>
    )
  }

  function halfCrumbs(pane: Pane) {
    const half = shown.get(pane)
    if (half === undefined) return null
    return (
      <div class="half">
        <span class="muted">{pane === 'callers' ? 'Callers' : 'Callees'}</span>
        {half.zoom > 0 ? <Crumbs session={session} shown={half} rootLabel={cut(session.short(half.graph.name[0]), 80)} onZoom={node => zoomTo(half, node)} /> : null}
      </div>
    )
  }

  function totalText(): string {
    if (!isFiltered) return state.measure === 'latency' ? 'latency in all' : `${noun} in all`
    return `in this filter, ${percent(total, session.grand(state))} of all ${noun}`
  }

  function foundText(result: Found | null): string {
    if (result === null) return ''
    if (result.kind === 'error') return `Not an expression: ${result.message}`
    if (result.methods === 0) return 'No method has this in its name.'
    const methods = `${result.methods.toLocaleString('en')} ${result.methods === 1 ? 'method' : 'methods'}`
    const zoomed = main !== undefined && main.zoom > 0 && main.pane === 'flame' ? ` · ${percent(session.within(main, result.match), main.graph.total[main.zoom])} of the zoomed frame` : ''
    return `${percent(result.weight, total)} ${ofWhat}${zoomed} · ${methods}`
  }

  async function download() {
    setMessage('Writing the collapsed stacks…')
    const file = `${(page.application.id || 'profile').replace(/[^\w.-]+/g, '_')}-${state.measure}.collapsed.gz`
    await saveCollapsed(session.tree(state), session.weights(state).self, page.names, file)
    setMessage(`Saved ${file}: ${noun}, ${amount(total, unit)}, weights in ${unit === 'us' ? 'microseconds' : unit === 'bytes' ? 'bytes' : 'counts'}.`)
  }
}

/** Keeps one scene object as long as nothing in it changes: hovering renders, and must not lay out again. */
function PaneScene({ scene, ...rest }: Parameters<typeof FlamePane>[0]) {
  const kept = useMemo(() => scene, Object.values(scene).filter(value => typeof value !== 'function'))
  return <FlamePane scene={kept} {...rest} />
}

function Empty({ page, session, state, onClear }: { page: Page; session: Session; state: State; onClear: () => void }) {
  const noun = MEASURE_NOUNS[state.measure]
  const isFiltered = state.labels.size > 0 || state.statesOff.size > 0
  return (
    <div class="empty" role="status">
      {session.grand(state) > 0 && isFiltered ? (
        <>
          <p>No {noun} under these filters.</p>
          <button class="plain" onClick={onClear}>
            Clear filters
          </button>
        </>
      ) : (
        <>
          <p>This profile has no {noun}.</p>
          <p class="muted">{reasonOf(page.engine, state.measure)}</p>
          {page.engine === '' ? null : <p class="muted">Engines: {cut(page.engine, 1000)}</p>}
        </>
      )}
    </div>
  )
}

/** Rows that a pane's graph can take, drawn or not. */
function contentRows({ fold, graph, zoom }: Shown): number {
  let deepest = fold.row[zoom]
  for (let i = zoom; i < graph.end[zoom]; i++) if (fold.row[i] > deepest) deepest = fold.row[i]
  return deepest - fold.row[zoom] + 1
}

function panesOf(view: View): Pane[] {
  if (view === 'sandwich') return ['callers', 'callees']
  return view === 'top' ? [] : [view]
}

function nameOf(session: Session, graph: Graph, node: number, rootLabel: string): string {
  return node === 0 && graph.name[0] === 0 ? rootLabel : session.short(graph.name[node])
}

/** A sandwich that nobody chose a method for is that of the hottest. */
function withMethod(session: Session, state: State): State {
  if (state.view !== 'sandwich' || state.method !== '') return state
  const [hottest] = session.top({ ...state, order: 'self' })
  return hottest === undefined ? state : { ...state, method: session.page.names[hottest.name] }
}

function hasData(page: Page, measure: Measure): boolean {
  const type = measure === 'latency' ? 'wall' : measure
  return page.cells.some(cell => cell.values.get(type)?.some(value => value > 0))
}

/** Measures of an engine that few switch on: no tab without data. */
const RARE: ReadonlySet<Measure> = new Set<Measure>(['delay', 'contentions'])

/** The arrow keys of a row of choices: the next one, chosen at once. */
function roving(event: KeyboardEvent): void {
  const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
  if (step === 0) return
  const buttons = [...(event.currentTarget as HTMLElement).querySelectorAll('button')]
  const next = buttons[(buttons.indexOf(event.target as HTMLButtonElement) + step + buttons.length) % buttons.length]
  event.preventDefault()
  next.focus()
  next.click()
}

const LONGEST_TIP = 1000
const MOST_TIP_ROWS = 12

function counted(value: number, noun: string): string {
  return `${value.toLocaleString('en')} ${noun}${value === 1 ? '' : 's'}`
}

const HINTS: Record<View, string> = {
  flame: 'Click a frame to zoom, right-click it for more; ? shows the keys.',
  hot: 'Click a frame to zoom, right-click it for more; ? shows the keys.',
  sandwich: 'Choose a method in the list, or press s on a frame.',
  top: 'Click a method to see its callers and callees.',
}

const PANE_NAMES: Record<Pane, string> = { flame: 'Flame graph', hot: 'Hot spots, callers above', callers: 'Callers', callees: 'Callees' }
const VIEW_TABS: Record<View, string> = { flame: 'Flame graph', hot: 'Hot spots', sandwich: 'Sandwich', top: 'Top methods' }
const VIEW_TITLES: Record<View, string> = {
  flame: 'Callers above, callees below',
  hot: 'The methods in which it is spent, their callers above them',
  sandwich: 'One method: all its callers, all its callees',
  top: 'Methods by what is spent in them',
}
const MEASURE_TABS: Record<Measure, string> = { cpu: 'CPU', wall: 'Wall', latency: 'Latency', alloc_space: 'Alloc bytes', alloc_objects: 'Alloc objects', samples: 'Samples', delay: 'Lock wait', contentions: 'Contentions' }
const MEASURE_TITLES: Record<Measure, string> = {
  cpu: 'CPU time',
  wall: 'Wall time of all threads, in every state',
  latency: 'Wall time of all thread states but IDLE, coloured by state',
  alloc_space: 'Bytes allocated on the heap',
  alloc_objects: 'Objects allocated on the heap',
  samples: 'Number of CPU samples',
  delay: 'Time threads waited to enter locks that others held',
  contentions: 'How often threads waited to enter locks that others held',
}
/** Why there is nothing of a measure, and what to do about it. */
function reasonOf(engines: string, measure: Measure): string {
  if (measure === 'delay' || measure === 'contentions') return 'The lock engine was off, or no lock was waited for.'
  const [engine, name, setting] = ENGINES[measure]
  const told = new RegExp(`\\b${engine}=(\\w+)`).exec(engines)?.[1]
  if (told === 'off') return `The ${name} engine was off: ${setting} switches it on.`
  if (told === 'counters' && measure === 'alloc_objects') return 'This Java tells bytes alone, as JDK 8 does.'
  const nothing = NOTHING[measure]
  return told === undefined ? `Either ${nothing}, or the ${name} engine was off; ${setting} switches it on.` : `${nothing.charAt(0).toUpperCase()}${nothing.slice(1)}.`
}

type Measured = Exclude<Measure, 'delay' | 'contentions'>

const CPU = ['cpu', 'CPU', 'spark.glowplug.cpu.interval=10ms'] as const
const WALL = ['wall', 'wall', 'spark.glowplug.wall.interval=50ms'] as const
const ALLOC = ['alloc', 'allocation', 'spark.glowplug.alloc.interval=2m'] as const
const ENGINES: Record<Measured, readonly [engine: string, name: string, setting: string]> = { cpu: CPU, samples: CPU, wall: WALL, latency: WALL, alloc_space: ALLOC, alloc_objects: ALLOC }
const NOTHING: Record<Measured, string> = {
  cpu: 'no thread used CPU for as long as a sample takes',
  samples: 'no thread used CPU for as long as a sample takes',
  wall: 'no thread was seen in this window',
  latency: 'every thread was idle',
  alloc_space: 'no allocation was sampled in this window',
  alloc_objects: 'no allocation was sampled in this window',
}
