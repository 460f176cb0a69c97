import { parse, type Page } from '../src/model/page'

interface Sample {
  readonly stack: string
  readonly labels?: Record<string, string>
  readonly values: Record<string, number>
}

const KEYS = ['process', 'stage', 'thread_state']

/** A page of a few samples, `stack` written as `a;b;c`; the layer of a name is its first digit, if it has one. */
export function pageOf(samples: readonly Sample[]): Page {
  return parse(JSON.stringify(dataOf(samples)))
}

export function dataOf(samples: readonly Sample[]) {
  const names = ['']
  const nodes = { name: [0], up: [0] }
  const children = new Map<string, number>()
  const values: string[][] = KEYS.map(() => [])
  const sets: number[][] = []
  const cells: { set: number; node: number[]; v: Record<string, number[]> }[] = []
  for (const sample of samples) {
    let node = 0
    for (const name of sample.stack.split(';')) {
      if (!names.includes(name)) names.push(name)
      const key = `${node};${name}`
      let child = children.get(key)
      if (child === undefined) {
        child = nodes.name.length
        children.set(key, child)
        nodes.name.push(names.indexOf(name))
        nodes.up.push(child - node)
      }
      node = child
    }
    sets.push(
      KEYS.map((key, at) => {
        const value = sample.labels?.[key]
        if (value === undefined) return -1
        if (!values[at].includes(value)) values[at].push(value)
        return values[at].indexOf(value)
      }),
    )
    cells.push({ set: sets.length - 1, node: [node], v: Object.fromEntries(Object.entries(sample.values).map(([type, value]) => [type, [value]])) })
  }
  return {
    format: 1,
    title: 'app',
    application: { id: 'app-1', name: 'app', attempt: '', spark: '3.5.9', scala: '2.12' },
    from: 1000,
    to: 2000,
    seq: 3,
    final: true,
    engine: 'cpu=timers(10ms), wall=sweep(50ms), alloc=jvmti(2MiB), runtime=on',
    period_us: 10_000,
    glowplug: '0.1.0',
    types: [
      { name: 'cpu', unit: 'us' },
      { name: 'wall', unit: 'us' },
      { name: 'alloc_space', unit: 'bytes' },
      { name: 'alloc_objects', unit: 'count' },
      { name: 'samples', unit: 'count' },
    ],
    names,
    layers: names.map(name => Number(/\d/.exec(name)?.[0] ?? 0)),
    nodes,
    labels: { keys: KEYS, values, sets },
    cells,
    processes: [{ id: 'driver', host: 'h', ended: '', own_cpu_s: 0.5, process_cpu_s: 10, samples: 10, lost: 3 }],
    stages: [],
    warnings: [],
    folded: [],
  }
}

export function selection(measure: 'cpu' | 'wall' | 'latency' | 'alloc_space' | 'alloc_objects' | 'samples' = 'cpu', labels: Record<string, string[]> = {}, statesOff: string[] = []) {
  return { measure, labels: new Map(Object.entries(labels).map(([key, values]) => [key, new Set(values)])), statesOff: new Set(statesOff) }
}
