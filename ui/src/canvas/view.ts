import { headOf } from '../model/fold'
import { boxOf, contentHeight, draw, FONT, markOf, markWidth, ROW, rowAt, rowTop, type Scene, TICKS, type Viewport } from './draw'
import { boxAt, layOut, type Layout } from './layout'
import { Ruler } from './text'

/** What a view tells its owner. Nodes are the scene's. */
export interface Listener {
  zoom(node: number): void
  unfold(head: number): void
  sandwich(node: number): void
  copy(node: number): void
  menu(node: number, x: number, y: number): void
  hover(node: number, rest: boolean, x: number, y: number): void
  leave(): void
  focus(node: number): void
}

/** Frames and hits as they are drawn, in CSS pixels of the canvas; for tests and for embedding pages. */
export interface Drawn {
  readonly node: number
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** A scrolling flame graph: a canvas of the window's size, kept in place inside a scroller of the graph's height. */
export class FlameView {
  private readonly scroller = document.createElement('div')
  private readonly spacer = document.createElement('div')
  private readonly canvas = document.createElement('canvas')
  private readonly context: CanvasRenderingContext2D
  private readonly ruler: Ruler
  private readonly observer: ResizeObserver
  private scene: Scene | null = null
  private layout: Layout | null = null
  private width = 0
  private height = 0
  private ratio = 0
  private pending = 0
  private hovered = -1
  private focused = -1
  /** The focus is outlined only for those who walk by keyboard. */
  private isWalking = false

  constructor(host: HTMLElement, private readonly listener: Listener) {
    this.scroller.className = 'scroller'
    this.spacer.className = 'spacer'
    this.canvas.className = 'flames'
    this.canvas.tabIndex = 0
    this.canvas.setAttribute('role', 'application')
    this.canvas.setAttribute('aria-roledescription', 'flame graph')
    this.scroller.append(this.canvas, this.spacer)
    host.append(this.scroller)
    const context = this.canvas.getContext('2d', { alpha: false })
    if (context === null) throw new Error('This browser gives no 2D canvas.')
    this.context = context
    this.ruler = new Ruler(character => {
      context.font = FONT
      return context.measureText(character).width
    })
    this.observer = new ResizeObserver(() => this.invalidate())
    this.observer.observe(this.scroller)
    this.listen()
  }

  update(scene: Scene, label: string): void {
    const before = this.scene
    const moved = before === null || before.graph !== scene.graph || before.zoom !== scene.zoom || before.flipped !== scene.flipped
    this.scene = scene
    if (moved) {
      this.hovered = -1
      if (before?.graph !== scene.graph) this.focused = -1
    }
    this.canvas.setAttribute('aria-label', label)
    this.relayout()
    if (moved) this.scroller.scrollTop = scene.flipped ? this.scroller.scrollHeight : 0
    this.invalidate()
  }

  destroy(): void {
    this.observer.disconnect()
    cancelAnimationFrame(this.pending)
    this.scroller.remove()
  }

  takeFocus(): void {
    this.canvas.focus({ preventScroll: true })
  }

  /** A key that was pressed with the focus elsewhere. */
  takeKey(event: KeyboardEvent): void {
    this.takeFocus()
    this.onKey(event)
  }

  /** Moves the focus to the next (1) or previous (-1) hit and tells it. */
  toHit(direction: 1 | -1): void {
    if (this.layout === null || this.layout.hits.count === 0) return
    const nodes = [...new Set(this.layout.hits.node)].sort((a, b) => a - b)
    const at = nodes.findIndex(node => node >= this.focused)
    const here = at < 0 ? nodes.length : at
    const exact = nodes[here] === this.focused
    const next = direction === 1 ? (exact ? here + 1 : here) : here - 1
    this.setFocus(nodes[(next + nodes.length) % nodes.length])
  }

  frames(): Drawn[] {
    return this.drawn('frames')
  }

  hits(): Drawn[] {
    return this.drawn('hits')
  }

  ticks(): readonly number[] {
    return this.layout?.ticks ?? []
  }

  private drawn(kind: 'frames' | 'hits'): Drawn[] {
    const { scene, layout } = this
    if (scene === null || layout === null) return []
    const boxes = layout[kind]
    const result: Drawn[] = []
    for (let row = 0; row < layout.rows; row++) {
      const y = rowTop(scene, layout, this.viewport(), row)
      if (y + ROW <= 0 || y >= this.height) continue
      for (let b = boxes.rowStart[row]; b < boxes.rowStart[row + 1]; b++) {
        result.push({ node: boxes.node[b], x: boxes.x[b], y, width: boxes.width[b], height: ROW - 1 })
      }
    }
    return result
  }

  private relayout(): void {
    const { scene } = this
    this.resize()
    if (scene === null || this.width === 0) return
    this.layout = layOut({ graph: scene.graph, fold: scene.fold, zoom: scene.zoom, width: this.width, match: scene.match })
    this.spacer.style.height = `${Math.max(contentHeight(scene, this.layout) - this.height, 0)}px`
  }

  private resize(): boolean {
    const { clientWidth, clientHeight } = this.scroller
    const ratio = window.devicePixelRatio || 1
    if (clientWidth === this.width && clientHeight === this.height && ratio === this.ratio) return false
    this.width = clientWidth
    this.height = clientHeight
    this.ratio = ratio
    this.canvas.width = Math.max(1, Math.round(clientWidth * ratio))
    this.canvas.height = Math.max(1, Math.round(clientHeight * ratio))
    this.canvas.style.width = `${clientWidth}px`
    this.canvas.style.height = `${clientHeight}px`
    return true
  }

