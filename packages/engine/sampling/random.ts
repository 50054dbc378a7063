import { randomBytes } from 'node:crypto'

/** Numbers from 0 to below 1, as evenly distributed as a double allows. */
export type Random = () => number

/**
 * The random numbers of one choice: the same seed gives the same numbers, whatever else runs. Choice i uses seed + i;
 * seeds have 64 bits and wrap around.
 */
export function randomOf(seed: bigint | undefined, choice: number): Random {
  return createRandom((seed ?? randomBytes(8).readBigUInt64LE()) + BigInt(choice))
}

/**
 * xoshiro128** of Blackman and Vigna, with its state filled by splitmix64 as they advise, so that neighbouring seeds
 * are unrelated.
 */
export function createRandom(seed: bigint): Random {
  const fill = splitmix64(seed)
  const [first, second] = [fill(), fill()]
  let a = Number(first & 0xffffffffn)
  let b = Number(first >> 32n)
  let c = Number(second & 0xffffffffn)
  let d = Number(second >> 32n)

  function next32(): number {
    const result = Math.imul(rotated(Math.imul(b, 5), 7), 9) >>> 0
    const shifted = b << 9
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    d = rotated(d, 11)
    return result
  }

  return () => {
    const high = next32() >>> 5
    const low = next32() >>> 6
    return (high * 2 ** 26 + low) / 2 ** 53
  }
}

function rotated(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by))
}

function splitmix64(seed: bigint): () => bigint {
  let state = BigInt.asUintN(64, seed)
  return () => {
    state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n)
    let mixed = state
    mixed = BigInt.asUintN(64, (mixed ^ (mixed >> 30n)) * 0xbf58476d1ce4e5b9n)
    mixed = BigInt.asUintN(64, (mixed ^ (mixed >> 27n)) * 0x94d049bb133111ebn)
    return mixed ^ (mixed >> 31n)
  }
}
