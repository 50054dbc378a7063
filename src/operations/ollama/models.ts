import type { ModelTask } from '../../../packages/engine/index.ts'
import type { Caller } from '../../domain/callers.ts'
import type { FoundModel, Models } from '../../inference/registry.ts'

/** Clients add this tag to names without one. */
const usualTag = ':latest'

/** The model with the name that the client uses. */
export function findModel(
  models: Models,
  name: string | null | undefined,
  caller: Caller,
  task: ModelTask | 'any' = 'answers',
): FoundModel {
  const isServed = () => models.seenBy(caller).some((model) => model.served()?.names.includes(name ?? ''))
  const isTagged = name?.endsWith(usualTag) && !isServed()
  return models.find(isTagged ? name?.slice(0, -usualTag.length) : name, caller, task)
}

/** The name that answers carry: the one that the request has. */
export const nameOf = (asked: string | null | undefined, { served }: FoundModel) =>
  asked || (served.names[0] as string)