  private invalidate(): void {
    if (this.pending !== 0) return
    this.pending = requestAnimationFrame(() => {
      this.pending = 0
      this.paint()
    })
  }

  private paint(): void {
    if (this.resize()) this.relayout()
    const { scene, layout } = this
    if (scene === null || layout === null || this.width === 0) return
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0)
    const focused = this.isWalking && this.isFocused() ? this.focused : -1
    draw(this.context, scene, layout, this.viewport(), this.ruler, { hovered: this.hovered, focused })
  }

  private viewport(): Viewport {
    return { width: this.width, height: this.height, scroll: this.scroller.scrollTop, ratio: this.ratio }
  }

  private isFocused(): boolean {
    return (this.canvas.getRootNode() as Document | ShadowRoot).activeElement === this.canvas
  }

  private listen(): void {
    const { canvas, listener } = this
    this.scroller.addEventListener('scroll', () => this.invalidate())
    canvas.addEventListener('mousemove', event => {
      const box = this.under(event)
      const node = box === null ? -1 : box.node
      const frame = box === null || box.rest ? -1 : box.node
      if (frame !== this.hovered) {
        this.hovered = frame
        this.invalidate()
      }
      canvas.style.cursor = frame < 0 ? 'default' : 'pointer'
      if (node < 0) listener.leave()
      else listener.hover(node, box?.rest === true, event.clientX, event.clientY)
    })
    canvas.addEventListener('mouseleave', () => {
      this.hovered = -1
      this.invalidate()
      listener.leave()
    })
    canvas.addEventListener('click', event => {
      const box = this.under(event)
      if (box === null || box.rest) return
      this.focused = box.node
      this.isWalking = false
      this.activate(box.node, event.offsetX)
    })
    canvas.addEventListener('contextmenu', event => {
      const box = this.under(event)
      if (box === null || box.rest) return
      event.preventDefault()
      this.focused = box.node
      listener.menu(box.node, event.clientX, event.clientY)
    })
    canvas.addEventListener('focus', () => this.invalidate())
    canvas.addEventListener('blur', () => this.invalidate())
    canvas.addEventListener('keydown', event => this.onKey(event))
  }

  /** The mark of a folded row unfolds it, and so does a click on one that already fills the width; else a click zooms. */
  private activate(node: number, x: number): void {
    const { scene, layout } = this
    if (scene === null || layout === null) return
    const box = boxOf(scene, layout, node)
    if (box === null) return
    const mark = markWidth(markOf(scene.fold, node))
    const onMark = x >= box.x && x < box.x + mark && box.width > 2 * mark
    if (mark > 0 && (onMark || box.width > this.width - 2)) this.listener.unfold(headOf(scene.fold, node))
    else this.listener.zoom(node)
  }

  private under(event: MouseEvent): { node: number; rest: boolean } | null {
    const { scene, layout } = this
    if (scene === null || layout === null) return null
    if (scene.match !== null && event.offsetY < TICKS) return null
    return boxAt(layout, rowAt(scene, layout, this.viewport(), event.offsetY), event.offsetX)
  }

  private onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const { scene, listener } = this
    if (scene === null) return
    const walked = this.walk(event.key)
    if (walked !== null) {
      event.preventDefault()
      if (walked >= 0) this.setFocus(walked)
      return
    }
    if (this.focused < 0) return
    const actions = new Map<string, () => void>([
      ['Enter', () => listener.zoom(this.focused)],
      [' ', () => listener.unfold(headOf(scene.fold, this.focused))],
      ['s', () => listener.sandwich(this.focused)],
      ['c', () => listener.copy(this.focused)],
    ])
    const action = actions.get(event.key)
    if (action === undefined) return
    event.preventDefault()
    event.stopPropagation()
    action()
  }

  /** Null: not a key that walks. -1: nothing there. */
  private walk(key: string): number | null {
    const { scene, layout } = this
    if (scene === null || layout === null || !WALKING.has(key)) return null
    const { fold, graph, zoom, flipped } = scene
    if (this.focused < 0 || boxOf(scene, layout, this.focused) === null) return zoom
    const node = this.focused
    const deeper = flipped ? 'ArrowUp' : 'ArrowDown'
    if (key === 'Home') return zoom
    if (key === deeper) {
      const child = fold.chainEnd[node]
      return child < graph.end[node] && boxOf(scene, layout, child) !== null ? child : -1
    }
    if (key === 'ArrowUp' || key === 'ArrowDown') return node === zoom ? -1 : Math.max(headOf(fold, graph.parent[node]), zoom)
    const row = fold.row[node] - fold.row[zoom]
    const { frames } = layout
    for (let b = frames.rowStart[row]; b < frames.rowStart[row + 1]; b++) {
      if (frames.node[b] !== node) continue
      const next = key === 'ArrowLeft' ? b - 1 : b + 1
      return next >= frames.rowStart[row] && next < frames.rowStart[row + 1] ? frames.node[next] : -1
    }
    return -1
  }

  private setFocus(node: number): void {
    const { scene, layout } = this
    if (scene === null || layout === null) return
    this.focused = node
    this.isWalking = true
    const box = boxOf(scene, layout, node)
    if (box !== null) {
      const y = rowTop(scene, layout, this.viewport(), box.row)
      const margin = ROW * 2
      if (y < margin) this.scroller.scrollTop += y - margin
      else if (y + ROW + margin > this.height) this.scroller.scrollTop += y + ROW + margin - this.height
    }
    this.listener.focus(node)
    this.invalidate()
  }
}

const WALKING: ReadonlySet<string> = new Set(['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight', 'Home'])
