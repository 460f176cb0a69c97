import { useState } from 'preact/hooks'
import { cut } from '../model/names'
import { headOf } from '../model/fold'
import type { Session, Shown } from './session'

interface Properties {
  readonly session: Session
  readonly shown: Shown
  readonly rootLabel: string
  readonly onZoom: (node: number) => void
}

/** The callers of what is zoomed to: a line of links, and no rows of the graph. */
export function Crumbs({ session, shown, rootLabel, onZoom }: Properties) {
  const [isOpen, setOpen] = useState(false)
  const steps = stepsTo(shown)
  const all = isOpen || steps.length <= FIRST + LAST
  const left = steps.length - FIRST - LAST
  return (
    <nav class={isOpen ? 'crumbs open' : 'crumbs'} aria-label="Zoomed to">
      <ol>
        {steps.map((step, at) => {
          if (!all && at === FIRST) {
            return (
              <li>
                <button class="more" onClick={() => setOpen(true)} title="Show every caller">
                  … {left} more …
                </button>
              </li>
            )
          }
          if (!all && at > FIRST && at < FIRST + left) return null
          const ring = shown.fold.ringOf(step.last)
          const text = step.node === 0 ? rootLabel : cut(session.short(shown.graph.name[step.last]), 80) + (ring === null ? '' : ` ×${ring.times}`)
          const isLast = at === steps.length - 1
          const full = step.node === 0 ? rootLabel : cut(session.page.names[shown.graph.name[step.last]], 1000)
          return (
            <li>
              {isLast ? (
                <span aria-current="location" title={full}>
                  {text}
                </span>
              ) : (
                <button title={full} onClick={() => onZoom(step.node)}>
                  {text}
                </button>
              )}
            </li>
          )
        })}
      </ol>
      {isOpen && steps.length > FIRST + LAST ? (
        <button class="link" onClick={() => setOpen(false)}>
          less
        </button>
      ) : null}
    </nav>
  )
}

/** One step for each row that the path would take: a folded chain is one, named by its last member. */
function stepsTo({ graph, fold, zoom }: Shown): { node: number; last: number }[] {
  const steps: { node: number; last: number }[] = []
  for (let node = zoom; node >= 0; node = graph.parent[node]) {
    const head = headOf(fold, node)
    steps.push({ node: head, last: fold.chainEnd[node] - 1 })
    node = head
  }
  return steps.reverse()
}

const FIRST = 2
const LAST = 4
