/**
 * The stop strings of a request, looked for all at once (Aho and Corasick 1975): a character costs the same whether there
 * is one stop string or a thousand, and the state after it says how much of the text's end may be the beginning of one.
 */
export interface StopStrings {
  /** The state after one more UTF-16 unit; 0 is the state before any. */
  step(state: number, unit: number): number
  /** The stop string that ends here, -1 for none. Of several that end in the same place it is the first in the list. */
  ending(state: number): number
  /** How many units at the end may still become a stop string. */
  begun(state: number): number
  readonly strings: readonly string[]
}

export function createStopStrings(strings: readonly string[]): StopStrings {
  const nodes = strings.reduce((sum, string) => sum + string.length, 1)
  const children = new Map<number, number>()
  const depth = new Uint32Array(nodes)
  const found = new Int32Array(nodes).fill(-1)
  const parent = new Uint32Array(nodes)
  const unitOf = new Uint16Array(nodes)
  const isInner = new Uint8Array(nodes)
  let count = 1

  strings.forEach((string, index) => {
    // Text is made of whole characters, so half of one never occurs in it.
    if (!string.isWellFormed() || string === '') return
    let node = 0
    for (let i = 0; i < string.length; i++) {
      const unit = string.charCodeAt(i)
      let child = children.get(node * 0x10000 + unit)
      if (child === undefined) {
        child = count++
        children.set(node * 0x10000 + unit, child)
        depth[child] = i + 1
        parent[child] = node
        unitOf[child] = unit
        isInner[node] = 1
      }
      node = child
    }
    if (found[node] === -1) found[node] = index
  })

  /** For each node the one of the longest other beginning that its text ends with. */
  const fallback = new Uint32Array(nodes)
  const step = (state: number, unit: number): number => {
    let node = state
    for (;;) {
      const child = children.get(node * 0x10000 + unit)
      if (child !== undefined) return child
      if (node === 0) return 0
      node = fallback[node] ?? 0
    }
  }
  const begun = new Uint32Array(nodes)
  for (const node of shallowFirst(depth, count)) {
    const above = parent[node] ?? 0
    fallback[node] = above === 0 ? 0 : step(fallback[above] ?? 0, unitOf[node] ?? 0)
    const inherited = found[fallback[node] ?? 0] ?? -1
    const own = found[node] ?? -1
    if (own === -1 || (inherited !== -1 && inherited < own)) found[node] = inherited
    begun[node] = isInner[node] ? (depth[node] ?? 0) : (begun[fallback[node] ?? 0] ?? 0)
  }

  return {
    strings,
    step,
    ending: (state) => found[state] ?? -1,
    begun: (state) => begun[state] ?? 0,
  }
}

function shallowFirst(depth: Uint32Array, count: number): Uint32Array {
  const nodes = new Uint32Array(Math.max(0, count - 1)).map((_, i) => i + 1)
  return nodes.sort((a, b) => (depth[a] ?? 0) - (depth[b] ?? 0))
}
