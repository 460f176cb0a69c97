import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync, gzipSync, strToU8, strFromU8 } from 'fflate'
import { collapsed } from '../src/model/collapsed'
import { fold, headOf } from '../src/model/fold'
import { flame, follow, pathOf, type Graph } from '../src/model/graph'
import { calleesOf, callersOf, filling, hotSpots, topmostOf } from '../src/model/group'
import { carry, withoutNames } from '../src/model/merge'
import { decode, fromBase64, PageError, parse, type Page } from '../src/model/page'
import { plain } from '../src/model/recursion'
import { query, search, share, shareWithin } from '../src/model/search'
import { grandTotal, labelShares, NONE, total, totalsOf, weigh } from '../src/model/select'
import { sortTop, top } from '../src/model/top'
import { dataOf, pageOf, selection } from './fixture'

const JOB = pageOf([
  { stack: 'main;run;map', labels: { process: '1', stage: '4' }, values: { cpu: 30, samples: 3 } },
  { stack: 'main;run;map;hash', labels: { process: '1', stage: '4' }, values: { cpu: 50, samples: 5 } },
  { stack: 'main;run;sort', labels: { process: '2', stage: '5' }, values: { cpu: 100, samples: 10 } },
  { stack: 'main;plan', labels: { process: 'driver' }, values: { cpu: 20, samples: 2 } },
  { stack: 'main;run;map', labels: { process: '1', stage: '4', thread_state: 'WAITING' }, values: { wall: 400 } },
  { stack: 'main;run;map', labels: { process: '1', stage: '4', thread_state: 'RUNNABLE' }, values: { wall: 80 } },
  { stack: 'idle', labels: { process: '1', thread_state: 'IDLE' }, values: { wall: 9000 } },
])

const RECURSIVE = pageOf([
  { stack: 'main;walk;walk;walk;leaf', values: { cpu: 10 } },
  { stack: 'main;walk;visit;walk', values: { cpu: 5 } },
  { stack: 'other;walk', values: { cpu: 3 } },
])

test('the root weighs all samples and each frame what is under it', () => {
  assert.deepEqual(rows(JOB, flame(JOB.tree, weigh(JOB, selection()))), [
    ' 200/0',
    'main 200/0',
    'main;run 180/0',
    'main;run;sort 100/100',
    'main;run;map 80/30',
    'main;run;map;hash 50/50',
    'main;plan 20/20',
  ])
})

test('a filter keeps only the label sets that carry its values', () => {
  assert.equal(total(JOB, selection('cpu', { stage: ['4'] })), 80)
  assert.equal(total(JOB, selection('cpu', { stage: ['4', '5'] })), 180)
  assert.equal(total(JOB, selection('cpu', { stage: ['4'], process: ['2'] })), 0)
  assert.equal(total(JOB, selection('cpu', { stage: [NONE] })), 20)
  assert.equal(total(JOB, selection('cpu', { stage: ['99'] })), 0)
  assert.equal(total(JOB, selection('cpu', { nothing_like_it: ['x'] })), 200)
})

test('a thread state filter holds for wall time and leaves CPU time alone', () => {
  assert.equal(total(JOB, selection('wall', { thread_state: ['WAITING'] })), 400)
  assert.equal(total(JOB, selection('cpu', { thread_state: ['WAITING'] })), 200)
})

test('latency is wall time without IDLE, told apart by state', () => {
  const weights = weigh(JOB, selection('latency'))
  const graph = flame(JOB.tree, weights)
  assert.equal(graph.total[0], 480)
  assert.deepEqual(graph.parts?.map(part => part[0]), [80, 0, 0, 400, 0])
  assert.equal(grandTotal(JOB, 'wall'), 9480)
  assert.equal(grandTotal(JOB, 'latency'), 480)
  assert.equal(total(JOB, selection('latency', {}, ['WAITING'])), 80)
})

test('the shares of a label ignore its own filter and obey the others', () => {
  assert.deepEqual(labelShares(JOB, selection('cpu', { stage: ['4'] }), 'stage'), [
    { value: '5', total: 100 },
    { value: '4', total: 80 },
    { value: NONE, total: 20 },
  ])
  assert.deepEqual(labelShares(JOB, selection('cpu', { process: ['1'] }), 'stage'), [{ value: '4', total: 80 }])
})

test('frames without weight under the filter are not in the graph', () => {
  assert.deepEqual(rows(JOB, flame(JOB.tree, weigh(JOB, selection('cpu', { stage: ['5'] })))), [' 100/0', 'main 100/0', 'main;run 100/0', 'main;run;sort 100/100'])
  assert.deepEqual(rows(JOB, flame(JOB.tree, weigh(JOB, selection('alloc_space')))), [' 0/0'])
})

