import assert from 'node:assert/strict'
import { test } from 'node:test'
import { layOut } from '../src/canvas/layout'
import { frameLabel, markOf, type Scene } from '../src/canvas/draw'
import { callsOf, fold } from '../src/model/fold'
import { flame, pathOf, type Graph } from '../src/model/graph'
import { calleesOf, filling, hotSpots, topmostOf } from '../src/model/group'
import type { Page } from '../src/model/page'
import { placesOf, plain, shares, unwind, type Unwound } from '../src/model/recursion'
import { weigh } from '../src/model/select'
import { Session, unfoldKey } from '../src/shell/session'
import { START } from '../src/shell/state'
import { pageOf, selection } from './fixture'

const times = (names: string, count: number) => Array(count).fill(names).join(';')

/** What a call of itself spends and calls at each of three depths. */
const ITSELF = pageOf([
  { stack: 'main;walk', values: { cpu: 1 } },
  { stack: 'main;walk;leaf', values: { cpu: 2 } },
  { stack: 'main;walk;walk', values: { cpu: 4 } },
  { stack: 'main;walk;walk;walk;leaf', values: { cpu: 8 } },
  { stack: 'main;walk;walk;walk;other;walk', values: { cpu: 16 } },
])

test('a method that calls itself is one frame, over what its calls call, added up', () => {
  const unwound = unwound_(ITSELF)
  assert.deepEqual(rows(ITSELF, unwound), ['main 31/0', 'main;walk×3 31/5', 'main;walk×3;other 16/0', 'main;walk×3;other;walk 16/16', 'main;walk×3;leaf 10/10'])
  assert.deepEqual(shares(unwound, 2).map(share => [ITSELF.names[share.name], share.total, share.self]), [['walk', 31, 5]])
})

test('two methods that call each other two hundred times are one frame of two hundred', () => {
  const page = pageOf([
    { stack: `main;${times('walk;visit', 200)};leaf`, values: { cpu: 7 } },
    { stack: `main;${times('walk;visit', 120)};walk;leaf`, values: { cpu: 5 } },
    { stack: `main;${times('walk;visit', 3)}`, values: { cpu: 3 } },
    { stack: 'main;walk;side', values: { cpu: 2 } },
  ])
  const unwound = unwound_(page)
  assert.deepEqual(rows(page, unwound), ['main 17/0', 'main;walk⇄visit×200 17/3', 'main;walk⇄visit×200;leaf 12/12', 'main;walk⇄visit×200;side 2/2'])
  assert.deepEqual(shares(unwound, 2).map(share => [page.names[share.name], share.total, share.self]), [
    ['walk', 17, 0],
    ['visit', 15, 3],
  ])
  const folded = fold(unwound, page.layers, true, () => false)
  assert.equal(markOf(folded, 2), '↻×200')
  assert.equal(callsOf(folded, 2), 400)
  assert.equal(label(page, unwound, 2, 99), 'walk  ⇄  visit')
  assert.equal(label(page, unwound, 2, 5), 'walk')
  assert.equal(folded.rows, 4)
  assert.equal(fold(plain(unwound.raw), page.layers, false, () => false).rows, 403)
})

test('a cycle of many methods is found, and one that begins with an overload', () => {
  const cycle = ['down', 'down', 'rewrite', 'mapChildren', 'withNew', 'apply']
  const page = pageOf([{ stack: `main;${times(cycle.join(';'), 30)};rule`, values: { cpu: 5 } }])
  assert.deepEqual(rows(page, unwound_(page)), ['main 5/0', 'main;down⇄rewrite⇄mapChildren⇄withNew⇄apply×60 5/0', 'main;down⇄rewrite⇄mapChildren⇄withNew⇄apply×60;rule 5/5'])
})

test('a pair that comes twice is a recursion, one and a half times is not', () => {
  const twice = pageOf([{ stack: 'main;a;b;a;b', values: { cpu: 1 } }])
  assert.deepEqual(rows(twice, unwound_(twice)), ['main 1/0', 'main;a⇄b×2 1/1'])
  const once = pageOf([{ stack: 'main;a;b;a', values: { cpu: 1 } }])
  assert.equal(isUnwound(once), false)
})

test('calls between the methods of a recursion belong to it in any order', () => {
  const page = pageOf([{ stack: 'main;a;b;a;b;b;a;a;leaf', values: { cpu: 1 } }])
  assert.deepEqual(rows(page, unwound_(page)), ['main 1/0', 'main;a⇄b×4 1/0', 'main;a⇄b×4;leaf 1/1'])
})

test('a frame of which less than half recurses keeps its callees', () => {
  const page = pageOf([
    { stack: 'main;read;decode', values: { cpu: 51 } },
    { stack: 'main;read;read;decode', values: { cpu: 49 } },
  ])
  assert.equal(isUnwound(page), false)
})

