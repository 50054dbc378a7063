import { createCipheriv, createDecipheriv, randomBytes, randomFillSync } from 'node:crypto'

const cipher = 'aes-128-ecb'
const blockBytes = 16
/** Where in a block is what differs each time that a position is named; the rest after it is zero. */
const saltAt = 8
const zerosAt = 12

/**
 * Names of the positions in the list of events. All listeners read the same list, so a number would tell each of them how
 * many events of others came in between: the name is the number under a key that only this process has. Each name is a new
 * one, or the same name twice would tell that nobody else had events. Names of another list are not known.
 */
export function createPositions() {
  const key = randomBytes(blockBytes)

  return {
    idOf(position: number): string {
      const block = Buffer.alloc(blockBytes)
      block.writeDoubleBE(position)
      randomFillSync(block, saltAt, zerosAt - saltAt)
      const sealing = createCipheriv(cipher, key, null).setAutoPadding(false)
      return Buffer.concat([sealing.update(block), sealing.final()]).toString('hex')
    },
    /** Undefined for a text that names none. */
    of(id: string): number | undefined {
      if (!/^[\da-f]{32}$/.test(id)) return undefined
      const opening = createDecipheriv(cipher, key, null).setAutoPadding(false)
      const block = Buffer.concat([opening.update(id, 'hex'), opening.final()])
      const isNamed = block.subarray(zerosAt).every((byte) => byte === 0)
      return isNamed ? block.readDoubleBE() : undefined
    },
  }
}
