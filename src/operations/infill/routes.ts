import { JsonText } from '../../domain/json/text.ts'
import { type Routes, wholeOrEvents } from '../../http/contracts.ts'
import { openAiEvents } from '../../http/streams/sse.ts'
import { createAnswer } from '../completions/answer.ts'
import { beginCompletion, type Completion } from '../completions/completion.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { chargedBody, generationRefusals, respond, type Writers } from '../generation/respond.ts'
import { family } from '../parts.ts'
import { InfillAnswer, InfillBody } from './contract.ts'
import { chatAnswerOf, chatChunksOf, completionBodyOf } from './fim.ts'
import { FimAnswer, FimBody, FimChunk } from './fim-contract.ts'
import { beginInfill, chunksOf, type Infilling, samplingOf, wholeOf } from './infill.ts'

const infilling: Writers<InfillBody, Infilling> = {
  kind: 'text',
  wire: 'llama.cpp',
  begin: beginInfill,
  createAnswer,
  chunksOf,
  wholeOf,
  form: { ...openAiEvents, end: '' },
  // In the form of completions: what reads calls knows no other.
  inputsOf: (body) => ({
    model: body.model ?? undefined,
    prompt: body.input_prefix ?? '',
    suffix: body.input_suffix || undefined,
    ...shown(body),
  }),
}

function shown(body: InfillBody): object {
  const { seed, ...sampling } = samplingOf(body)
  const { input_extra, n_predict, prompt } = body
  const fields = {
    ...sampling,
    seed: seed === undefined ? undefined : Number(seed),
    max_tokens: n_predict === -1 ? undefined : n_predict,
    input_extra: input_extra?.length ? input_extra : undefined,
    opening: prompt || undefined,
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null))
}

const fill: Routes<GenerationParts> = async (app, services) => {
  const schema = {
    summary: 'Fill a gap in a text, compatible with llama-server',
    description: 'For editors. docs/completions.md describes it.',
    tags: ['completions'],
    body: InfillBody,
    response: { 200: wholeOrEvents(InfillAnswer, InfillAnswer), ...generationRefusals },
  }
  app.post('/infill', { config: chargedBody, schema }, (request, reply) =>
    respond(services, request, reply, infilling),
  )
}

const completing: Writers<FimBody, Completion> = {
  kind: 'text',
  wire: 'mistral',
  begin: (services, body, asking) => beginCompletion(services, completionBodyOf(body), asking),
  createAnswer,
  chunksOf: chatChunksOf,
  wholeOf: chatAnswerOf,
  inputsOf: ({ random_seed, ...body }) => ({
    ...body,
    ...(random_seed != null && { seed: new JsonText(String(random_seed)) }),
  }),
}

const complete: Routes<GenerationParts> = async (app, services) => {
  const schema = {
    summary: 'Fill a gap in a text, compatible with Mistral',
    description: 'docs/completions.md describes it.',
    tags: ['completions'],
    body: FimBody,
    response: { 200: wholeOrEvents(FimAnswer, FimChunk), ...generationRefusals },
  }
  app.post('/v1/fim/completions', { config: chargedBody, schema }, (request, reply) =>
    respond(services, request, reply, completing),
  )
}

export const infillRoutes = family(fill, complete)
