import assert from 'node:assert/strict'
import { test } from 'node:test'
import { boxAt, layOut, type Boxes } from '../src/canvas/layout'
import { fold } from '../src/model/fold'
import { flame, type Graph } from '../src/model/graph'
import type { Page } from '../src/model/page'
import { plain } from '../src/model/recursion'
import { weigh } from '../src/model/select'
import { pageOf, selection } from './fixture'

const PAGE = pageOf([
  { stack: 'a;b', values: { cpu: 600 } },
  { stack: 'a;c;deep', values: { cpu: 300 } },
  { stack: 'a;c;needle', values: { cpu: 1 } },
  { stack: 'd', values: { cpu: 99 } },
])

test('frames are as wide as their share, in rows under their callers', () => {
  const { page, layout } = laidOut(PAGE, 1000)
  assert.deepEqual(frames(page, layout.frames), ['0: root 0+1000', '1: a 0+901', '1: d 901+99', '2: b 0+600', '2: c 600+301', '3: deep 600+300', '3: needle 900+1'])
  assert.equal(layout.rows, 4)
})

test('what is too narrow is one grey field for all of it', () => {
  const many = pageOf([
    { stack: 'a;wide', values: { cpu: 9000 } },
    ...Array.from({ length: 100 }, (_, i) => ({ stack: `a;small${inLetters(i)};under`, values: { cpu: 10 } })),
  ])
  const { page, layout } = laidOut(many, 300)
  assert.deepEqual(frames(page, layout.frames).slice(2), ['2: wide 0+270'])
  assert.equal(layout.rests.count, 1)
  assert.deepEqual([layout.rests.x[0], layout.rests.width[0]], [270, 30])
})

test('the zoomed frame fills the width and its callers take no rows', () => {
  const { page, layout } = laidOut(PAGE, 602, 'c')
  assert.deepEqual(frames(page, layout.frames), ['0: c 0+602', '1: deep 0+600', '1: needle 600+2'])
})

test('a hit is two pixels wide even where its frame is far too narrow to draw', () => {
  const { layout } = laidOut(PAGE, 100, undefined, 'needle')
  assert.equal(layout.frames.count, 6)
  assert.equal(layout.hits.count, 1)
  assert.deepEqual([round(layout.hits.x[0]), layout.hits.width[0]], [90, 2])
  assert.deepEqual(layout.ticks, [90])
})

test('hits less than two pixels apart are drawn once', () => {
  const crowd = pageOf(Array.from({ length: 1000 }, (_, i) => ({ stack: `a;hit${inLetters(i)}`, values: { cpu: 1 } })))
  const { layout } = laidOut(crowd, 100, undefined, 'hit')
  assert.equal(layout.hits.count, 50)
  assert.equal(layout.ticks.length, 50)
})

test('a hit inside of a folded chain marks the row of the chain', () => {
  const chain = pageOf([{ stack: 'a;b;needle;c', values: { cpu: 5 } }])
  const { page, layout } = laidOut(chain, 100, undefined, 'needle', true)
  assert.deepEqual(frames(page, layout.hits), ['1: a 0+100'])
})

test('the frame under a point', () => {
  const { page, layout, graph } = laidOut(PAGE, 1000)
  const at = (row: number, x: number) => {
    const box = boxAt(layout, row, x)
    return box === null ? null : page.names[graph.name[box.node]] || 'root'
  }
  assert.equal(at(0, 500), 'root')
  assert.equal(at(2, 599.9), 'b')
  assert.equal(at(2, 600), 'c')
  assert.equal(at(2, 950), null)
  assert.equal(at(9, 10), null)
  assert.equal(at(-1, 10), null)
})

test('a hit is found before the frame that it is drawn over', () => {
  const { page, layout, graph } = laidOut(PAGE, 100, undefined, 'needle')
  const box = boxAt(layout, 3, 91)
  assert.equal(box === null ? '' : page.names[graph.name[box.node]], 'needle')
})

function laidOut(page: Page, width: number, zoomTo?: string, search?: string, isFolded = false) {
  const graph = flame(page.tree, weigh(page, selection()))
  const zoom = zoomTo === undefined ? 0 : graph.name.indexOf(page.names.indexOf(zoomTo))
  const match = search === undefined ? null : Uint8Array.from(page.names, name => (name.includes(search) ? 1 : 0))
  const layout = layOut({ graph, fold: fold(plain(graph), page.layers, isFolded, () => false), zoom, width, match })
  return { page: named(page, graph), graph, layout }
}

interface Named extends Page {
  readonly graph: Graph
}

function named(page: Page, graph: Graph): Named {
  return { ...page, graph }
}

function frames(page: Named, boxes: Boxes): string[] {
  const result: string[] = []
  for (let row = 0; row + 1 < boxes.rowStart.length; row++) {
    for (let b = boxes.rowStart[row]; b < boxes.rowStart[row + 1]; b++) {
      result.push(`${row}: ${page.names[page.graph.name[boxes.node[b]]] || 'root'} ${round(boxes.x[b])}+${round(boxes.width[b])}`)
    }
  }
  return result
}

/** A digit in a name would be its layer. */
function inLetters(value: number): string {
  return value.toString(26).replace(/\d/g, digit => 'qrstuvwxyz'[Number(digit)])
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