test('each child begins where its larger sibling ends', () => {
  const graph = flame(JOB.tree, weigh(JOB, selection()))
  assert.deepEqual([...graph.start], [0, 0, 0, 0, 100, 100, 180])
  assert.deepEqual([...graph.end], [7, 7, 6, 4, 6, 6, 7])
})

test('a path of names leads back to its frame, or as far as it goes', () => {
  const graph = flame(JOB.tree, weigh(JOB, selection()))
  const path = pathOf(graph, 5)
  assert.deepEqual(path.map(name => JOB.names[name]), ['main', 'run', 'map', 'hash'])
  assert.deepEqual(follow(graph, path), { node: 5, steps: 4 })
  const other = flame(JOB.tree, weigh(JOB, selection('cpu', { stage: ['5'] })))
  assert.deepEqual(follow(other, path), { node: 2, steps: 2 })
  const run = JOB.names.indexOf('run')
  const reduced = withoutNames(JOB.tree, name => name === run)
  assert.deepEqual(follow(flame(reduced.tree, carry(weigh(JOB, selection()), reduced)), path, name => name === run), { node: 4, steps: 4 })
})

test('hot spots start with what frames spend themselves, callers after it', () => {
  const { graph } = hotSpots(JOB.tree, weigh(JOB, selection()), [])
  assert.deepEqual(rows(JOB, graph), [
    ' 200/0',
    'sort 100/0',
    'sort;run 100/0',
    'sort;run;main 100/100',
    'hash 50/0',
    'hash;map 50/0',
    'hash;map;run 50/0',
    'hash;map;run;main 50/50',
    'map 30/0',
    'map;run 30/0',
    'map;run;main 30/30',
    'plan 20/0',
    'plan;main 20/20',
  ])
})

test('hot spots merge a method that is reached in many ways, each self counted once', () => {
  const { graph } = hotSpots(RECURSIVE.tree, weigh(RECURSIVE, selection()), [])
  assert.deepEqual(rows(RECURSIVE, graph).slice(0, 10), [
    ' 18/0',
    'leaf 10/0',
    'leaf;walk 10/0',
    'leaf;walk;walk 10/0',
    'leaf;walk;walk;walk 10/0',
    'leaf;walk;walk;walk;main 10/10',
    'walk 8/0',
    'walk;visit 5/0',
    'walk;visit;walk 5/0',
    'walk;visit;walk;main 5/5',
  ])
})

test('zoomed hot spots keep the path and open what is under it', () => {
  const zoom = ['walk', 'visit'].map(name => RECURSIVE.names.indexOf(name))
  const { graph, node, steps } = hotSpots(RECURSIVE.tree, weigh(RECURSIVE, selection()), zoom)
  assert.deepEqual([node, steps], [2, 2])
  assert.deepEqual(rows(RECURSIVE, graph), [' 18/10', 'walk 8/3', 'walk;visit 5/0', 'walk;visit;walk 5/0', 'walk;visit;walk;main 5/5'])
})

test('groups too light to be seen are not opened', () => {
  const page = pageOf([
    { stack: 'a;b;heavy', values: { cpu: 1_000_000 } },
    { stack: 'a;b;light', values: { cpu: 1 } },
  ])
  const { graph } = hotSpots(page.tree, weigh(page, selection()), [])
  assert.deepEqual(rows(page, graph), [' 1000001/0', 'heavy 1000000/0', 'heavy;b 1000000/0', 'heavy;b;a 1000000/1000000', 'light 1/1'])
})

test('a sandwich counts a recursive method once per stack', () => {
  const walk = RECURSIVE.names.indexOf('walk')
  const result = filling(RECURSIVE.tree, topmostOf(RECURSIVE.tree), weigh(RECURSIVE, selection()), walk)
  assert.equal(result.total, 18)
  assert.equal(result.self, 8)
  assert.equal(result.places, 2)
  assert.deepEqual(rows(RECURSIVE, callersOf(result, []).graph), ['walk 18/0', 'main 15/15', 'other 3/3'])
  assert.deepEqual(rows(RECURSIVE, calleesOf(result, []).graph), ['walk 18/3', 'walk 10/0', 'walk;walk 10/0', 'walk;walk;leaf 10/10', 'visit 5/0', 'visit;walk 5/5'])
})

test('the top table counts self everywhere and total once per stack', () => {
  const { self } = weigh(RECURSIVE, selection())
  const result = sortTop(top(RECURSIVE.tree, topmostOf(RECURSIVE.tree), RECURSIVE.names.length, self, self), 'total')
  assert.deepEqual(
    result.map(row => [RECURSIVE.names[row.name], row.self, row.total, row.cpu]),
    [
      ['walk', 8, 18, 18],
      ['main', 0, 15, 15],
      ['leaf', 10, 10, 10],
      ['visit', 0, 5, 5],
      ['other', 0, 3, 3],
    ],
  )
})

