import { itemsOf, membersOf, objectText } from '../../../packages/json/index.ts'
import { clockNow } from '../../domain/clock.ts'
import { described } from '../../domain/described.ts'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import type { DecisionAnswer, DecisionOption, DecisionQuestion } from '../../inference/decisions/decision.ts'
import { calibrationsOf } from '../calibrations/stored.ts'
import type { GenerationParts } from '../generation/parts.ts'
import type { PoolingContext } from '../pooling/pooling.ts'
import { maxChoices, maxLevels, maxQuestions, type SystemOneBody } from './contract.ts'
import { decide } from './decide.ts'
import { checkCount, writtenLabel } from './questions.ts'
import {
  type Calibrated,
  calibratedBy,
  choiceConfidence,
  diagnosisOf,
  scoreConfidence,
  scoreOf,
  winnerOf,
} from './shares.ts'

/** Decisions as clients of TypeSafe's System One ask for them and read them. */
export interface SystemOneDecisions {
  object: 'structured_decision'
  created: number
  model: string
  answers: JsonText
  diagnostics: JsonText
  usage: { input_tokens: number; output_tokens: number }
  /** Not sent. */
  cached: number
}

export async function makeSystemOneDecisions(
  services: GenerationParts,
  body: SystemOneBody,
  context: PoolingContext,
): Promise<SystemOneDecisions> {
  // The order of names is meaning, which objects do not keep for names like numbers.
  const asked = [...membersIn(body.questions.text, 'questions')]
  checkCount('questions', asked.length, 1, maxQuestions)
  const read = asked.map(([id, text]) => questionOf(id, text))
  const questions = read.map(({ question }) => question)
  const calibrations = await calibrationsOf(services.db, context.project, read, 'questions')
  const { state, instructions } = body
  const input = state.text.startsWith('"') ? (state.value as string) : state.text
  if (input.trim() === '') throw wrong('state', 'an empty text', 'a text, or any other JSON')
  const media = mediaOf(body)
  const decided = await decide(
    services,
    body,
    {
      input,
      instructions: instructions ? [instructions] : [],
      questions,
      body: openAiBody(input, instructions, questions, media.urls),
      ...(media.first !== undefined && {
        needsServer: { field: media.first, value: 'an image or sound' },
        systemOne: { state, files: media.urls, isOnly: media.isInState },
      }),
    },
    context,
  )
  const { model, answers, tokens } = decided
  const shares = calibratedBy(calibrations, decided)
  const ids = read.map(({ id }) => id)
  const answered = answers.map((answer, index) =>
    answerOf(questions[index] as DecisionQuestion, answer, shares[index]),
  )
  const diagnosed = answers.map((answer, index) => diagnosisOf(answer, shares[index]))
  return {
    object: 'structured_decision',
    created: Math.floor(clockNow() / 1000),
    model,
    answers: byName(ids, answered),
    diagnostics: byName(ids, diagnosed),
    usage: { input_tokens: tokens.prompt, output_tokens: tokens.written },
    cached: tokens.cached,
  }
}

const byName = (names: readonly string[], values: readonly unknown[]) =>
  new JsonText(objectText(names.map((name, index) => [name, writeJson(values[index])] as const)))

/** Names are questions and labels: of two that are alike one would be lost. */
const membersIn = (json: string, field: string) =>
  membersOf(json, (name) => {
    throw wrong(`${field}.${name}`, 'a name that was given before', 'different names')
  })

const kinds: Record<string, DecisionQuestion['kind']> = {
  noul: 'predicate',
  choice: 'choice',
  score: 'score',
}

const fields = ['type', 'instructions', 'criteria', 'calibration']

function questionOf(id: string, json: string) {
  const field = `questions.${id}`
  if (!json.startsWith('{')) throw wrong(field, described(new JsonText(json)), 'an object')
  const members = membersIn(json, field)
  for (const name of members.keys()) {
    if (!fields.includes(name)) throw wrong(`${field}.${name}`, 'an unknown field', fields.join(', '))
  }
  const type = textIn(members.get('type') ?? 'null')
  const kind = type !== undefined && Object.hasOwn(kinds, type) ? kinds[type] : undefined
  if (kind === undefined)
    throw wrong(`${field}.type`, members.get('type')?.slice(0, 80) ?? 'nothing', '"noul", "choice", "score"')
  const instructions = members.get('instructions') ?? 'null'
  const text = textIn(instructions) ?? (instructions === 'null' ? id : instructions)
  if (text.trim() === '') throw wrong(`${field}.instructions`, 'an empty text', 'a question')
  const options = optionsOf(kind, members.get('criteria') ?? 'null', `${field}.criteria`)
  return {
    id,
    question: { kind, field, text, options } satisfies DecisionQuestion,
    calibration: describedBy(members.get('calibration') ?? 'null', `${field}.calibration`),
  }
}

