import type { ModelTask } from '../backend.ts'
import { kindOfOwner, type UpstreamKind } from './kinds.ts'

/** A model as a server lists it. */
export interface ListedModel {
  /** The name that it answers to first, then its others. */
  names: string[]
  kind: UpstreamKind
  /** Tokens that fit into a conversation; 0 where the server does not tell it. */
  context: number
  /** What it does; absent where the server does not tell it. */
  tasks?: readonly ModelTask[]
}

const allTasks: readonly ModelTask[] = ['answers', 'embeddings', 'ranking']

/** What `GET /models` says: one entry for each model, its aliases beside it where the server tells which they are. */
export function listedModels(text: string): ListedModel[] {
  const { data } = JSON.parse(text) as { data?: unknown }
  if (!Array.isArray(data)) throw new Error('it lists no models')
  const models = new Map<string, ListedModel>()
  for (const one of data as Record<string, unknown>[]) {
    if (typeof one?.id !== 'string' || one.id === '') continue
    const kind = kindOfOwner(one.owned_by)
    // That of vLLM is the folder of the weights, which several models may share.
    const root = kind === 'heddle' && typeof one.root === 'string' ? one.root : one.id
    const model = models.get(root)
    if (model !== undefined) model.names.push(one.id)
    else {
      const tasks = kind === 'heddle' ? tasksOf(one) : undefined
      models.set(root, { names: [one.id], kind, context: contextOf(one), ...(tasks && { tasks }) })
    }
  }
  return [...models.values()]
}

/** Those that are known here; an older Heddle tells none. */
function tasksOf({ tasks }: Record<string, unknown>): ModelTask[] | undefined {
  if (!Array.isArray(tasks)) return undefined
  const known = allTasks.filter((task) => tasks.includes(task))
  return known.length > 0 ? known : undefined
}

function contextOf({ max_model_len, meta }: Record<string, unknown>): number {
  const ofLlama = (meta as { n_ctx_train?: unknown } | null | undefined)?.n_ctx_train
  const found = [max_model_len, ofLlama].find((value) => Number.isSafeInteger(value))
  return (found as number | undefined) ?? 0
}
