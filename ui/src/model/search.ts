import type { Tree } from './page'

export interface Search {
  /** 1 for each name that is a hit. */
  readonly match: Uint8Array
  readonly methods: number
}

export type Query = { readonly matches: (name: string) => boolean } | { readonly error: string }

/** A substring in any case, or /an expression/ (case-insensitive too; /…/s for sensitive). */
export function query(text: string): Query | null {
  if (text === '') return null
  const expression = /^\/(.+)\/([s]?)$/u.exec(text)
  if (expression === null) {
    const wanted = text.toLowerCase()
    return { matches: name => name.toLowerCase().includes(wanted) }
  }
  try {
    const compiled = new RegExp(expression[1], expression[2] === 's' ? 'u' : 'iu')
    return { matches: name => compiled.test(name) }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

/** A name is a hit if its full or its shown form matches. */
export function search(names: readonly string[], shownNames: readonly string[], matches: (name: string) => boolean): Search {
  const match = new Uint8Array(names.length)
  let methods = 0
  for (let i = 1; i < names.length; i++) {
    if (!matches(names[i]) && !matches(shownNames[i])) continue
    match[i] = 1
    methods++
  }
  return { match, methods }
}

/** The weight of all stacks with a hit in them, each once, and the places where they begin. */
export function share(tree: Tree, total: Float64Array, match: Uint8Array): { weight: number; places: number } {
  const size = tree.name.length
  const inside = new Uint8Array(size)
  let weight = 0
  let places = 0
  for (let i = 1; i < size; i++) {
    const above = inside[tree.parent[i]]
    const hit = match[tree.name[i]]
    inside[i] = above | hit
    if (!hit || above || total[i] === 0) continue
    weight += total[i]
    places++
  }
  return { weight, places }
}

/** The same within a subtree of nodes in depth-first order. */
export function shareWithin(graph: { name: Int32Array; end: Int32Array; total: Float64Array }, node: number, match: Uint8Array): number {
  let weight = 0
  for (let i = node; i < graph.end[node]; ) {
    if (i > 0 && match[graph.name[i]]) {
      weight += graph.total[i]
      i = graph.end[i]
    } else i++
  }
  return weight
}
