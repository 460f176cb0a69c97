import type { Fold } from '../model/fold'
import type { Graph } from '../model/graph'
import type { Boxes, Layout } from './layout'
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
}

export interface Marks {
  readonly hovered: number
  readonly focused: number
}

export const FONT = '12px "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
const SMALL_FONT = '10px "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
const SMALLEST_LABEL = 26

export function draw(context: CanvasRenderingContext2D, scene: Scene, layout: Layout, viewport: Viewport, ruler: Ruler, marks: Marks): void {
  const { palette } = scene
  const { width, height } = viewport
  context.fillStyle = palette.background
  context.fillRect(0, 0, width, height)
  context.font = FONT
  context.textBaseline = 'middle'
  context.direction = 'ltr'
  const fills = fillsOf(scene)
  const [firstRow, lastRow] = rowsInSight(scene, layout, viewport)
  for (let row = firstRow; row <= lastRow; row++) {
    const y = rowTop(scene, layout, viewport, row)
    drawRests(context, scene, layout.rests, row, y)
    drawFrames(context, scene, layout.frames, row, y, fills, ruler, width)
  }
  for (let row = firstRow; row <= lastRow; row++) {
    drawHits(context, scene, layout.hits, row, rowTop(scene, layout, viewport, row), ruler, width)
  }
  outline(context, scene, layout, viewport, marks)
  if (scene.match !== null) drawTicks(context, scene, layout, viewport)
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

function rowsInSight(scene: Scene, layout: Layout, viewport: Viewport): [number, number] {
  const a = rowAt(scene, layout, viewport, 0)
  const b = rowAt(scene, layout, viewport, viewport.height)
  return [Math.max(0, Math.min(a, b)), Math.min(layout.rows - 1, Math.max(a, b))]
}

interface Fills {
  readonly layers: readonly string[]
  readonly states: readonly string[]
  readonly root: string
  readonly dimmed: string
}

function fillsOf({ palette, match }: Scene): Fills {
  const tone = (colour: string) => (match === null ? colour : faded(colour, palette))
  return { layers: palette.layers.map(tone), states: palette.states.map(tone), root: tone(palette.root), dimmed: tone(palette.dimmed) }
}

function drawFrames(context: CanvasRenderingContext2D, scene: Scene, boxes: Boxes, row: number, y: number, fills: Fills, ruler: Ruler, canvasWidth: number): void {
  const { graph, layers, dimmed, palette } = scene
  for (let b = boxes.rowStart[row]; b < boxes.rowStart[row + 1]; b++) {
    const node = boxes.node[b]
    const x = boxes.x[b]
    const width = boxes.width[b]
    const layer = layers[graph.name[node]]
    const isDimmed = node > 0 && dimmed.has(layer)
    // Half a pixel of air between neighbours, none where it would swallow the frame.
    const inner = width > 2 ? width - 0.5 : width
    if (isDimmed) context.fillStyle = fills.dimmed
    else if (graph.name[node] === 0) context.fillStyle = fills.root
    else context.fillStyle = fills.layers[layer]
    if (scene.colouring === 'state' && graph.parts !== null && !isDimmed) fillByState(context, graph, node, x, y, inner, fills)
    else context.fillRect(x, y, inner, ROW - 1)
    if (width >= SMALLEST_LABEL) {
      context.fillStyle = isDimmed ? palette.dimmedText : palette.text
      drawLabel(context, scene, node, x, y, Math.min(width, canvasWidth - x), ruler)
    }
  }
}

/** One band for each state, in the order of the legend, as wide as its share. */
function fillByState(context: CanvasRenderingContext2D, graph: Graph, node: number, x: number, y: number, width: number, fills: Fills): void {
  const parts = graph.parts ?? []
  const scale = width / graph.total[node]
  let at = x
  for (let s = 0; s < parts.length; s++) {
    const part = parts[s][node] * scale
    if (part <= 0) continue
    context.fillStyle = fills.states[s]
    context.fillRect(at, y, part, ROW - 1)
    at += part
  }
}

function drawLabel(context: CanvasRenderingContext2D, scene: Scene, node: number, x: number, y: number, width: number, ruler: Ruler): void {
  const { fold, palette } = scene
  const middle = y + (ROW - 1) / 2 + 0.5
  let left = x + 4
  let room = width - 8
  const members = fold.chainEnd[node] - node
  if (members > 1) {
    const badge = drawBadge(context, palette, members, x, y, width)
    left += badge
    room -= badge
  }
  if (room < 12) return
  const text = ruler.fit(frameLabel(scene, node, text => ruler.width(text) <= room), room)
  if (text !== '') context.fillText(text, left, middle)
  if (members > 1) {
    context.fillStyle = palette.mark
    context.fillRect(x, y + ROW - 3, width > 2 ? width - 0.5 : width, 1)
  }
}

export function frameLabel(scene: Scene, node: number, fits: (text: string) => boolean): string {
  const { graph, fold, label, flipped } = scene
  if (node === 0 && graph.name[0] === 0) return scene.rootLabel
  const last = fold.chainEnd[node] - 1
  const own = label(graph.name[node])
  if (last <= node) return own
  const end = label(graph.name[last])
  // Of callers the nearest tells most; of callees the one whose own callees follow below.
  const both = flipped ? `${own}  ←  ${end}` : `${own}  →  ${end}`
  return fits(both) ? both : flipped ? own : end
}

function drawBadge(context: CanvasRenderingContext2D, palette: Palette, members: number, x: number, y: number, width: number): number {
  const text = `${members}×`
  const badge = 8 + text.length * 6
  if (width < badge + 30) return 0
  const colour = context.fillStyle
  context.fillStyle = palette.mark
  context.fillRect(x + 3, y + 3, badge, ROW - 7)
  context.fillStyle = colour
  context.font = SMALL_FONT
  context.textAlign = 'center'
  context.fillText(text, x + 3 + badge / 2, y + ROW / 2)
  context.textAlign = 'left'
  context.font = FONT
  return badge + 4
}

function drawRests(context: CanvasRenderingContext2D, { palette }: Scene, boxes: Boxes, row: number, y: number): void {
  context.fillStyle = palette.rest
  for (let b = boxes.rowStart[row]; b < boxes.rowStart[row + 1]; b++) context.fillRect(boxes.x[b], y, boxes.width[b], ROW - 1)
}

function drawHits(context: CanvasRenderingContext2D, scene: Scene, boxes: Boxes, row: number, y: number, ruler: Ruler, canvasWidth: number): void {
  const { palette } = scene
  for (let b = boxes.rowStart[row]; b < boxes.rowStart[row + 1]; b++) {
    const width = boxes.width[b]
    // The last hit of a row may begin less than its width before the edge.
    const x = Math.min(boxes.x[b], canvasWidth - width)
    context.fillStyle = palette.hit
    context.fillRect(x, y, width > 4 ? width - 0.5 : width, ROW - 1)
    if (width < SMALLEST_LABEL) continue
    context.fillStyle = palette.hitText
    drawLabel(context, scene, boxes.node[b], x, y, width, ruler)
  }
}

function drawTicks(context: CanvasRenderingContext2D, { palette }: Scene, layout: Layout, viewport: Viewport): void {
  context.fillStyle = palette.background
  context.fillRect(0, 0, viewport.width, TICKS)
  context.fillStyle = palette.rest
  context.fillRect(0, TICKS - 2, viewport.width, 1)
  context.fillStyle = palette.hit
  for (const tick of layout.ticks) context.fillRect(Math.min(tick, viewport.width - 2), 0, 2, TICKS - 2)
}

function outline(context: CanvasRenderingContext2D, scene: Scene, layout: Layout, viewport: Viewport, marks: Marks): void {
  for (const [node, thickness] of [
    [marks.hovered, 1],
    [marks.focused, 2],
  ]) {
    if (node < 0) continue
    const box = boxOf(scene, layout, node)
    if (box === null) continue
    const y = rowTop(scene, layout, viewport, box.row)
    context.strokeStyle = scene.palette.outline
    context.lineWidth = thickness
    context.strokeRect(box.x + thickness / 2, y + thickness / 2, Math.max(box.width - thickness, 1), ROW - 1 - thickness)
  }
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
