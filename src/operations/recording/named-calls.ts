import { isCompletionId } from '../../domain/ids.ts'
import { now } from '../../domain/time.ts'
import { inSteps } from '../../domain/yielding.ts'
import { callOfCompletion } from '../../storage/answers/completions.ts'
import type { Reader } from '../../storage/transaction.ts'
import type { Recorder } from './answer.ts'

/** On an answer: how many calls have the id of a completion that its request names. The newest of them was meant. */
export const matchesHeader = 'x-heddle-matches'

interface NamedCall {
  /** The call's own id, or the name itself where it is of no completion of the project. */
  id: string
  matches: number
}

/** What waits to be written under the name is waited for. */
export async function namedCall(
  { db, settled }: { db: Reader; settled: Recorder['settled'] },
  project: string,
  name: string,
): Promise<NamedCall> {
  await settled(project, name)
  const found = isCompletionId(name) ? await callOfCompletion(db, project, name, now()) : undefined
  return { id: found?.callId ?? name, matches: found?.matches ?? 0 }
}

/** Of a reference to a call. What follows is the name: a caller's own part of it may have any characters. */
const callRefHead = /^[a-z][a-z0-9+.-]*:\/\/\/([^/]+\/[^/]+)\/call\//

/** The calls that one request names, by their own ids or by those of their completions. Access is checked before. */
export interface CallNames {
  /** The call's own id; a name that is of no completion of the project is as it was. */
  call(project: string, name: string): Promise<string>
  calls(project: string, names: readonly string[]): Promise<string[]>
  /** A reference to a call of the project, by the call's own id; any other text is as it was. */
  ref(project: string, text: string): Promise<string>
}

/** `several` hears how many calls a name stands for, where it is more than one; of several names, the most. */
export function createCallNames(
  parts: { db: Reader; settled: Recorder['settled'] },
  several: (matches: number) => void,
): CallNames {
  let most = 1

  async function call(project: string, name: string): Promise<string> {
    const { id, matches } = await namedCall(parts, project, name)
    if (matches > most) {
      most = matches
      several(matches)
    }
    return id
  }

  return {
    call,
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
