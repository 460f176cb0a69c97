import { callsOf, type Fold } from '../model/fold'
import type { Graph } from '../model/graph'
import { NARROWEST_HIT, type Boxes, type Layout } from './layout'
import { faded, type Palette } from './palette'
import type { Ruler } from './text'

export const ROW = 19
export const TICKS = 9

export interface Scene {
  readonly graph: Graph
  readonly fold: Fold
  readonly zoom: number
  readonly layers: Uint8Array
  /** Layers shown in grey. */
  readonly dimmed: ReadonlySet<number>
  readonly colouring: 'layer' | 'state'
  readonly match: Uint8Array | null
  /** True: rows grow upwards from the bottom. */
  readonly flipped: boolean
  readonly palette: Palette
  readonly label: (name: number) => string
  readonly rootLabel: string
}

export interface Viewport {
  readonly width: number
  readonly height: number
  readonly scroll: number
  /** Device pixels in a CSS pixel. */
  readonly ratio: number
}

export interface Marks {
  readonly hovered: number
  readonly focused: number
}

export const FONT = '12px "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
const SMALL_FONT = '10px "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
const SMALLEST_LABEL = 26
const SMALLEST_REST_LABEL = 200

/** Narrower frames show the state that weighs most alone: bands would mix to grey. */
const NARROWEST_BANDS = 6

export function draw(context: CanvasRenderingContext2D, scene: Scene, layout: Layout, viewport: Viewport, ruler: Ruler, marks: Marks): void {
  new Painter(context, scene, layout, viewport, ruler).paint(marks)
}

export function contentHeight(scene: Scene, layout: Layout): number {
  return layout.rows * ROW + 4 + (scene.match === null ? 0 : TICKS)
}

/** Top of a row on the canvas, in CSS pixels. */
export function rowTop(scene: Scene, layout: Layout, viewport: Viewport, row: number): number {
  if (!scene.flipped) return row * ROW - viewport.scroll + (scene.match === null ? 0 : TICKS)
  return Math.max(contentHeight(scene, layout), viewport.height) - (row + 1) * ROW - viewport.scroll
}

export function rowAt(scene: Scene, layout: Layout, viewport: Viewport, y: number): number {
  const zero = rowTop(scene, layout, viewport, 0)
  return scene.flipped ? Math.ceil((zero - y) / ROW) : Math.floor((y - zero) / ROW)
}

export function frameLabel(scene: Scene, node: number, fits: (text: string) => boolean): string {
  const { graph, fold, label, flipped } = scene
  if (node === 0 && graph.name[0] === 0) return scene.rootLabel
  const last = fold.chainEnd[node] - 1
  const own = label(graph.name[node])
  const ring = fold.ringOf(node)
  if (last <= node && ring !== null && ring.names.length > 1) {
    const others = ring.names.slice(1)
    const all = others.length === 1 ? `${own}  ⇄  ${label(others[0])}` : `${own}  ⇄  ${others.length} others`
    return fits(all) ? all : own
  }
  if (last <= node) return own
  const end = label(graph.name[last])
  // Of callers the nearest tells most; of callees the one whose own callees follow below.
  const both = flipped ? `${own}  ←  ${end}` : `${own}  →  ${end}`
  return fits(both) ? both : flipped ? own : end
}

/** The siblings from `first` on, which a rest stands for. */
export function restOf(graph: Graph, first: number): { frames: number; weight: number } {
  let frames = 0
  let weight = 0
  for (let i = first; i < graph.end[graph.parent[first]]; i = graph.end[i]) {
    frames++
    weight += graph.total[i]
  }
  return { frames, weight }
}

/** What stands before the name of a row that is more than one call. */
export function markOf(fold: Fold, node: number): string {
  if (fold.chainEnd[node] - node > 1) return `${callsOf(fold, node)}×`
  const ring = fold.ringOf(node)
  return ring === null ? '' : `↻×${ring.times}`
}

export function markWidth(mark: string): number {
  return mark === '' ? 0 : 12 + mark.length * 6
}