test('the top table of another measure still tells the CPU time', () => {
  const page = pageOf([{ stack: 'a;b', values: { cpu: 7, alloc_space: 1024 } }])
  const rowsOfB = top(page.tree, topmostOf(page.tree), page.names.length, weigh(page, selection('alloc_space')).self, weigh(page, selection()).self)
  assert.deepEqual(rowsOfB.map(row => [page.names[row.name], row.self, row.total, row.cpu]), [
    ['a', 0, 1024, 7],
    ['b', 1024, 1024, 7],
  ])
})

test('a search share counts a stack once, however many hits it has', () => {
  const total = totalsOf(RECURSIVE.tree, weigh(RECURSIVE, selection()).self)
  const { match, methods } = find(RECURSIVE, 'WALK')
  assert.equal(methods, 1)
  assert.deepEqual(share(RECURSIVE.tree, total, match), { weight: 18, places: 2 })
  assert.deepEqual(share(RECURSIVE.tree, total, find(RECURSIVE, '/^(leaf|visit)$/').match), { weight: 15, places: 2 })
  assert.deepEqual(share(RECURSIVE.tree, total, find(RECURSIVE, 'nowhere').match), { weight: 0, places: 0 })
})

test('a search share within a zoomed frame', () => {
  const graph = flame(JOB.tree, weigh(JOB, selection()))
  const map = follow(graph, ['main', 'run', 'map'].map(name => JOB.names.indexOf(name))).node
  assert.equal(shareWithin(graph, map, find(JOB, 'hash').match), 50)
  assert.equal(shareWithin(graph, map, find(JOB, 'sort').match), 0)
  assert.equal(shareWithin(graph, 0, find(JOB, 'sort').match), 100)
})

test('a search is a substring in any case, an expression, or an error in words', () => {
  assert.equal(query(''), null)
  assert.deepEqual(match('/Ma.n/', 'main'), true)
  assert.deepEqual(match('/Ma.n/s', 'main'), false)
  assert.deepEqual(match('a.b', 'axb'), false)
  const broken = query('/(/')
  assert.ok(broken !== null && 'error' in broken && /group/i.test(broken.error))
})

test('chains of only callees of one weight and layer share a row', () => {
  const page = pageOf([
    { stack: 'a5;b5;c5;d0;e0;f5', values: { cpu: 6 } },
    { stack: 'a5;b5;c5;d0;e0;g5', values: { cpu: 4 } },
  ])
  const graph = flame(page.tree, weigh(page, selection()))
  const folded = fold(plain(graph), page.layers, true, () => false)
  assert.deepEqual([...folded.shown], [1, 1, 0, 0, 1, 0, 1, 1])
  assert.deepEqual([...folded.chainEnd], [1, 4, 4, 4, 6, 6, 7, 8])
  assert.deepEqual([...folded.row], [0, 1, 1, 1, 2, 2, 3, 3])
  assert.equal(folded.rows, 4)
  assert.equal(headOf(folded, 3), 1)
  assert.deepEqual([...fold(plain(graph), page.layers, true, head => head === 1).row], [0, 1, 2, 3, 4, 4, 5, 5])
  assert.deepEqual([...fold(plain(graph), page.layers, false, () => false).row], [0, 1, 2, 3, 4, 5, 6, 6])
})

test('a frame with time of its own ends its chain', () => {
  const page = pageOf([
    { stack: 'a;b', values: { cpu: 1 } },
    { stack: 'a;b;c', values: { cpu: 5 } },
  ])
  const folded = fold(plain(flame(page.tree, weigh(page, selection()))), page.layers, true, () => false)
  assert.deepEqual([...folded.row], [0, 1, 1, 2])
})

test('hot spots keep the row of methods apart from the chains of their callers', () => {
  const page = pageOf([{ stack: 'a;b;c', values: { cpu: 5 } }])
  const { graph } = hotSpots(page.tree, weigh(page, selection()), [])
  assert.deepEqual([...fold(plain(graph), page.layers, true, () => false, true).row], [0, 1, 2, 2])
})

test('a layer that is left out gives its weight to its callers and its callees', () => {
  const page = pageOf([
    { stack: 'a0;x5;b0', values: { cpu: 3 } },
    { stack: 'a0;y5;b0', values: { cpu: 4 } },
    { stack: 'a0;x5', values: { cpu: 10 } },
    { stack: 'z5', values: { cpu: 2 } },
  ])
  const reduced = withoutNames(page.tree, name => page.layers[name] === 5)
  assert.deepEqual(rows(page, flame(reduced.tree, carry(weigh(page, selection()), reduced))), [' 19/2', 'a0 17/10', 'a0;b0 7/7'])
})

