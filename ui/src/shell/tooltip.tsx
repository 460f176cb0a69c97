import { useLayoutEffect, useRef } from 'preact/hooks'

export interface Tip {
  readonly x: number
  readonly y: number
  readonly title: string
  readonly lines: readonly (readonly [string, string])[]
  readonly names: readonly string[]
}

export function Tooltip({ tip }: { tip: Tip }) {
  const element = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const box = element.current
    if (box === null) return
    const { offsetWidth, offsetHeight } = box
    const x = tip.x + 14 + offsetWidth > innerWidth ? tip.x - 14 - offsetWidth : tip.x + 14
    const y = tip.y + 18 + offsetHeight > innerHeight ? tip.y - 12 - offsetHeight : tip.y + 18
    box.style.left = `${Math.max(4, x)}px`
    box.style.top = `${Math.max(4, y)}px`
  }, [tip])
  return (
    <div class="tip" role="tooltip" ref={element}>
      <div class="tip-title">{tip.title}</div>
      {tip.names.length > 0 ? (
        <ol>
          {tip.names.map(name => (
            <li>{name}</li>
          ))}
        </ol>
      ) : null}
      <dl>
        {tip.lines.map(([key, value]) => (
          <div>
            <dt>{key}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  )
}

export interface MenuItem {
  readonly text: string
  readonly key?: string
  readonly act: () => void
}

export function Menu({ x, y, items, onClose }: { x: number; y: number; items: readonly MenuItem[]; onClose: () => void }) {
  const element = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const box = element.current
    if (box === null) return
    box.style.left = `${Math.max(4, Math.min(x, innerWidth - box.offsetWidth - 4))}px`
    box.style.top = `${Math.max(4, Math.min(y, innerHeight - box.offsetHeight - 4))}px`
    box.querySelector('button')?.focus()
    const outside = (event: Event) => {
      if (!event.composedPath().includes(box)) onClose()
    }
    document.addEventListener('pointerdown', outside)
    return () => document.removeEventListener('pointerdown', outside)
  }, [])
  const onKeyDown = (event: KeyboardEvent) => {
    const buttons = [...(element.current?.querySelectorAll('button') ?? [])]
    const at = buttons.indexOf(event.target as HTMLButtonElement)
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step === 0 && event.key !== 'Escape') return
    event.preventDefault()
    event.stopPropagation()
    if (step === 0) onClose()
    else buttons[(at + step + buttons.length) % buttons.length].focus()
  }
  return (
    <div class="menu" role="menu" ref={element} onKeyDown={onKeyDown}>
      {items.map(item => (
        <button
          role="menuitem"
          onClick={() => {
            onClose()
            item.act()
          }}
        >
          {item.text}
          {item.key === undefined ? null : <kbd>{item.key}</kbd>}
        </button>
      ))}
    </div>
  )
}
