import { gunzipSync } from 'fflate'

/** One application's profile as the page holds it: the call tree in columns, and cells of values by label set. */
export interface Page {
  readonly title: string
  readonly application: Application
  /** Unix milliseconds, the driver's clock. */
  readonly from: number
  readonly to: number
  readonly seq: number
  readonly final: boolean
  readonly engine: string
  readonly periodMicroseconds: number
  readonly version: string
  readonly types: readonly ValueType[]
  readonly names: readonly string[]
  /** Layer of each name, see LAYERS. */
  readonly layers: Uint8Array
  readonly tree: Tree
  readonly labels: Labels
  readonly cells: readonly Cell[]
  readonly processes: readonly Process[]
  readonly stages: readonly Stage[]
  readonly warnings: readonly Warning[]
  readonly folded: readonly Folded[]
}

/** Nodes in creation order: a parent comes before its children, node 0 is the root. */
export interface Tree {
  readonly name: Int32Array
  readonly parent: Int32Array
}

export interface Cell {
  readonly set: number
  readonly node: Int32Array
  readonly values: ReadonlyMap<string, Float64Array>
}

export interface Labels {
  readonly keys: readonly string[]
  readonly values: readonly (readonly string[])[]
  /** Per label set one value index per key, ABSENT where the set has no such label. */
  readonly sets: readonly Int32Array[]
}

export interface ValueType {
  readonly name: string
  readonly unit: Unit
}

export interface Application {
  readonly id: string
  readonly name: string
  readonly attempt: string
  readonly spark: string
  readonly scala: string
}

export interface Process {
  readonly id: string
  readonly host: string
  readonly ended: string
  readonly ownCpuSeconds: number
  readonly processCpuSeconds: number
  readonly samples: number
  readonly lost: number
}

export interface Stage {
  readonly stage: string
  readonly attempt: string
  readonly name: string
  readonly cpuMilliseconds: number
  readonly sparkCpuMilliseconds: number
}

export interface Warning {
  readonly code: string
  readonly message: string
  readonly count: number
}

export interface Folded {
  readonly what: string
  readonly count: number
  /** CPU time, microseconds. */
  readonly weight: number
}

export type Unit = 'us' | 'bytes' | 'count'

export const ABSENT = -1

export const LAYERS = ['User code', 'Generated code', 'Spark SQL', 'Spark core', 'IO and codecs', 'JDK and Scala', 'Python', 'Native and VM'] as const

/** The data cannot be shown; the message is for the reader of the page. */
export class PageError extends Error {}

export function fromBase64(text: string): Uint8Array {
  let binary: string
  try {
    binary = atob(text.trim())
  } catch {
    throw new PageError('The data in this page is not valid base64: the file was changed or cut short.')
  }
  const bytes = new Uint8Array(binary.length)
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i)
  return bytes
}

/** Inflates page.json.gz and checks every index in it, so that nothing after it needs to. */
export async function decode(bytes: Uint8Array): Promise<Page> {
  return parse(await inflate(bytes))
}

export function parse(text: string): Page {
  let raw: Raw
  try {
    raw = JSON.parse(text) as Raw
  } catch {
    throw new PageError('The profile data is not valid JSON: the file was changed or cut short.')
  }
  if (raw === null || typeof raw !== 'object') throw new PageError('The profile data is not a JSON object.')
  if (raw.format !== 1) {
    throw new PageError(`The profile data has format ${String(raw.format)}; this page reads format 1. Open it with the page of the Glowplug version that wrote it.`)
  }
  const names = list(raw.names, 'names').map(String)
  const application = raw.application ?? {}
  return {
    title: text_(raw.title) || text_(application.name),
    application: {
      id: text_(application.id),
      name: text_(application.name),
      attempt: text_(application.attempt),
      spark: text_(application.spark),
      scala: text_(application.scala),
    },
    from: number_(raw.from),
    to: number_(raw.to),
    seq: number_(raw.seq),
    final: raw.final === true,
    engine: text_(raw.engine),
    periodMicroseconds: number_(raw.period_us),
    version: text_(raw.glowplug),
    types: list(raw.types, 'types').map(type => ({ name: text_(type.name), unit: unit(type.unit) })),
    names,
    layers: layersOf(list(raw.layers, 'layers'), names.length),
    ...columns(raw, names.length),
    processes: (raw.processes ?? []).map(process => ({
      id: text_(process.id),
      host: text_(process.host),
      ended: text_(process.ended),
      ownCpuSeconds: number_(process.own_cpu_s),
      processCpuSeconds: number_(process.process_cpu_s),
      samples: number_(process.samples),
      lost: number_(process.lost),
    })),
    stages: (raw.stages ?? []).map(stage => ({
      stage: text_(stage.stage),
      attempt: text_(stage.attempt),
      name: text_(stage.name),
      cpuMilliseconds: number_(stage.cpu_ms),
      sparkCpuMilliseconds: number_(stage.spark_cpu_ms),
    })),
    warnings: (raw.warnings ?? []).map(warning => ({ code: text_(warning.code), message: text_(warning.message), count: number_(warning.count) })),
    folded: (raw.folded ?? []).map(entry => ({ what: text_(entry.what), count: number_(entry.count), weight: number_(entry.weight) })),
  }
}