test('collapsed stacks carry the weights of the selection, one line a stack', () => {
  assert.equal([...collapsed(JOB.tree, weigh(JOB, selection('cpu', { stage: ['4'] })).self, JOB.names)].join(''), 'main;run;map 30\nmain;run;map;hash 50\n')
})

test('what would break a collapsed line is replaced in its names', () => {
  const text = (name: string) => [...collapsed({ name: Int32Array.of(0, 1), parent: Int32Array.of(-1, 0) }, Float64Array.of(0, 1), ['', name])].join('')
  assert.equal(text('a;b'), 'a:b 1\n')
  assert.equal(text('line\nbreak\u2028'), 'line break 1\n')
  assert.equal(text('trailing 42'), 'trailing_42 1\n')
  assert.equal(text('\n'), '(empty) 1\n')
})

test('a process tells its samples and what was lost of them', () => {
  assert.equal(JOB.processes[0].samples, 10)
  assert.equal(JOB.processes[0].lost, 3)
})

test('gzipped data in base64 decode to the page', async () => {
  const bytes = gzipSync(strToU8(JSON.stringify(dataOf([{ stack: 'a;b', values: { cpu: 1 } }]))))
  const page = await decode(fromBase64(Buffer.from(bytes).toString('base64')))
  assert.deepEqual(page.names, ['', 'a', 'b'])
  assert.equal(strFromU8(gunzipSync(bytes)).length > 0, true)
})

test('a browser without DecompressionStream decodes with its own inflate', async () => {
  const native = globalThis.DecompressionStream
  Reflect.deleteProperty(globalThis, 'DecompressionStream')
  try {
    const page = await decode(gzipSync(strToU8(JSON.stringify(dataOf([{ stack: 'a;b', values: { cpu: 1 } }])))))
    assert.equal(page.names.length, 3)
  } finally {
    globalThis.DecompressionStream = native
  }
})

test('damaged data are refused in words that name the place', async () => {
  const damaged = (change: (data: ReturnType<typeof dataOf>) => void) => {
    const data = dataOf([{ stack: 'a;b', values: { cpu: 1 } }])
    change(data)
    return () => parse(JSON.stringify(data))
  }
  assert.throws(damaged(data => (data.format = 2)), /has format 2; this page reads format 1/)
  assert.throws(damaged(data => (data.nodes.up[1] = 5)), /nodes\.up\[1\] is 5/)
  assert.throws(damaged(data => (data.nodes.name[2] = 99)), /nodes\.name\[2\] is 99/)
  assert.throws(damaged(data => (data.cells[0].node = [77])), /cells\[0\]\.node\[0\] is 77/)
  assert.throws(damaged(data => (data.cells[0].v = { cpu: [1, 2] })), /cells\[0\]\.v\.cpu\.length is 2/)
  assert.throws(damaged(data => (data.labels.sets[0][0] = 4)), /labels\.sets\[0\]\[0\] is 4/)
  assert.throws(damaged(data => data.layers.push(1)), /layers\.length is 4/)
  assert.throws(() => parse('{'), PageError)
  assert.throws(() => fromBase64('***'), /not valid base64/)
  await assert.rejects(decode(new Uint8Array([1, 2, 3])), /not gzip/)
  await assert.rejects(decode(gzipSync(strToU8('{}')).slice(0, 12)), /cannot be inflated/)
})

test('trees of a thousand frames deep need no stack of our own', () => {
  const deep = pageOf([{ stack: Array.from({ length: 1000 }, (_, i) => (i % 2 ? 'even' : 'odd')).join(';'), values: { cpu: 1 } }])
  const weights = weigh(deep, selection())
  const graph = flame(deep.tree, weights)
  assert.equal(graph.count, 1001)
  assert.equal(topmostOf(deep.tree).reduce((sum, value) => sum + value, 0), 3)
  assert.equal(hotSpots(deep.tree, weights, []).graph.count, 1001)
})

function rows(page: Page, graph: Graph): string[] {
  return Array.from({ length: graph.count }, (_, node) => {
    const path = node === 0 ? [graph.name[0]] : pathOf(graph, node)
    return `${path.map(name => page.names[name]).join(';')} ${graph.total[node]}/${graph.self[node]}`
  })
}

function find(page: Page, text: string) {
  const wanted = query(text)
  assert.ok(wanted !== null && 'matches' in wanted)
  return search(page.names, page.names, wanted.matches)
}

function match(text: string, name: string): boolean {
  const wanted = query(text)
  assert.ok(wanted !== null && 'matches' in wanted)
  return wanted.matches(name)
}
