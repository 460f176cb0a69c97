import type { Tree } from './page'
import { totalsOf } from './select'

export interface TopRow {
  readonly name: number
  readonly self: number
  /** Each stack once, however often the method is in it. */
  readonly total: number
  /** Total CPU time, microseconds, whatever is measured. */
  readonly cpu: number
}

export type TopOrder = 'self' | 'total' | 'cpu'

export function top(tree: Tree, topmost: Uint8Array, nameCount: number, self: Float64Array, cpuSelf: Float64Array): TopRow[] {
  const total = totalsOf(tree, self)
  const cpu = totalsOf(tree, cpuSelf)
  const selfOf = new Float64Array(nameCount)
  const totalOf = new Float64Array(nameCount)
  const cpuOf = new Float64Array(nameCount)
  for (let i = 1; i < tree.name.length; i++) {
    const name = tree.name[i]
    selfOf[name] += self[i]
    if (!topmost[i]) continue
    totalOf[name] += total[i]
    cpuOf[name] += cpu[i]
  }
  const rows: TopRow[] = []
  for (let name = 0; name < nameCount; name++) {
    if (totalOf[name] > 0) rows.push({ name, self: selfOf[name], total: totalOf[name], cpu: cpuOf[name] })
  }
  return rows
}

export function sortTop(rows: readonly TopRow[], order: TopOrder): TopRow[] {
  return [...rows].sort((a, b) => b[order] - a[order] || b.total - a.total || a.name - b.name)
}