function optionsOf(kind: DecisionQuestion['kind'], criteria: string, field: string): DecisionOption[] {
  if (kind === 'score') {
    if (!criteria.startsWith('[')) throw wrong(field, described(new JsonText(criteria)), 'a list of levels')
    const levels = itemsOf(criteria)
    checkCount(field, levels.length, 2, maxLevels)
    return levels.map((level, index) => {
      const path = `${field}.${index}`
      return { name: writtenLabel(describedBy(level, path) ?? '', path) }
    })
  }
  const isObject = criteria.startsWith('{')
  if (kind === 'choice') {
    if (!isObject) throw wrong(field, described(new JsonText(criteria)), 'an object of labels')
    const labels = [...membersIn(criteria, field)]
    checkCount(field, labels.length, 1, maxChoices)
    return labels.map(([name, text]) => {
      const path = `${field}.${name}`
      return { name: writtenLabel(name, path), description: describedBy(text, path) }
    })
  }
  if (!isObject && criteria !== 'null') {
    throw wrong(field, described(new JsonText(criteria)), 'an object with true and false, or null')
  }
  const members = isObject ? membersIn(criteria, field) : new Map<string, string>()
  for (const name of members.keys()) {
    if (name !== 'true' && name !== 'false')
      throw wrong(`${field}.${name}`, 'an unknown field', 'true, false')
  }
  const named = (name: string) => describedBy(members.get(name) ?? 'null', `${field}.${name}`)
  return [
    { name: 'yes', description: named('true') },
    { name: 'no', description: named('false') },
  ]
}

/** The text of a JSON string; undefined for any other value. */
function textIn(json: string): string | undefined {
  return json.startsWith('"') ? (JSON.parse(json) as string) : undefined
}

function describedBy(json: string, field: string): string | undefined {
  if (json === 'null') return undefined
  const text = textIn(json)
  if (text === undefined) throw wrong(field, described(new JsonText(json)), 'a text or null')
  return text
}

function answerOf(
  { kind, options, field }: DecisionQuestion,
  { probabilities }: DecisionAnswer,
  calibrated: Calibrated | undefined,
) {
  if (probabilities === undefined) {
    throw refuse('upstream_failed', { why: `it refuses to answer ${field}, which this API cannot say` })
  }
  const names = options.map(({ name }) => name)
  const { shares } = calibrated ?? {}
  if (kind === 'predicate') {
    return { type: 'noul', noul: probabilities[0], ...(calibrated && { calibrated: shares?.[0] ?? null }) }
  }
  const ofLabels = (labels: readonly string[]) =>
    calibrated && { calibrated: shares ? byName(labels, shares) : null }
  if (kind === 'choice') {
    return {
      type: kind,
      choice: names[winnerOf(probabilities)],
      confidence: choiceConfidence(probabilities),
      probabilities: byName(names, probabilities),
      ...ofLabels(names),
    }
  }
  const levels = options.map((_, index) => String(index))
  return {
    type: kind,
    score: scoreOf(probabilities),
    confidence: scoreConfidence(probabilities),
    legend: byName(levels, names),
    probabilities: byName(levels, probabilities),
    ...ofLabels(levels),
  }
}

const mediaTypes = ['image_url', 'input_image', 'input_audio']

/** The parts of chat messages in a state that are no text: as such they would be read letter by letter. */
function mediaIn(state: unknown): string | undefined {
  if (!Array.isArray(state)) return undefined
  for (const [index, message] of state.entries()) {
    const content: unknown = message?.role === undefined ? undefined : message.content
    const at = Array.isArray(content) ? content.findIndex((item) => mediaTypes.includes(item?.type)) : -1
    if (at >= 0) return `state.${index}.content.${at}`
  }
  return undefined
}

/** What a request has besides text, and the field of the first of it. */
function mediaOf({ state, files, images }: SystemOneBody) {
  const urls = [...(files ?? []), ...(images ?? [])]
  const inState = mediaIn(state.value)
  const first = inState ?? (files?.length ? 'files.0' : images?.length ? 'images.0' : undefined)
  return { urls, first, isInState: inState !== undefined }
}

/** For a server that knows the other API only. */
function openAiBody(
  input: string,
  instructions: string | null | undefined,
  questions: readonly DecisionQuestion[],
  images: readonly string[],
) {
  const shown = images.map((image_url) => ({ type: 'input_image', image_url }))
  const user = {
    role: 'user',
    content: shown.length > 0 ? [{ type: 'input_text', text: input }, ...shown] : input,
  }
  return {
    input:
      instructions || shown.length > 0
        ? [...(instructions ? [{ role: 'system', content: instructions }] : []), user]
        : input,
    questions: questions.map(({ kind, text, options }) => {
      const criteria = options.flatMap(({ name, description }) =>
        kind === 'predicate' && description ? [`${name}: ${description}`] : [],
      )
      return {
        type: kind,
        instructions: [text, ...criteria].join('\n'),
        ...(kind === 'choice' && {
          choices: options.map(({ name, description }) => ({ value: name, description })),
        }),
        ...(kind === 'score' && { levels: options.map(({ name }) => ({ label: name })) }),
      }
    }),
  }
}