test('a recursion among what another one calls is folded too', () => {
  const page = pageOf([
    { stack: `main;${times('walk', 5)};rule;${times('eval', 3)};leaf`, values: { cpu: 6 } },
    { stack: `main;${times('walk', 2)};rule;${times('eval', 7)}`, values: { cpu: 4 } },
  ])
  assert.deepEqual(rows(page, unwound_(page)), ['main 10/0', 'main;walk×5 10/0', 'main;walk×5;rule 10/0', 'main;walk×5;rule;eval×7 10/4', 'main;walk×5;rule;eval×7;leaf 6/6'])
})

test('each total and self of the graph stays what it was', () => {
  const unwound = unwound_(ITSELF)
  assert.equal(unwound.graph.total[0], unwound.raw.total[0])
  assert.equal(sum(unwound.graph.self), sum(unwound.raw.self))
  for (let i = 0; i < unwound.graph.count; i++) {
    const places = placesOf(unwound, i)
    assert.equal(sum(places.map(place => unwound.raw.total[place])), unwound.graph.total[i])
    assert.ok(places.includes(unwound.source[i]))
  }
})

test('an unfolded recursion shows each of its calls, and does not fold again one call later', () => {
  const page = pageOf([{ stack: `main;${times('walk;visit', 3)};leaf`, values: { cpu: 1 } }])
  const open = [['main', 'walk'].map(name => page.names.indexOf(name))]
  const unwound = unwind(flame(page.tree, weigh(page, selection())), { open, keepsFirst: false })
  assert.deepEqual(rows(page, unwound).map(row => row.split(';').length), [1, 2, 3, 4, 5, 6, 7, 8])
})

test('a recursion of few calls joins its chain, one of five has its own row', () => {
  const folded = (count: number) => {
    const page = pageOf([{ stack: `main;start;${times('walk', count)};leaf`, values: { cpu: 1 } }])
    const unwound = unwound_(page)
    const result = fold(unwound, page.layers, true, () => false)
    return Array.from({ length: unwound.graph.count }, (_, node) => (result.shown[node] ? markOf(result, node) || page.names[unwound.graph.name[node]] : '')).filter(text => text !== '')
  }
  assert.deepEqual(folded(4), ['7×'])
  assert.deepEqual(folded(5), ['2×', '↻×5', 'leaf'])
})

test('hot spots keep their methods apart and fold the recursion of callers', () => {
  const { graph } = hotSpots(ITSELF.tree, weigh(ITSELF, selection()), [])
  const unwound = unwind(graph, { open: [], keepsFirst: true })
  assert.deepEqual(rows(ITSELF, unwound).sort(), [
    'walk 21/0',
    'walk;other 16/0',
    'walk;other;walk×3 16/0',
    'walk;other;walk×3;main 16/16',
    'walk;main 1/1',
    'walk;walk 4/0',
    'walk;walk;main 4/4',
    'leaf 10/0',
    'leaf;walk×3 10/0',
    'leaf;walk×3;main 10/10',
  ].sort())
})

test('the total of a recursive method is the same folded and not, in graph, table and sandwich', () => {
  const session = new Session(ITSELF)
  for (const isFolded of [true, false]) {
    const state = { ...START, folded: isFolded, method: 'walk' }
    const walk = session.top(state).find(row => ITSELF.names[row.name] === 'walk')
    assert.deepEqual([walk?.self, walk?.total], [21, 31])
    const found = session.sandwich(state)
    assert.deepEqual([found?.self, found?.total, found?.places], [21, 31, 1])
    assert.equal(session.shown(state, 'flame', new Set()).graph.total[2], 31)
    assert.equal(session.shown(state, 'callees', new Set()).graph.total[0], 31)
  }
})

test('a zoom into what a recursion calls is found again when folding is switched off and on', () => {
  const session = new Session(ITSELF)
  const folded = session.shown(START, 'flame', new Set())
  const leaf = nodeOf(folded.graph, ITSELF, 'leaf')
  const path = session.path(folded, leaf)
  assert.deepEqual(path, ['main', '↻walk', 'leaf'])
  assert.deepEqual(session.stack(folded, leaf), ['main', 'walk', 'walk', 'walk', 'leaf'])
  const zoomed = { ...START, zoom: { ...START.zoom, flame: path } }
  const again = session.shown(zoomed, 'flame', new Set())
  assert.deepEqual([again.zoom, again.complete, again.graph.total[again.zoom]], [leaf, true, 10])
  const off = session.shown({ ...zoomed, folded: false }, 'flame', new Set())
  assert.deepEqual([off.complete, ITSELF.names[off.graph.name[off.zoom]], off.graph.total[off.zoom]], [true, 'leaf', 2])
  const deep = { ...START, zoom: { ...START.zoom, flame: ['main', 'walk', 'walk', 'walk', 'leaf'] } }
  const back = session.shown(deep, 'flame', new Set())
  assert.deepEqual([back.zoom, back.complete], [leaf, true])
  const unfolded = session.shown(zoomed, 'flame', new Set([unfoldKey('flame', ['main', 'walk'])]))
  assert.deepEqual([unfolded.complete, ITSELF.names[unfolded.graph.name[unfolded.zoom]]], [true, 'leaf'])
})

