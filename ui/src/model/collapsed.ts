import type { Tree } from './page'

const LINES_PER_CHUNK = 2000

/** Collapsed stacks, `a;b;c weight` a line, in chunks: the whole text can be a hundred times the profile. */
export function* collapsed(tree: Tree, self: Float64Array, names: readonly string[]): Generator<string> {
  const clean = names.map(cleanName)
  const path: string[] = []
  let lines: string[] = []
  for (let i = 1; i < self.length; i++) {
    if (!(self[i] > 0)) continue
    path.length = 0
    for (let node = i; node > 0; node = tree.parent[node]) path.push(clean[tree.name[node]])
    lines.push(`${path.reverse().join(';')} ${Math.round(self[i])}\n`)
    if (lines.length < LINES_PER_CHUNK) continue
    yield lines.join('')
    lines = []
  }
  if (lines.length > 0) yield lines.join('')
}

/** What reads collapsed stacks splits at `;`, at line ends, and takes a trailing number for a weight. */
function cleanName(name: string): string {
  return name
    .replace(/;/g, ':')
    .replace(/[\u0000-\u001f\u007f\u0085\u2028\u2029]+/g, ' ')
    .replace(/\s+(?=[\d.]+\s*$)/, '_')
    .trim() || '(empty)'
}
