export interface Palette {
  readonly background: string
  /** By layer, in the order of LAYERS; text on them is `text`. */
  readonly layers: readonly string[]
  /** By thread state, in the order of STATES. */
  readonly states: readonly string[]
  readonly root: string
  readonly text: string
  /** Frames of a dimmed layer. */
  readonly dimmed: string
  readonly dimmedText: string
  readonly hit: string
  readonly hitText: string
  readonly rest: string
  readonly outline: string
  readonly mark: string
}

export const LIGHT: Palette = {
  background: '#ffffff',
  layers: ['#ff9d4d', '#f7cd52', '#9cc2f5', '#8fd6cb', '#b5d98a', '#d6d3cc', '#c9b4f0', '#eda7a3'],
  states: ['#92d492', '#9cc2f5', '#f2948c', '#f5cb62', '#cbb6ee'],
  root: '#e6e8ec',
  text: '#16181d',
  dimmed: '#eff0f2',
  dimmedText: '#5a5e67',
  hit: '#b3147d',
  hitText: '#ffffff',
  rest: '#e3e4e8',
  outline: '#16181d',
  mark: 'rgba(22, 24, 29, 0.16)',
}

export const DARK: Palette = {
  background: '#15171b',
  layers: ['#b3530a', '#7d6410', '#2f5c96', '#1d6a62', '#4a6b22', '#53524f', '#654c9c', '#8a4141'],
  states: ['#2f6e3c', '#2f5c96', '#a63a34', '#7d6410', '#654c9c'],
  root: '#3a3e46',
  text: '#f3f4f6',
  dimmed: '#23262c',
  dimmedText: '#9da2ac',
  hit: '#ff8fd8',
  hitText: '#16181d',
  rest: '#2b2e35',
  outline: '#ffffff',
  mark: 'rgba(255, 255, 255, 0.2)',
}

/** A frame that is not a search hit: its own colour, two thirds of the way to the background. */
export function faded(colour: string, palette: Palette): string {
  const from = channels(colour)
  const to = channels(palette.background)
  return `#${from.map((value, i) => Math.round(value * 0.35 + to[i] * 0.65).toString(16).padStart(2, '0')).join('')}`
}

/** WCAG 2 contrast of two colours. */
export function contrast(a: string, b: string): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x)
  return (high + 0.05) / (low + 0.05)
}

function luminance(colour: string): number {
  const [red, green, blue] = channels(colour).map(value => {
    const part = value / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function channels(colour: string): number[] {
  return [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16))
}
