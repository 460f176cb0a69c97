import { fromBase64, PageError } from './model/page'
import { mount, type Mounted } from './shell/mount'

declare global {
  interface Window {
    /** The mounted page: `inspect` tells what is drawn. */
    glowplug?: Mounted
  }
}

/** The report's page carries its data; a page without it mounts by itself what it fetches. */
const data = document.getElementById('glowplug-data')
const element = document.getElementById('glowplug-page')
if (data !== null && element !== null) {
  const load = async () => {
    const text = data.textContent ?? ''
    if (text.trim() === '') throw new PageError('This page is the empty template: no profile was put into it.')
    const bytes = fromBase64(text)
    // The text is as large as everything that is made from it.
    data.textContent = ''
    return bytes
  }
  void mount(element, { load }).then(mounted => (window.glowplug = mounted))
}

export { mount }
export type { Mounted, Source } from './shell/mount'
