import { membersOf } from '../../../packages/json/index.ts'
import { requireAccess, requireScope } from '../../domain/callers.ts'
import { JsonText } from '../../domain/json/text.ts'
import { objectRef } from '../../domain/refs.ts'
import { Refusal, refuse } from '../../domain/refusals.ts'
import { givenValue } from '../objects/classes.ts'
import { createObject } from '../objects/create.ts'
import { liveObject } from '../objects/read.ts'
import { Value } from '../objects/values.ts'
import { family, type OperationParts, operation, refusalsOfModels } from '../parts.ts'
import { controlTokensOf } from '../prompts/filling.ts'
import { storedPromptOf } from '../prompts/stored-prompt.ts'
import type { Scope } from '../scope.ts'
import { startRuns } from '../served-runs/start.ts'
import { askForProposals, type Proposed } from './asking.ts'
import { PromptPath, type Proposal, ProposalsAnswer, ProposalsBody, proposalsOf } from './contract.ts'
import { failingRows } from './failing-rows.ts'
import { type RunOfPrompt, runOfPrompt } from './run-of-prompt.ts'
import { proposedPrompt, textsOf, variablesOf } from './texts.ts'

const usualCount = 2
const usualRows = 8

/** Asks a model for other texts of a prompt, and tries what it proposes. Nothing that answers clients changes. */
async function propose(
  services: OperationParts,
  scope: Scope,
  name: string,
  body: ProposalsBody,
  signal: AbortSignal,
) {
  const { db, models, refScheme } = services
  const { project } = scope
  const run = await runOfPrompt(services, scope, { name, run: body.run }, signal)
  const { val } = await liveObject(db, project, { name: run.name, digest: run.digest }, 'run')
  const prompt = storedPromptOf(val)
  if ('why' in prompt) {
    const { name, digest } = run
    throw refuse('prompt_unusable', { field: 'run', name, digest, why: prompt.why })
  }
  const texts = textsOf(val)
  const wanted = { run: body.run, scores: body.scores, directions: run.directions }
  const failing = await failingRows(services, scope, { ...wanted, limit: body.max_rows ?? usualRows }, signal)
  const rows = failing.rows.map(({ row_digest, cut }) => ({ row_digest, cut }))
  const found = {
    prompt: objectRef(refScheme, project, 'object', run.name, run.digest),
    ...{ failing_rows: failing.total, rows, rows_left_out: failing.total - rows.length },
  }
  if (failing.total === 0) return { ...found, proposals: [], call: null, usage: null }
  const count = body.proposals ?? usualCount
  const { fault, proposals, usage, call } = await askForProposals(
    services,
    scope,
    {
      model: body.model ?? modelIn(prompt.settings) ?? modelIn(membersOf(run.request)),
      ...{ prompt: run, run: body.run, texts, variables: variablesOf(prompt), count },
      ...{ rows: failing.rows.map(({ json }) => json), instructions: body.instructions },
    },
    signal,
  )
  const controlTokens = controlTokensOf(models)
  const present = { val, prompt, texts, controlTokens }
  const vals: string[] = []
  const judged = Array.from({ length: count }, (_, index) => {
    const proposed = proposals[index]
    if (proposed === undefined) return { why: fault ?? 'the model gave fewer proposals', proposed }
    const outcome = proposedPrompt(present, proposed.texts, vals)
    if ('val' in outcome) vals.push(outcome.val)
    return { ...outcome, proposed }
  })
  return { ...found, proposals: await tried(services, scope, { name, run, judged }, signal), call, usage }
}

const modelIn = (fields: ReadonlyMap<string, string>) => new Value(fields.get('model') ?? 'null').string

interface Judged {
  name: string
  run: RunOfPrompt
  judged: readonly (({ val: string } | { why: string }) & { proposed: Proposed | undefined })[]
}

/** Publishes what was accepted, beside the prompt, and starts the runs, all at once. */
async function tried(
  services: OperationParts,
  scope: Scope,
  { name, run, judged }: Judged,
  signal: AbortSignal,
): Promise<Proposal[]> {
  const { db, refScheme } = services
  const { caller, project } = scope
  const id = proposalsOf(name)
  const versions: { name: string; id: string; digest: string }[] = []
  const listed: Proposal[] = []
  for (const [index, { proposed, ...outcome }] of judged.entries()) {
    const base = { index, reason: proposed?.reason ?? null, run: null, version: null }
    if ('why' in outcome) {
      listed.push({ ...base, state: 'refused', why: outcome.why })
      continue
    }
    const val = givenValue(new JsonText(outcome.val))
    const made = await orWhy(() => createObject(db, caller, { project_id: project, object_id: id, val }))
    if ('why' in made) {
      listed.push({ ...base, state: 'refused', why: made.why })
      continue
    }
    versions.push({ name: `proposal v${made.version_index}`, id, digest: made.digest })
    const version = objectRef(refScheme, project, 'object', id, made.digest)
    listed.push({ ...base, state: 'tried', why: null, version })
  }
  if (versions.length === 0) return listed
  const started = await orWhy(() => startRuns(services, scope, run.again(versions), signal))
  let next = 0
  return listed.map((proposal) => {
    if (proposal.state === 'refused') return proposal
    if ('why' in started) return { ...proposal, state: 'untried', why: started.why }
    return { ...proposal, run: started.evaluation_run_ids[next++] ?? null }
  })
}

/** What the model proposed is not lost with a refusal. */
async function orWhy<Result extends object>(work: () => Promise<Result>): Promise<Result | { why: string }> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Refusal) || error.status >= 500) throw error
    return { why: error.message }
  }
}

export const proposalRoutes = family(
  operation('POST', '/objs/:object_id/proposals', {
    right: 'write',
    summary: 'Have a model propose changes to a prompt from rows that fail, and try each',
    tags: ['objects'],
    params: PromptPath,
    body: ProposalsBody,
    answer: ProposalsAnswer,
    spendsTokens: true,
    refusals: [
      'role_forbidden',
      'scope_forbidden',
      'invalid_value',
      'object_not_found',
      'evaluation_run_not_found',
      'prompt_unusable',
      ...refusalsOfModels,
      'query_too_slow',
    ],
    async rule(services, { caller, params, body }) {
      requireAccess(caller, body.project_id)
      // It asks models besides writing, and shows the rows at which a version failed in other words.
      requireScope(caller, 'infer')
      requireScope(caller, 'read')
      const scope = { caller, project: body.project_id }
      return propose(services, scope, params.object_id, body, services.signal)
    },
  }),
)