export function boxOf({ fold, zoom }: Scene, layout: Layout, node: number): { x: number; width: number; row: number } | null {
  const row = fold.row[node] - fold.row[zoom]
  if (row < 0 || row >= layout.rows) return null
  for (const boxes of [layout.frames, layout.hits]) {
    for (let b = boxes.rowStart[row]; b < boxes.rowStart[row + 1]; b++) {
      if (boxes.node[b] === node) return { x: boxes.x[b], width: boxes.width[b], row }
    }
  }
  return null
}

class Painter {
  private readonly layers: readonly string[]
  private readonly states: readonly string[]
  private readonly root: string
  private readonly dimmed: string

  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly scene: Scene,
    private readonly layout: Layout,
    private readonly viewport: Viewport,
    private readonly ruler: Ruler,
  ) {
    const { palette, match } = scene
    const tone = (colour: string) => (match === null ? colour : faded(colour, palette))
    this.layers = palette.layers.map(tone)
    this.states = palette.states.map(tone)
    this.root = tone(palette.root)
    this.dimmed = tone(palette.dimmed)
  }

  paint(marks: Marks): void {
    const { context, scene, viewport } = this
    context.fillStyle = scene.palette.background
    context.fillRect(0, 0, viewport.width, viewport.height)
    context.font = FONT
    context.textBaseline = 'middle'
    context.direction = 'ltr'
    const [first, last] = this.rowsInSight()
    for (let row = first; row <= last; row++) {
      this.rests(row)
      this.frames(row)
    }
    // Hits come last, over whatever they are in.
    for (let row = first; row <= last; row++) this.hits(row)
    this.outline(marks.hovered, 1)
    this.outline(marks.focused, 2)
    if (scene.match !== null) this.ticks()
  }

  private rowsInSight(): [number, number] {
    const { scene, layout, viewport } = this
    const a = rowAt(scene, layout, viewport, 0)
    const b = rowAt(scene, layout, viewport, viewport.height)
    return [Math.max(0, Math.min(a, b)), Math.min(layout.rows - 1, Math.max(a, b))]
  }

  private frames(row: number): void {
    const { scene, context } = this
    const { graph, layers, dimmed, palette } = scene
    const boxes = this.layout.frames
    const y = this.top(row)
    const byState = scene.colouring === 'state' && graph.parts !== null
    for (let b = boxes.rowStart[row]; b < boxes.rowStart[row + 1]; b++) {
      const node = boxes.node[b]
      const layer = layers[graph.name[node]]
      const isDimmed = node > 0 && dimmed.has(layer)
      const [x, width] = this.snapped(boxes, b)
      if (byState && !isDimmed) this.bands(node, x, y, width)
      else {
        context.fillStyle = isDimmed ? this.dimmed : graph.name[node] === 0 ? this.root : this.layers[layer]
        context.fillRect(x, y, width, ROW - 1)
      }
      if (width >= SMALLEST_LABEL) this.label(node, x, y, width, isDimmed ? palette.dimmedText : palette.text)
    }
  }

  /** One band for each state, in the order of the legend, as wide as its share. */
  private bands(node: number, x: number, y: number, width: number): void {
    const { context, scene } = this
    const parts = scene.graph.parts ?? []
    if (width < NARROWEST_BANDS) {
      let most = 0
      for (let s = 1; s < parts.length; s++) if (parts[s][node] > parts[most][node]) most = s
      context.fillStyle = this.states[most]
      context.fillRect(x, y, width, ROW - 1)
      return
    }
    const scale = width / scene.graph.total[node]
    let at = x
    for (let s = 0; s < parts.length; s++) {
      const part = parts[s][node] * scale
      if (part <= 0) continue
      context.fillStyle = this.states[s]
      context.fillRect(at, y, part, ROW - 1)
      at += part
    }
  }

  private label(node: number, x: number, y: number, width: number, colour: string): void {
    const { context, scene } = this
    const mark = markOf(scene.fold, node)
    const badge = markWidth(mark)
    const marked = badge > 0 ? this.fitted(node, width - 8 - badge) : ''
    const text = marked === '' ? this.fitted(node, width - 8) : marked
    context.fillStyle = colour
    if (text !== '') context.fillText(text, x + 4 + (marked === '' ? 0 : badge), y + ROW / 2)
    if (mark === '') return
    if (marked !== '') {
      context.font = SMALL_FONT
      context.textAlign = 'center'
      context.fillText(mark, x + 1 + badge / 2, y + ROW / 2)
      context.textAlign = 'left'
      context.font = FONT
    }
    context.fillStyle = scene.palette.mark
    if (marked !== '') context.fillRect(x + 3, y + 3, badge - 4, ROW - 7)
    context.fillRect(x, y + ROW - 3, width, 1)
  }

  private fitted(node: number, room: number): string {
    const text = frameLabel(this.scene, node, text => this.ruler.width(text) <= room)
    // The number of a codegen stage is worth more room than the word.
    const isCut = text.startsWith('codegen#') && this.ruler.width(text) > room
    return this.ruler.fit(isCut ? text.slice('codegen'.length) : text, room)
  }

  private rests(row: number): void {
    const { context, scene } = this
    const boxes = this.layout.rests
    const y = this.top(row)
    for (let b = boxes.rowStart[row]; b < boxes.rowStart[row + 1]; b++) {
      const [x, width] = this.snapped(boxes, b)
      context.fillStyle = scene.palette.rest
      context.fillRect(x, y, width, ROW - 1)
      if (width < SMALLEST_REST_LABEL) continue
      context.fillStyle = scene.palette.dimmedText
      context.fillText(`${restOf(scene.graph, boxes.node[b]).frames.toLocaleString('en')} frames too narrow to draw`, x + 4, y + ROW / 2)
    }
  }

  private hits(row: number): void {
    const { context, scene, viewport } = this
    const { palette } = scene
    const boxes = this.layout.hits
    const y = this.top(row)
    for (let b = boxes.rowStart[row]; b < boxes.rowStart[row + 1]; b++) {
      const [left, snapped] = this.snapped(boxes, b)
      const width = Math.max(snapped, NARROWEST_HIT)
      // A row's last hit may begin less than its width before the edge.
      const x = Math.min(left, viewport.width - width)
      context.fillStyle = palette.hit
      context.fillRect(x, y, width, ROW - 1)
      if (width >= SMALLEST_LABEL) this.label(boxes.node[b], x, y, width, palette.hitText)
    }
  }

  private ticks(): void {
    const { context, layout, viewport, scene } = this
    context.fillStyle = scene.palette.background
    context.fillRect(0, 0, viewport.width, TICKS)
    context.fillStyle = scene.palette.rest
    context.fillRect(0, TICKS - 2, viewport.width, 1)
    context.fillStyle = scene.palette.hit
    for (const tick of layout.ticks) context.fillRect(Math.min(tick, viewport.width - NARROWEST_HIT), 0, NARROWEST_HIT, TICKS - 2)
  }

  private outline(node: number, thickness: number): void {
    const box = node < 0 ? null : boxOf(this.scene, this.layout, node)
    if (box === null) return
    this.context.strokeStyle = this.scene.palette.outline
    this.context.lineWidth = thickness
    this.context.strokeRect(box.x + thickness / 2, this.top(box.row) + thickness / 2, Math.max(box.width - thickness, 1), ROW - 1 - thickness)
  }

  private top(row: number): number {
    return rowTop(this.scene, this.layout, this.viewport, row)
  }

  /** Left edge and width on whole device pixels: crisp, and never nothing. A gap of one pixel parts what is wide enough. */
  private snapped(boxes: Boxes, b: number): [number, number] {
    const { ratio } = this.viewport
    const left = Math.round(boxes.x[b] * ratio)
    const right = Math.round((boxes.x[b] + boxes.width[b]) * ratio)
    const gap = right - left > 3 ? 1 : 0
    return [left / ratio, Math.max(right - left - gap, 1) / ratio]
  }
}
