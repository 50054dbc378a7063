import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Database } from '../storage/database.ts'

/**
 * Seals texts that a client stores for the server and can neither read nor change. The key is in the record, so that
 * every process that shares it can unseal what another sealed. The owner is sealed as well, so that nobody else can use
 * the text: a user for its thoughts, a search of a project for its position.
 */
export interface Sealing {
  open(owner: string): Promise<OwnSeal>
}

export interface OwnSeal {
  seal(text: string): string
  /** Undefined if it was not sealed here, or for another owner. */
  unseal(sealed: string): string | undefined
}

const cipher = 'aes-256-gcm'
const prefix = 'hdl1.'
const nonceBytes = 12
const tagBytes = 16

export function createSealing(db: Database): Sealing {
  let loading: Promise<Buffer> | undefined
  async function load(): Promise<Buffer> {
    const value = randomBytes(32).toString('base64')
    return Buffer.from(await db.write('secretOf', { name: 'reasoning', value }), 'base64')
  }
  return {
    async open(owner) {
      loading ??= load()
      try {
        return sealOf(await loading, owner)
      } catch (error) {
        // The next attempt to read the record may succeed.
        loading = undefined
        throw error
      }
    },
  }
}

function sealOf(key: Buffer, name: string): OwnSeal {
  const owner = Buffer.from(name)
  return {
    seal(text) {
      const nonce = randomBytes(nonceBytes)
      const sealing = createCipheriv(cipher, key, nonce, { authTagLength: tagBytes }).setAAD(owner)
      const bytes = Buffer.concat([
        nonce,
        sealing.update(text, 'utf8'),
        sealing.final(),
        sealing.getAuthTag(),
      ])
      return prefix + bytes.toString('base64url')
    },
    unseal(sealed) {
      if (!sealed.startsWith(prefix)) return undefined
      const bytes = Buffer.from(sealed.slice(prefix.length), 'base64url')
      if (bytes.length < nonceBytes + tagBytes) return undefined
      const opening = createDecipheriv(cipher, key, bytes.subarray(0, nonceBytes), {
        authTagLength: tagBytes,
      })
        .setAAD(owner)
        .setAuthTag(bytes.subarray(-tagBytes))
      try {
        const text = opening.update(bytes.subarray(nonceBytes, -tagBytes))
        return Buffer.concat([text, opening.final()]).toString()
      } catch {
        return undefined
      }
    },
  }
}
