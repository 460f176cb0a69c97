import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { Scene } from '../canvas/draw'
import { FlameView, type Listener } from '../canvas/view'

interface Properties {
  readonly scene: Scene
  readonly label: string
  readonly listener: Listener
  /** The most that the graph needs, in CSS pixels; null: whatever there is. */
  readonly height: number | null
  readonly register: (view: FlameView | null) => void
}

/** A flame view as a component: the view is made once, the scene and the listener change. */
export function FlamePane({ scene, label, listener, height, register }: Properties) {
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<FlameView | null>(null)
  const current = useRef(listener)
  current.current = listener
  useLayoutEffect(() => {
    const forward: Listener = {
      zoom: node => current.current.zoom(node),
      unfold: head => current.current.unfold(head),
      sandwich: node => current.current.sandwich(node),
      copy: node => current.current.copy(node),
      menu: (node, x, y) => current.current.menu(node, x, y),
      hover: (node, rest, x, y) => current.current.hover(node, rest, x, y),
      leave: () => current.current.leave(),
      focus: node => current.current.focus(node),
    }
    view.current = new FlameView(host.current as HTMLDivElement, forward)
    register(view.current)
    return () => {
      register(null)
      view.current?.destroy()
    }
  }, [])
  useEffect(() => view.current?.update(scene, label), [scene, label])
  return <div class="pane" ref={host} style={height === null ? {} : { flex: `0 1 ${height}px` }} />
}
