import type { Tree } from './page'
import type { Weights } from './select'

/** A tree without the frames of hidden names; what they weighed is their caller's. */
export interface Reduced {
  readonly tree: Tree
  /** Node of the whole tree -> node of this one. */
  readonly target: Int32Array
}

export function withoutNames(tree: Tree, isHidden: (name: number) => boolean): Reduced {
  const size = tree.name.length
  const target = new Int32Array(size)
  const name = [tree.name[0]]
  const parent = [-1]
  // One map for all children: the key holds parent and name, both below 2^26 in any profile that fits a page.
  const known = new Map<number, number>()
  for (let i = 1; i < size; i++) {
    const above = target[tree.parent[i]]
    if (isHidden(tree.name[i])) {
      target[i] = above
      continue
    }
    const key = above * 0x4000000 + tree.name[i]
    let node = known.get(key)
    if (node === undefined) {
      node = name.push(tree.name[i]) - 1
      parent.push(above)
      known.set(key, node)
    }
    target[i] = node
  }
  return { tree: { name: Int32Array.from(name), parent: Int32Array.from(parent) }, target }
}

export function carry(weights: Weights, reduced: Reduced): Weights {
  const move = (from: Float64Array) => {
    const to = new Float64Array(reduced.tree.name.length)
    for (let i = 0; i < from.length; i++) to[reduced.target[i]] += from[i]
    return to
  }
  return { self: move(weights.self), parts: weights.parts?.map(move) ?? null }
}
