import { useEffect, useState } from 'preact/hooks'

export type Theme = 'light' | 'dark'
export type ThemeChoice = 'auto' | Theme

/** The reader's choice; by default that of the page around (Spark's UI marks its html element), else the system's. */
export function useTheme(): { theme: Theme; choice: ThemeChoice; choose: (choice: ThemeChoice) => void } {
  const [choice, setChoice] = useState<ThemeChoice>(remembered)
  const [surrounding, setSurrounding] = useState<Theme>(surroundingTheme)
  useEffect(() => {
    const update = () => setSurrounding(surroundingTheme())
    const media = matchMedia('(prefers-color-scheme: dark)')
    media.addEventListener('change', update)
    const observer = new MutationObserver(update)
    observer.observe(document.documentElement, { attributeFilter: ['data-bs-theme'] })
    return () => {
      media.removeEventListener('change', update)
      observer.disconnect()
    }
  }, [])
  const choose = (next: ThemeChoice) => {
    setChoice(next)
    try {
      localStorage.setItem(KEY, next)
    } catch {
      // No storage in this browser or for this file: the choice lasts as long as the page.
    }
  }
  return { theme: choice === 'auto' ? surrounding : choice, choice, choose }
}

const KEY = 'glowplug-theme'

function remembered(): ThemeChoice {
  try {
    const value = localStorage.getItem(KEY)
    return value === 'light' || value === 'dark' ? value : 'auto'
  } catch {
    return 'auto'
  }
}

function surroundingTheme(): Theme {
  const marked = document.documentElement.getAttribute('data-bs-theme')
  if (marked === 'light' || marked === 'dark') return marked
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
}
