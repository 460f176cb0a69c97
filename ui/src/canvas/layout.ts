import type { Fold } from '../model/fold'
import type { Graph } from '../model/graph'

/** A subtree narrower than this, in CSS pixels, is not looked into. */
export const NARROWEST = 0.4

/** A search hit is never drawn narrower than this. */
export const NARROWEST_HIT = 2

/** Boxes in rows: those of row r are [rowStart[r], rowStart[r + 1]), left to right. */
export interface Boxes {
  readonly count: number
  readonly node: Int32Array
  readonly x: Float32Array
  readonly width: Float32Array
  readonly rowStart: Int32Array
}

export interface Layout {
  readonly rows: number
  readonly frames: Boxes
  /** What is left of a frame's callees once each of them is too narrow; `node` is the first of them. */
  readonly rests: Boxes
  readonly hits: Boxes
  /** Left edges of hits, one for each pixel that has any. */
  readonly ticks: readonly number[]
}

export interface LayoutInput {
  readonly graph: Graph
  readonly fold: Fold
  readonly zoom: number
  readonly width: number
  /** 1 for each name that is a search hit. */
  readonly match: Uint8Array | null
}

/** Places everything under the zoomed node, in rows counted from it; rows out of sight too, so that scrolling only draws. */
export function layOut(input: LayoutInput): Layout {
  const { graph, fold, zoom, width } = input
  const { end, start, total, self, parent } = graph
  const frames = new Collector()
  const rests = new Collector()
  const scale = total[zoom] > 0 ? width / total[zoom] : 0
  const left = start[zoom]
  const top = fold.row[zoom]
  frames.add(0, zoom, 0, width)
  for (let i = fold.chainEnd[zoom]; i < end[zoom]; ) {
    const w = total[i] * scale
    const x = (start[i] - left) * scale
    const row = fold.row[i] - top
    if (w < NARROWEST) {
      // Children are sorted by weight: every later one is too narrow as well.
      const above = parent[i]
      const rest = (start[above] + total[above] - self[above] - start[i]) * scale
      if (rest >= NARROWEST) rests.add(row, i, x, rest)
      i = end[above]
      continue
    }
    if (fold.shown[i]) frames.add(row, i, x, w)
    i++
  }
  const hits = new Collector()
  const ticks = input.match === null ? [] : collectHits(input, input.match, scale, hits)
  const rows = Math.max(frames.rows, rests.rows, hits.rows)
  return { rows, frames: frames.boxes(rows), rests: rests.boxes(rows), hits: hits.boxes(rows), ticks }
}

/** The box at a place, hits before frames as they are drawn over them. */
export function boxAt(layout: Layout, row: number, x: number): { node: number; rest: boolean } | null {
  if (row < 0 || row >= layout.rows) return null
  for (const boxes of [layout.hits, layout.frames, layout.rests]) {
    const index = indexAt(boxes, row, x)
    if (index >= 0) return { node: boxes.node[index], rest: boxes === layout.rests }
  }
  return null
}

function indexAt(boxes: Boxes, row: number, x: number): number {
  let low = boxes.rowStart[row]
  let high = boxes.rowStart[row + 1] - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    if (x < boxes.x[middle]) high = middle - 1
    else if (x >= boxes.x[middle] + Math.max(boxes.width[middle], 1)) low = middle + 1
    else return middle
  }
  return -1
}

function collectHits({ graph, fold, zoom }: LayoutInput, match: Uint8Array, scale: number, hits: Collector): number[] {
  const { end, start, total, name } = graph
  const left = start[zoom]
  const top = fold.row[zoom]
  const covered: number[] = []
  const ticks = new Set<number>()
  for (let i = zoom; i < end[zoom]; i++) {
    if (!match[name[i]] && !fold.ringOf(i)?.names.some(member => match[member])) continue
    const row = fold.row[i] - top
    const x = (start[i] - left) * scale
    const exact = total[i] * scale
    // The row's last hit may already cover this one: a member of the same chain, or a neighbour less than 2 px away.
    if (x < (covered[row] ?? -1) && (exact < NARROWEST_HIT || x + exact <= covered[row])) continue
    const width = Math.max(exact, NARROWEST_HIT)
    hits.add(row, headIn(fold, i, zoom), x, width)
    covered[row] = x + width
    ticks.add(Math.floor(x))
  }
  return [...ticks].sort((a, b) => a - b)
}

function headIn(fold: Fold, node: number, zoom: number): number {
  let head = node
  while (head > zoom && !fold.shown[head]) head--
  return head
}

class Collector {
  rows = 0
  private readonly row: number[] = []
  private readonly node: number[] = []
  private readonly x: number[] = []
  private readonly width: number[] = []

  add(row: number, node: number, x: number, width: number): void {
    this.row.push(row)
    this.node.push(node)
    this.x.push(x)
    this.width.push(width)
    if (row >= this.rows) this.rows = row + 1
  }

  /** Depth first, a row's boxes come left to right, so a stable counting sort by row is all it takes. */
  boxes(rows: number): Boxes {
    const count = this.row.length
    const rowStart = new Int32Array(rows + 1)
    for (const row of this.row) rowStart[row + 1]++
    for (let r = 0; r < rows; r++) rowStart[r + 1] += rowStart[r]
    const next = rowStart.slice()
    const boxes = { count, node: new Int32Array(count), x: new Float32Array(count), width: new Float32Array(count), rowStart }
    for (let i = 0; i < count; i++) {
      const at = next[this.row[i]]++
      boxes.node[at] = this.node[i]
      boxes.x[at] = this.x[i]
      boxes.width[at] = this.width[i]
    }
    return boxes
  }
}
