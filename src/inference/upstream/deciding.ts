import { objectText } from '../../../packages/json/index.ts'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { Refusal, refuse } from '../../domain/refusals.ts'
import type { Decide, DecisionAnswer, DecisionAsked, DecisionQuestion } from '../decisions/decision.ts'
import type { Model } from '../model.ts'
import { decideByLogprobs } from './deciding-by-logprobs.ts'
import { lacksDecisions, refuseUnsupported, unsupported } from './fields.ts'
import type { UpstreamServer } from './server.ts'
import { saltOf, type UpstreamTarget } from './upstream-request.ts'
import { askWhole } from './whole-answer.ts'

const maxBytes = 64 * 1024 * 1024

type Told = Record<string, unknown>

/**
 * Decisions of a server elsewhere: by its own route if it has one, which then counts; otherwise computed from the
 * log-probabilities of the answers that it would write.
 */
export function createUpstreamDeciding(
  server: UpstreamServer,
  { kind, model }: UpstreamTarget,
  answer: Model['answer'],
  counted: (change: 1 | -1) => void,
): Decide {
  async function ask(path: string, body: object, asked: DecisionAsked, signal: AbortSignal): Promise<Told> {
    const slots = asked.lane === 'background' ? server.slots.background : server.slots.callers
    const slot = await slots.acquire(asked.tenant, signal)
    const question = {
      path,
      body: writeJson({ model, ...body }),
      tenant: asked.tenant,
      kind,
      traceparent: asked.traceparent,
      beginning: asked.input.slice(0, 4_096),
      shows: 'nothing' as const,
      ifMissing: unsupported('model', 'decisions', 'a model of another server'),
    }
    counted(1)
    try {
      return await askWhole(server, question, maxBytes, signal)
    } finally {
      counted(-1)
      slots.release(slot)
    }
  }

  async function byRoute(asked: DecisionAsked, read: Parameters<Decide>[1], signal: AbortSignal) {
    if (kind === 'llama-server') {
      if (asked.needsServer && !asked.systemOne) refuseMedia(asked.needsServer)
      if (asked.systemOne && asked.instructions.length > 0)
        refuseUnsupported('instructions', 'a text', 'nothing')
      const told = await ask('systemone', systemOneOf(asked), asked, signal)
      const answers = (told.answers ?? {}) as Record<string, Told | undefined>
      read({ prompt: countOf(told, 'input_tokens'), cached: 0 })
      return asked.questions.map((question, index) => ofSystemOne(question, answers[`q${index}`]))
    }
    if (asked.needsServer && asked.systemOne?.isOnly) refuseMedia(asked.needsServer)
    const salt = kind === 'openai' ? undefined : saltOf(asked)
    const own = kind === 'heddle' && {
      ...{ orders: asked.orders, priority: asked.priority || undefined },
      thinking_token_budget: asked.thinking,
    }
    const told = await ask('decisions', { ...asked.body, ...own, cache_salt: salt }, asked, signal)
    const answers = Array.isArray(told.answers) ? (told.answers as Told[]) : []
    const { usage } = told as { usage?: { input_tokens_details?: Told } }
    read({
      prompt: countOf(told, 'input_tokens'),
      cached: Number(usage?.input_tokens_details?.cached_tokens ?? 0) || 0,
      ...(asked.thinking !== undefined && { written: countOf(told, 'output_tokens') }),
    })
    return asked.questions.map((question, index) => ofDecisions(question, answers[index]))
  }

  return async (asked, read, signal) => {
    if (kind === 'anthropic') throw lacksDecisions()
    if (asked.thinking !== undefined && kind !== 'heddle') {
      refuseUnsupported('thinking_token_budget', String(asked.thinking), 'no such field')
    }
    // No other server shows options in several orders, and what is computed here can.
    const isPlain = asked.orders === 1 || kind === 'heddle'
    try {
      if (isPlain) return await byRoute(asked, read, signal)
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (!(error instanceof Refusal) || error.code !== 'upstream_lacks') throw error
      if (asked.thinking !== undefined) throw error
    }
    if (asked.needsServer) {
      refuseUnsupported(
        asked.needsServer.field,
        asked.needsServer.value,
        'texts: it has no decisions of its own',
      )
    }
    return decideByLogprobs(kind, answer, asked, read, signal)
  }
}

const refuseMedia = ({ field, value }: NonNullable<DecisionAsked['needsServer']>) =>
  refuseUnsupported(field, value, 'texts')

function systemOneOf({ input, instructions, questions, systemOne }: DecisionAsked) {
  const state = systemOne?.state ?? [...instructions, input].join('\n\n')
  const criteria = ({ kind, options }: DecisionQuestion) => {
    if (kind === 'score')
      return options.map(({ name, description }) => [name, description].filter(Boolean).join('. '))
    if (kind === 'choice') {
      // The order of labels is meaning, which objects do not keep for names like numbers.
      const named = options.map(
        ({ name, description }) => [name, JSON.stringify(description ?? null)] as const,
      )
      return new JsonText(objectText(named))
    }
    const [yes, no] = options
    const [isTrue, isFalse] = [yes?.description, no?.description]
    return isTrue || isFalse ? { true: isTrue, false: isFalse } : undefined
  }
  const asked = questions.map((question, index) => [
    `q${index}`,
    {
      type: question.kind === 'predicate' ? 'noul' : question.kind,
      instructions: question.text,
      criteria: criteria(question),
    },
  ])
  const files = systemOne?.files.length ? { files: systemOne.files } : {}
  return { state, ...files, questions: Object.fromEntries(asked) }
}

function ofDecisions({ kind, options }: DecisionQuestion, told: Told | undefined): DecisionAnswer {
  if (told?.type === 'refusal') return { probabilities: undefined }
  if (kind === 'predicate') return ofYes(told?.probability)
  const list = Array.isArray(told?.probabilities) ? (told.probabilities as (Told | null)[]) : []
  if (list.length !== options.length) throw unreadable()
  return shares(list.map((entry) => entry?.probability))
}

function ofSystemOne({ kind, options }: DecisionQuestion, told: Told | undefined): DecisionAnswer {
  if (kind === 'predicate') return ofYes(told?.noul)
  const found = (told?.probabilities ?? {}) as Told
  return shares(options.map(({ name }, index) => found[kind === 'score' ? String(index) : name]))
}

const ofYes = (yes: unknown) => shares([yes, typeof yes === 'number' ? 1 - yes : undefined])

/** Some servers round them. */
function shares(told: readonly unknown[]): DecisionAnswer {
  const numbers = told.filter((value) => typeof value === 'number' && value >= 0 && value <= 1) as number[]
  const sum = numbers.reduce((total, value) => total + value, 0)
  if (numbers.length !== told.length || Math.abs(sum - 1) > 0.05) throw unreadable()
  return { probabilities: numbers.map((value) => value / sum) }
}

const unreadable = () => refuse('upstream_failed', { why: 'it sent something that is no decision' })

function countOf({ usage }: Told, name: string): number {
  const count = (usage as Told | undefined)?.[name]
  return Number.isSafeInteger(count) && Number(count) >= 0 ? Number(count) : 0
}
