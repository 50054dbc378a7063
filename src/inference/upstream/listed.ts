import type { ModelTask } from '../../../packages/engine/index.ts'
import { kindOfOwner, type UpstreamKind } from './kinds.ts'

/** A model as a server lists it. */
export interface ListedModel {
  /** The name in its answers first, then its other names. */
  names: string[]
  kind: UpstreamKind
  /** Tokens of a conversation; 0 if the server does not report it. */
  context: number
  /** Absent if the server does not report them. */
  tasks?: readonly ModelTask[]
  abilities?: ModelAbilities
}

/** What Anthropic's list says of a model besides its name. */
export interface ModelAbilities {
  /** The most tokens of an answer. */
  maxTokens?: number
  /** It decides itself how much to think. */
  thinksAdaptively: boolean
}

const allTasks: readonly ModelTask[] = ['answers', 'embeddings', 'ranking']

/** Reads the reply to `GET /models`: one entry for each model, with its aliases if the server reports which they are. */
export function listedModels(text: string): ListedModel[] {
  const { data } = JSON.parse(text) as { data?: unknown }
  if (!Array.isArray(data)) throw new Error('it lists no models')
  const models = new Map<string, ListedModel>()
  for (const entry of data as Record<string, unknown>[]) {
    if (typeof entry?.id !== 'string' || entry.id === '') continue
    const kind = isOfAnthropic(entry) ? 'anthropic' : kindOfOwner(entry.owned_by)
    // The root of vLLM is the folder of the weights, which several models may share.
    const root = kind === 'heddle' && typeof entry.root === 'string' ? entry.root : entry.id
    const model = models.get(root)
    if (model !== undefined) model.names.push(entry.id)
    else {
      const tasks = kind === 'heddle' ? tasksOf(entry) : undefined
      const abilities = kind === 'anthropic' ? abilitiesOf(entry) : undefined
      models.set(root, {
        names: [entry.id],
        kind,
        context: contextOf(entry),
        ...(tasks && { tasks }),
        ...(abilities && { abilities }),
      })
    }
  }
  return [...models.values()]
}

/** The tasks that are known here; an older Heddle reports none. */
function tasksOf({ tasks }: Record<string, unknown>): ModelTask[] | undefined {
  if (!Array.isArray(tasks)) return undefined
  const known = allTasks.filter((task) => tasks.includes(task))
  return known.length > 0 ? known : undefined
}

/** OpenAI's entries have an `object` and an owner. */
const isOfAnthropic = ({ type, object, owned_by }: Record<string, unknown>) =>
  type === 'model' && object === undefined && owned_by === undefined

function abilitiesOf({ max_tokens: maxTokens, capabilities }: Record<string, unknown>): ModelAbilities {
  const { thinking } = (capabilities ?? {}) as {
    thinking?: { types?: { adaptive?: { supported?: unknown } } }
  }
  return {
    ...(isCount(maxTokens) && { maxTokens }),
    thinksAdaptively: thinking?.types?.adaptive?.supported === true,
  }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0

function contextOf({ max_model_len, max_input_tokens, meta }: Record<string, unknown>): number {
  const ofLlama = (meta as { n_ctx_train?: unknown } | null | undefined)?.n_ctx_train
  return [max_model_len, max_input_tokens, ofLlama].find(isCount) ?? 0
}
