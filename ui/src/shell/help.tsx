import { useEffect, useRef } from 'preact/hooks'

export function Help({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const root = dialog.current?.getRootNode() as ShadowRoot | null
    const before = root?.activeElement as HTMLElement | null | undefined
    dialog.current?.focus()
    return () => before?.focus()
  }, [])
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' && event.key !== '?') return
    event.stopPropagation()
    onClose()
  }
  return (
    <div class="shade" onClick={onClose}>
      <div class="help" role="dialog" aria-modal="true" aria-label="Keys and help" tabIndex={-1} ref={dialog} onKeyDown={onKeyDown} onClick={event => event.stopPropagation()}>
        <h2>Keys</h2>
        <dl>
          {KEYS.map(([keys, text]) => (
            <div>
              <dt>
                {keys.map(key => (
                  <kbd>{key}</kbd>
                ))}
              </dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
        <h2>Reading the graph</h2>
        <ul>
          {NOTES.map(note => (
            <li>{note}</li>
          ))}
        </ul>
        <button class="plain" onClick={onClose}>
          Close
        </button>
      </div>
    </div>
  )
}

const KEYS: [string[], string][] = [
  [['↑', '↓', '←', '→'], 'walk from frame to frame'],
  [['Enter'], 'zoom to the frame'],
  [['Esc'], 'one step back'],
  [['Home'], 'walk to the zoomed frame'],
  [['Space'], 'unfold the row, or fold it again'],
  [['s'], 'sandwich: callers and callees of the method'],
  [['c'], 'copy the full name'],
  [['/'], 'search'],
  [['n', 'p'], 'next and previous hit'],
  [['1', '2', '3', '4'], 'flame graph, hot spots, sandwich, top methods'],
  [['?'], 'this help'],
]

const NOTES = [
  'A frame is as wide as its share of what is measured; callees are below their caller, the widest to the left. What a frame spends itself is the space below it that nothing fills.',
  'A row marked 5× is a chain of five calls, each the only callee of the last. A row marked ↻×200 is a recursion, one method or several that call each other, up to 200 times in one stack; below it is what all of its calls call, added up. Click the mark to unfold.',
  'Hot spots turns the graph round: at the bottom are the methods in which time is spent, above each its callers.',
  'Search takes a part of a name, or an expression between slashes: /^org\\.apache\\..*hash/. Its share counts each stack once.',
  'A grey field stands for frames that are each too narrow to draw. Zoom to see them.',
  'Right-click a frame for more. The address of the page holds what you see: copy it to share the view.',
]
