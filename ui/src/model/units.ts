import type { Unit } from './page'
import type { Measure } from './select'

export function amount(value: number, unit: Unit): string {
  if (unit === 'us') return duration(value)
  return unit === 'bytes' ? size(value) : count(value)
}

/** Microseconds. */
export function duration(microseconds: number): string {
  if (microseconds === 0) return '0 s'
  if (microseconds < 1000) return `${fixed(microseconds / 1000, 3)} ms`
  if (microseconds < 1e6) return `${fixed(microseconds / 1000, microseconds < 1e5 ? 1 : 0)} ms`
  return `${fixed(microseconds / 1e6, microseconds < 1e7 ? 2 : microseconds < 1e9 ? 1 : 0)} s`
}

export function size(bytes: number): string {
  let scaled = bytes
  let power = 0
  while (scaled >= 1024 && power < SIZES.length - 1) {
    scaled /= 1024
    power++
  }
  return `${fixed(scaled, power === 0 ? 0 : scaled < 10 ? 2 : scaled < 100 ? 1 : 0)} ${SIZES[power]}`
}

export function count(value: number): string {
  if (value < 1e6) return Math.round(value).toLocaleString('en')
  return value < 1e9 ? `${fixed(value / 1e6, 2)} M` : `${fixed(value / 1e9, 2)} G`
}

export function percent(part: number, whole: number): string {
  if (!(whole > 0)) return '0 %'
  const value = (100 * part) / whole
  if (value === 0) return '0 %'
  if (value < 0.01) return '< 0.01 %'
  if (value < 1) return `${value.toFixed(2)} %`
  // 100 % is said of the whole only.
  return value >= 99.95 && part < whole ? '99.9 %' : `${value.toFixed(value >= 99.95 ? 0 : 1)} %`
}

export const MEASURE_NAMES: Record<Measure, string> = {
  cpu: 'CPU time',
  wall: 'Wall time',
  latency: 'Latency',
  alloc_space: 'Allocated bytes',
  alloc_objects: 'Allocated objects',
  samples: 'Samples',
  delay: 'Lock wait',
  contentions: 'Contentions',
}

/** What a percent is of, in the middle of a sentence. */
export const MEASURE_NOUNS: Record<Measure, string> = {
  cpu: 'CPU time',
  wall: 'wall time',
  latency: 'latency',
  alloc_space: 'allocated bytes',
  alloc_objects: 'allocated objects',
  samples: 'CPU samples',
  delay: 'time waited for locks',
  contentions: 'lock contentions',
}

const SIZES = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

function fixed(value: number, digits: number): string {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}
