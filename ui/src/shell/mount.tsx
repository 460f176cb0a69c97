import { render } from 'preact'
import { decode, PageError, type Page } from '../model/page'
import { App, type Inspector } from './app'
import styles from './style.css'

/** Where the bytes of page.json.gz come from. */
export interface Source {
  load(): Promise<Uint8Array>
}

export interface Mounted {
  /** Shows later data of the same application; what is zoomed to and filtered stays. */
  update(bytes: Uint8Array): Promise<void>
  destroy(): void
  /** What is drawn now, for tests and for pages that embed this one. */
  readonly inspect: Inspector
}

/** Puts the page into an element, in a shadow root of its own: no style gets in or out. */
export async function mount(element: HTMLElement, source: Source): Promise<Mounted> {
  const shadow = element.shadowRoot ?? element.attachShadow({ mode: 'open' })
  const style = document.createElement('style')
  style.textContent = styles
  const root = document.createElement('div')
  root.className = 'root'
  shadow.replaceChildren(style, root)
  const inspect: Inspector = { page: null, state: null, frames: () => [], hits: () => [], ticks: () => [], numbers: () => null }
  const show = (page: Page | null, problem: string) => render(<App page={page} problem={problem} inspect={inspect} />, root)
  const update = async (bytes: Uint8Array) => show(await decode(bytes), '')
  show(null, '')
  try {
    await update(await source.load())
  } catch (error) {
    if (!(error instanceof PageError)) console.error(error)
    show(null, error instanceof Error ? error.message : String(error))
  }
  return { update, destroy: () => render(null, root), inspect }
}