test('a zoom beyond a recursion opens all of its stacks in the graphs that open what is zoomed to', () => {
  const session = new Session(ITSELF)
  const hot = session.shown({ ...START, view: 'hot' }, 'hot', new Set())
  const main = Array.from({ length: hot.graph.count }, (_, i) => i).find(i => session.path(hot, i).join() === 'leaf,↻walk,main') as number
  assert.equal(hot.graph.total[main], 10)
  const zoomed = session.shown({ ...START, view: 'hot', zoom: { ...START.zoom, hot: session.path(hot, main) } }, 'hot', new Set())
  assert.deepEqual([zoomed.complete, zoomed.graph.total[zoomed.zoom]], [true, 10])
})

test('the share of a search within a recursion counts the stacks that have the method in them', () => {
  const page = pageOf([
    { stack: `main;${times('walk;visit', 2)};leaf`, values: { cpu: 6 } },
    { stack: 'main;walk;side', values: { cpu: 4 } },
  ])
  const session = new Session(page)
  const shown = session.shown({ ...START, zoom: { ...START.zoom, flame: ['main', '↻walk'] } }, 'flame', new Set())
  assert.equal(session.within(shown, Uint8Array.from(page.names, name => (name === 'visit' ? 1 : 0))), 6)
  assert.equal(session.within(shown, Uint8Array.from(page.names, name => (name === 'leaf' ? 1 : 0))), 6)
  assert.equal(session.within(shown, Uint8Array.from(page.names, name => (name === 'walk' ? 1 : 0))), 10)
})

test('a search for any method of a recursion marks its row', () => {
  const page = pageOf([{ stack: `main;${times('walk;visit', 9)};leaf`, values: { cpu: 6 } }])
  const unwound = unwound_(page)
  const match = Uint8Array.from(page.names, name => (name === 'visit' ? 1 : 0))
  const { hits } = layOut({ graph: unwound.graph, fold: fold(unwound, page.layers, true, () => false), zoom: 0, width: 100, match })
  assert.deepEqual([...hits.node], [2])
})

test('latency by state is added up in a recursion', () => {
  const page = pageOf([
    { stack: 'main;walk;walk;leaf', labels: { thread_state: 'WAITING' }, values: { wall: 5 } },
    { stack: 'main;walk;leaf', labels: { thread_state: 'RUNNABLE' }, values: { wall: 3 } },
  ])
  const { graph } = unwind(flame(page.tree, weigh(page, selection('latency'))), { open: [], keepsFirst: false })
  assert.deepEqual(graph.parts?.map(part => part[3]), [3, 0, 0, 5, 0])
  assert.equal(graph.total[3], 8)
})

test('the callees of a recursive method start with one call of it', () => {
  const found = filling(ITSELF.tree, topmostOf(ITSELF.tree), weigh(ITSELF, selection()), ITSELF.names.indexOf('walk'))
  const unwound = unwind(calleesOf(found, []).graph, { open: [], keepsFirst: false })
  assert.deepEqual(rows(ITSELF, unwound), ['walk×2 28/4', 'walk×2;other 16/0', 'walk×2;other;walk 16/16', 'walk×2;leaf 8/8', 'leaf 2/2'])
})

function unwound_(page: Page): Unwound {
  return unwind(flame(page.tree, weigh(page, selection())), { open: [], keepsFirst: false })
}

function isUnwound(page: Page): boolean {
  const { graph, raw } = unwound_(page)
  return graph !== raw
}

function rows(page: Page, { graph, ring, rings }: Unwound): string[] {
  const text = (node: number) => (ring[node] < 0 ? page.names[graph.name[node]] : `${rings[ring[node]].names.map(name => page.names[name]).join('⇄')}×${rings[ring[node]].times}`)
  const result: string[] = []
  for (let i = 1; i < graph.count; i++) {
    const path: string[] = []
    for (let node = i; node > 0; node = graph.parent[node]) path.push(text(node))
    result.push(`${path.reverse().join(';')} ${graph.total[i]}/${graph.self[i]}`)
  }
  return result
}

function nodeOf(graph: Graph, page: Page, name: string): number {
  for (let i = 1; i < graph.count; i++) if (page.names[pathOf(graph, i).at(-1) as number] === name) return i
  throw new Error(name)
}

function label(page: Page, unwound: Unwound, node: number, room: number): string {
  const scene = { graph: unwound.graph, fold: fold(unwound, page.layers, true, () => false), label: (name: number) => page.names[name], flipped: false, rootLabel: '' }
  return frameLabel(scene as unknown as Scene, node, text => text.length <= room)
}

function sum(values: ArrayLike<number>): number {
  return Array.from(values).reduce((total, value) => total + value, 0)
}