async function inflate(bytes: Uint8Array): Promise<string> {
  if (bytes.length < 2 || bytes[0] !== 0x1f || bytes[1] !== 0x8b) throw new PageError('The profile data is not gzip: the file was changed or cut short.')
  try {
    if (typeof DecompressionStream === 'undefined') return new TextDecoder().decode(gunzipSync(bytes))
    const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new DecompressionStream('gzip'))
    return await new Response(stream).text()
  } catch {
    throw new PageError('The profile data cannot be inflated: the file was changed or cut short.')
  }
}

function columns(raw: Raw, nameCount: number): Pick<Page, 'tree' | 'labels' | 'cells'> {
  const tree = treeOf(raw, nameCount)
  const labels = labelsOf(raw)
  const known = new Set(list(raw.types, 'types').map(type => text_(type.name)))
  const cells = list(raw.cells, 'cells').map((cell, at): Cell => {
    if (!Number.isInteger(cell.set) || cell.set < 0 || cell.set >= labels.sets.length) throw damaged(`cells[${at}].set`, cell.set)
    const node = new Int32Array(list(cell.node, `cells[${at}].node`))
    for (let i = 0, previous = 0; i < node.length; i++) {
      previous += node[i]
      if (!(previous >= 0 && previous < tree.name.length) || (i > 0 && node[i] < 1)) throw damaged(`cells[${at}].node[${i}]`, node[i])
      node[i] = previous
    }
    const values = new Map<string, Float64Array>()
    for (const [type, column] of Object.entries(cell.v ?? {})) {
      if (!known.has(type)) continue
      if (column.length !== node.length) throw damaged(`cells[${at}].v.${type}.length`, column.length)
      values.set(type, new Float64Array(column))
    }
    return { set: cell.set, node, values }
  })
  return { tree, labels, cells }
}

function treeOf(raw: Raw, nameCount: number): Tree {
  const name = new Int32Array(list(raw.nodes?.name, 'nodes.name'))
  const up = list(raw.nodes?.up, 'nodes.up')
  if (name.length === 0 || up.length !== name.length) throw damaged('nodes.up.length', up.length)
  const parent = new Int32Array(name.length)
  parent[0] = -1
  for (let i = 0; i < name.length; i++) {
    if (name[i] < 0 || name[i] >= nameCount) throw damaged(`nodes.name[${i}]`, name[i])
    if (i === 0) continue
    if (!(up[i] >= 1 && up[i] <= i)) throw damaged(`nodes.up[${i}]`, up[i])
    parent[i] = i - up[i]
  }
  return { name, parent }
}

function labelsOf(raw: Raw): Labels {
  const keys = list(raw.labels?.keys, 'labels.keys').map(String)
  const values = list(raw.labels?.values, 'labels.values').map(column => column.map(String))
  if (values.length !== keys.length) throw damaged('labels.values.length', values.length)
  const sets = list(raw.labels?.sets, 'labels.sets').map((set, at) => {
    const row = new Int32Array(set)
    if (row.length !== keys.length) throw damaged(`labels.sets[${at}].length`, row.length)
    row.forEach((value, key) => {
      if (value < ABSENT || value >= values[key].length) throw damaged(`labels.sets[${at}][${key}]`, value)
    })
    return row
  })
  return { keys, values, sets }
}

function layersOf(raw: readonly number[], nameCount: number): Uint8Array {
  if (raw.length !== nameCount) throw damaged('layers.length', raw.length)
  return Uint8Array.from(raw, (layer, i) => {
    if (!(layer >= 0 && layer < LAYERS.length)) throw damaged(`layers[${i}]`, layer)
    return layer
  })
}

function list<T>(value: readonly T[] | undefined, where: string): readonly T[] {
  if (!Array.isArray(value)) throw damaged(where, value)
  return value
}

function damaged(where: string, value: unknown): PageError {
  return new PageError(`The profile data is damaged: ${where} is ${String(value)}.`)
}

function unit(value: unknown): Unit {
  return value === 'us' || value === 'bytes' ? value : 'count'
}

function text_(value: unknown): string {
  return value === undefined || value === null ? '' : String(value)
}

function number_(value: unknown): number {
  const number = Number(value)
  return Number.isFinite(number) ? number : 0
}

interface Raw {
  format?: unknown
  title?: unknown
  application?: { id?: unknown; name?: unknown; attempt?: unknown; spark?: unknown; scala?: unknown }
  from?: unknown
  to?: unknown
  seq?: unknown
  final?: unknown
  engine?: unknown
  period_us?: unknown
  glowplug?: unknown
  types?: { name?: unknown; unit?: unknown }[]
  names?: unknown[]
  layers?: number[]
  nodes?: { name?: number[]; up?: number[] }
  labels?: { keys?: unknown[]; values?: unknown[][]; sets?: number[][] }
  cells?: { set: number; node?: number[]; v?: Record<string, number[]> }[]
  processes?: Record<string, unknown>[]
  stages?: Record<string, unknown>[]
  warnings?: Record<string, unknown>[]
  folded?: Record<string, unknown>[]
}
