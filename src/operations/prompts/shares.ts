import { createHash, randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Caller } from '../../domain/callers.ts'
import { JsonText } from '../../domain/json/text.ts'
import { now } from '../../domain/time.ts'
import { promptVersionOf } from '../../storage/answers/responses.ts'
import type { Reader } from '../../storage/transaction.ts'
import { Value } from '../objects/values.ts'
import type { RecordingTarget } from '../recording/answer.ts'
import { threadOf } from '../recording/target-headers.ts'

export interface Sharing {
  project: string
  id: string
  label: string
  /** Requests with the same key get the same version. */
  key: string
}

/**
 * Rendezvous hashing by weight: each version draws from its own hash, and the smallest wins. When a weight grows, only keys
 * that its version wins by that move.
 */
export function sharerFor<S extends { digest: string; weight: number }>(
  { project, id, label, key }: Sharing,
  share: readonly S[],
): S {
  const drawOf = ({ digest, weight }: S) => {
    const hash = createHash('sha256').update(JSON.stringify([project, id, label, key, digest]))
    // Between 0 and 1, and neither of them.
    return -Math.log((hash.digest().readUIntBE(0, 6) + 0.5) / 2 ** 48) / weight
  }
  return share.reduce((best, sharer) => (drawOf(sharer) < drawOf(best) ? sharer : best))
}

/** Fields that name whose request it is, the narrowest first. */
const keyFields = ['prompt_cache_key', 'user', 'safety_identifier']

/** Chooses among versions that share a label. */
export interface Stickiness {
  /** The version that gave the answer which the request continues. */
  before(): Promise<string | undefined>
  /** Else, what its answers stick to. */
  key(): string
}

interface Asking {
  db: Reader
  caller: Caller
  headers: IncomingHttpHeaders
  target: RecordingTarget
}

/** `prompt`: its id. `sent`: the members of the request. */
export function stickinessOf(
  { db, caller, headers, target: { project, thread } }: Asking,
  prompt: string,
  sent: () => ReadonlyMap<string, string>,
): Stickiness {
  const textOf = (name: string) => {
    const value = new Value(sent().get(name) ?? 'null')
    return value.string ?? value.member('id')?.string
  }
  return {
    async before() {
      const id = textOf('previous_response_id')
      // What no id can be is refused with the rest of the body.
      if (id === undefined || !/^[^\p{Cc}\p{Cs}]{1,256}$/u.test(id)) return undefined
      return promptVersionOf(db, { user_name: caller.name, id, now: now(), project, prompt })
    },
    key() {
      const named =
        thread ??
        threadOf(headers, {
          session_id: textOf('session_id'),
          metadata: new JsonText(sent().get('metadata') ?? 'null'),
          conversation: textOf('conversation'),
        })
      if (named !== null) return JSON.stringify(['thread', named])
      const field = keyFields.find(textOf)
      return field === undefined ? randomUUID() : JSON.stringify([field, textOf(field)])
    },
  }
}
