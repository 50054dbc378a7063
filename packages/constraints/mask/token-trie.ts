/**
 * Tokens by their bytes, as a tree in preorder: each node is followed by its descendants. If a text cannot continue with
 * a node, the node and all its descendants are skipped.
 */
export interface TokenTrie {
  /** The byte of each node … */
  readonly bytes: Uint8Array
  /** … and how many nodes are above it. */
  readonly depths: Uint16Array
  /** The node after all descendants of this one. */
  readonly ends: Uint32Array
  /** How many tokens come before this node; one entry more than there are nodes. */
  readonly firsts: Uint32Array
  /** How many characters the longest token below the node still adds, at most 255. */
  readonly rests: Uint8Array
  readonly tokens: Uint32Array
}

/** `bytesOf` returns the bytes of the tokens in ascending order, none of them empty; equal ones may follow one another. */
export function trieOf(tokens: ArrayLike<number>, bytesOf: (index: number) => Uint8Array): TokenTrie {
  const bytes: number[] = []
  const depths: number[] = []
  const firsts: number[] = []
  const ends: number[] = []
  const rests: number[] = []
  const open: number[] = []
  const close = (depth: number) => {
    while (open.length > depth) {
      const node = open.pop() as number
      ends[node] = bytes.length
      const parent = open.at(-1)
      if (parent === undefined) continue
      const own = (rests[node] as number) + (isFirst(bytes[node] as number) ? 1 : 0)
      rests[parent] = Math.min(255, Math.max(rests[parent] as number, own))
    }
  }
  let last: Uint8Array = none
  for (let index = 0; index < tokens.length; index++) {
    const text = bytesOf(index)
    let depth = 0
    while (depth < text.length && text[depth] === last[depth]) depth++
    if (depth < text.length) close(depth)
    for (; depth < text.length; depth++) {
      open.push(bytes.length)
      bytes.push(text[depth] as number)
      depths.push(depth)
      firsts.push(index)
      ends.push(0)
      rests.push(0)
    }
    last = text
  }
  close(0)
  firsts.push(tokens.length)
  return {
    bytes: Uint8Array.from(bytes),
    depths: Uint16Array.from(depths),
    ends: Uint32Array.from(ends),
    firsts: Uint32Array.from(firsts),
    rests: Uint8Array.from(rests),
    tokens: Uint32Array.from(tokens),
  }
}

const none = new Uint8Array(0)

/** Whether a character begins with the byte. */
export function isFirst(byte: number): boolean {
  return (byte & 0xc0) !== 0x80
}
