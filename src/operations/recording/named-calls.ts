import { inSteps } from '../../../packages/waiting/index.ts'
import { isCompletionId } from '../../domain/ids.ts'
import { formatTime, now } from '../../domain/time.ts'
import { callOfCompletion } from '../../storage/answers/completions.ts'
import { coldUntil, isColdField } from '../../storage/cold/reference.ts'
import type { Reader } from '../../storage/transaction.ts'
import type { Recorder } from './answer.ts'

/**
 * Header of a response: the number of calls that have the id of the completion that the request names. The newest of
 * them is used.
 */
export const matchesHeader = 'x-heddle-matches'

/** Header of a response: inputs and outputs of calls that began before this time were not looked into. */
export const coldHeader = 'x-heddle-cold-before'

interface NamedCall {
  /** The id of the call, or the given name if it is not that of a completion in the project. */
  id: string
  matches: number
}

/** Waits for answers under this name that are still to be written. */
export async function namedCall(
  { db, settled }: { db: Reader; settled: Recorder['settled'] },
  project: string,
  name: string,
): Promise<NamedCall> {
  await settled(project, name)
  const found = isCompletionId(name) ? await callOfCompletion(db, project, name, now()) : undefined
  return { id: found?.callId ?? name, matches: found?.matches ?? 0 }
}

/** The start of a reference to a call. The name follows: the part that a caller chose may have any characters. */
const callRefHead = /^[a-z][a-z0-9+.-]*:\/\/\/([^/]+\/[^/]+)\/call\//

/**
 * Resolves the calls that one request names, by their ids or by those of their completions. Access is checked before.
 */
export interface CallNames {
  settled: Recorder['settled']
  /** The id of the call; a name that is not that of a completion in the project is returned unchanged. */
  call(project: string, name: string): Promise<string>
  calls(project: string, names: readonly string[]): Promise<string[]>
  /** The reference to a call of the project with the call's own id; any other text is returned unchanged. */
  ref(project: string, text: string): Promise<string>
  /** Says that the request looks at these fields in the record alone, where those of cold calls are not. */
  looksAt(project: string, fields: readonly string[]): Promise<void>
}

/**
 * `several` is called with the number of calls that a name stands for, if it is more than one; with several names, the
 * largest.
 */
export function createCallNames(
  services: { db: Reader; settled: Recorder['settled'] },
  several: (matches: number) => void,
  withoutBefore: (time: string) => void = () => {},
): CallNames {
  let most = 1

  async function call(project: string, name: string): Promise<string> {
    const { id, matches } = await namedCall(services, project, name)
    if (matches > most) {
      most = matches
      several(matches)
    }
    return id
  }

  return {
    settled: services.settled,
    call,
    async looksAt(project, fields) {
      if (!fields.some((field) => isColdField(field))) return
      const time = await coldUntil(services.db, project)
      // The time itself is that of a cold call.
      if (time !== undefined) withoutBefore(formatTime(time + 1))
    },
    async calls(project, names) {
      const ids: string[] = []
      await inSteps(names, async (name) => {
        ids.push(await call(project, name))
      })
      return ids
    },
    async ref(project, text) {
      const [head = '', named] = callRefHead.exec(text) ?? []
      const name = text.slice(head.length)
      return named === project && isCompletionId(name) ? head + (await call(project, name)) : text
    },
  }
}
