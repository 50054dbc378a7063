import type { z } from 'zod'
import type { SpansAnswer } from '../../../src/operations/agents/spans-contract.ts'
import type { LabelAnswer, MoveBody } from '../../../src/operations/gates/contract.ts'
import type { ShadowAnswer } from '../../../src/operations/shadows/contract.ts'
import type { FeedbackAggregateAnswer } from '../../../src/operations/totals/aggregate-contract.ts'
import { type EvaluationSummary, readEvaluations, readSummary } from '../../server/evaluations.ts'
import { type ObjectVersion, readVersions } from '../../server/objects.ts'
import { requestJson } from '../../server/request.ts'
import { parseRef } from '../../value/ref.ts'
import { numberText } from '../../value/scores.ts'
import { countText } from '../../value/units.ts'

const maxPrompts = 1_000
const maxRuns = 100

/** Values that are read only to see what they are. */
const maxBytes = 32_000
const maxUnmarked = 200

export interface PromptRow extends ObjectVersion {
  /** What each of its labels names. */
  labels: readonly string[]
}

interface StoredValue extends ObjectVersion {
  val: { content?: unknown; messages?: unknown; attributes?: { request?: { prompt?: PromptName } } } | null
}

interface PromptName {
  id?: string
  version?: string
}

async function find<Row>(project_id: string, body: object, signal: AbortSignal): Promise<Row[]> {
  const asked = { project_id, limit: maxPrompts, include_tags_and_aliases: true, ...body }
  return (await requestJson<{ objs: Row[] }>('/objs/query', { body: asked, signal })).objs
}

/** The newest version of each prompt. Objects without the marks of a client are prompts if they look like one. */
export async function readPrompts(
  project: string,
  signal: AbortSignal,
): Promise<{ prompts: PromptRow[]; isPart: boolean }> {
  const all = await readVersions({ project, isOp: false, latestOnly: true, limit: maxPrompts }, signal)
  const bare = all.filter(({ base_object_class: base }) => base === null)
  const unmarked = bare.filter(({ size_bytes }) => size_bytes <= maxBytes).slice(0, maxUnmarked)
  const filter = { object_ids: unmarked.map(({ object_id }) => object_id), latest_only: true }
  const values = unmarked.length === 0 ? [] : await find<StoredValue>(project, { filter }, signal)
  const names = new Set(values.flatMap(({ object_id, val }) => (isPrompt(val) ? object_id : [])))
  const prompts = all.filter(
    ({ object_id, base_object_class: base }) => base === 'Prompt' || names.has(object_id),
  )
  const labels = await readAllLabels(project, signal)
  return {
    prompts: prompts.map((prompt) => ({ ...prompt, labels: labels.get(prompt.object_id) ?? [] })),
    isPart: all.length === maxPrompts || bare.length > unmarked.length,
  }
}

const isPrompt = (val: StoredValue['val']) => typeof val?.content === 'string' || Array.isArray(val?.messages)

/** By the names of objects. */
async function readAllLabels(project: string, signal: AbortSignal): Promise<Map<string, string[]>> {
  const path = `/aliases?project_id=${encodeURIComponent(project)}`
  const { aliases } = await requestJson<{ aliases: string[] }>(path, { signal })
  const own = aliases.filter((name) => name !== 'latest').slice(0, maxPrompts)
  const found = new Map<string, string[]>()
  if (own.length === 0) return found
  const body = { filter: { aliases: own }, metadata_only: true }
  for (const version of await find<ObjectVersion>(project, body, signal)) {
    const shown = labelsOf(version).map((name) => `${name} v${version.version_index}`)
    found.set(version.object_id, [...(found.get(version.object_id) ?? []), ...shown])
  }
  return found
}

export const labelsOf = ({ aliases }: ObjectVersion): string[] =>
  (aliases ?? []).filter((name) => name !== 'latest')

export type Gate = NonNullable<z.output<typeof LabelAnswer>['gate']>

export interface Label extends z.output<typeof LabelAnswer> {
  name: string
  shadow: z.output<typeof ShadowAnswer>
}

const labelPath = (prompt: string, label: string) =>
  `/objs/${encodeURIComponent(prompt)}/aliases/${encodeURIComponent(label)}`

export async function readLabel(project: string, prompt: string, name: string, signal: AbortSignal) {
  const [path, query] = [labelPath(prompt, name), `?project_id=${encodeURIComponent(project)}`]
  const [label, shadow] = await Promise.all([
    requestJson<z.output<typeof LabelAnswer>>(`${path}/gate${query}`, { signal }),
    requestJson<Label['shadow']>(`${path}/shadow${query}`, { signal }),
  ])
  return { ...label, name, shadow }
}

/** Only if nobody else has moved the label since it was read. */
export function moveLabel(
  project_id: string,
  prompt: string,
  { name, digest, share }: Pick<Label, 'name' | 'digest' | 'share'>,
  move: Partial<z.input<typeof MoveBody>>,
): Promise<unknown> {
  const expected_share = share?.map(({ digest: version, weight }) => ({ version, weight }))
  const body = { project_id, expected_digest: digest, expected_share, ...move }
  return requestJson(`${labelPath(prompt, name)}/move`, { body })
}

type Feedback = z.output<typeof FeedbackAggregateAnswer>['buckets'][number]

/** The longest time over which the server groups feedback. */
const maxFeedbackMs = 31 * 86_400_000

/**
 * What was said since then about the calls that versions answered, each scorer by itself. Undefined for a time that is too
 * long.
 */
export async function readJudgements(
  project_id: string,
  prompt: string,
  since: Date | undefined,
  signal: AbortSignal,
): Promise<Feedback[] | undefined> {
  if (since === undefined || Date.now() - since.getTime() >= maxFeedbackMs) return undefined
  const group_by = ['span_prompt_version', 'scorer_id']
  const body = { project_id, after_ms: since.getTime(), span_prompt_ids: [prompt], group_by }
  type Answer = z.output<typeof FeedbackAggregateAnswer>
  return (await requestJson<Answer>('/feedback/aggregate', { body, signal })).buckets
}

/** The means of scores, and the counts of reactions and tags, of one version. */
export function judgementTexts(judgements: readonly Feedback[], digest: string): string[] {
  const own = judgements.filter(({ group }) => group.span_prompt_version === digest)
  return own.flatMap(({ group, rating_counts, rating_sums, reaction_counts, tag_counts }) => {
    const scorer = parseRef(group.scorer_id ?? '')?.name
    const ratings = Object.entries(rating_counts).map(([name, count]) => {
      const shown = [scorer, name === '_rating_' ? undefined : name].filter(Boolean).join('.')
      return `${shown || 'rating'} ${numberText((rating_sums[name] ?? 0) / count)} (${countText(count)})`
    })
    const counted = { ...tag_counts, ...reaction_counts }
    return [...ratings, ...Object.entries(counted).map(([name, count]) => `${name} ${countText(count)}`)]
  })
}

type Figures = z.output<typeof SpansAnswer>['groups'][number]

/** What was asked of each version, by digest. */
export async function readFigures(
  project_id: string,
  prompt: string,
  since: Date | undefined,
  signal: AbortSignal,
): Promise<Map<string, Figures>> {
  const body = {
    project_id,
    query: { $expr: { $eq: [{ $getField: 'heddle.prompt.id' }, { $literal: prompt }] } },
    group_by: [{ source: 'custom_attrs_string', key: 'heddle.prompt.version', alias: 'version' }],
    include_costs: true,
    limit: maxPrompts,
    ...(since && { started_after: since.toISOString() }),
  }
  const { groups } = await requestJson<z.output<typeof SpansAnswer>>('/agents/spans/query', { body, signal })
  return new Map(groups.map((group) => [group.group_keys.version ?? '', group]))
}

export interface PromptRun {
  id: string
  name: string
  /** The digest of the version that it asked. */
  version: string
  /** Name of its evaluation. */
  evaluation: string
  at: string
  stats: EvaluationSummary['scorer_stats']
}

/** Of the newest runs those with a version of the prompt, as the model itself or in what the model asks. */
export async function readRuns(
  project: string,
  prompt: string,
  versions: readonly ObjectVersion[],
  signal: AbortSignal,
): Promise<PromptRun[]> {
  const { evaluations } = await readEvaluations(project, { offset: 0, limit: maxRuns }, signal)
  const models = evaluations.map(({ model_ref }) => parseRef(model_ref ?? ''))
  const others = new Set(models.flatMap((ref) => (ref?.project === project ? ref.name : [])))
  others.delete(prompt)
  const asked = await readModels(project, [...others], signal)
  const runs = evaluations.flatMap((run, index) => {
    const ref = models[index]
    if (ref?.project !== project) return []
    const model = asked.find(({ object_id, ...own }) => object_id === ref.name && isNamed(own, ref.version))
    const named = model?.val?.attributes?.request?.prompt
    const wanted = ref.name === prompt ? ref.version : named?.id === prompt ? named.version : undefined
    const version = wanted && versions.find((own) => isNamed(own, wanted))
    if (!version) return []
    const { evaluation_call_id: id, display_name, evaluation_ref, started_at: at } = run
    const evaluation = parseRef(evaluation_ref ?? '')?.name ?? ''
    return {
      id,
      at,
      evaluation,
      name: display_name ?? `${evaluation} ${id.slice(-6)}`,
      version: version.digest,
    }
  })
  if (runs.length === 0) return []
  const view = { project, ids: runs.map(({ id }) => id), filters: [], intersect: false }
  const { summary } = await readSummary(view, signal)
  const stats = new Map(summary.evaluations.map((one) => [one.evaluation_call_id, one.scorer_stats]))
  return runs.map((run) => ({ ...run, stats: stats.get(run.id) ?? [] }))
}

/** Whether a version is the one that is named so. */
const isNamed = (
  { digest, version_index: index, is_latest, aliases }: Omit<ObjectVersion, 'object_id'>,
  name: string,
): boolean =>
  name === digest || name === `v${index}` || (name === 'latest' ? is_latest === 1 : !!aliases?.includes(name))

/** Models that the server runs are small; others need not be read. */
async function readModels(project: string, names: readonly string[], signal: AbortSignal) {
  if (names.length === 0) return []
  const all = await find<ObjectVersion>(
    project,
    { filter: { object_ids: names }, metadata_only: true },
    signal,
  )
  const large = new Set(all.flatMap(({ size_bytes, object_id }) => (size_bytes > maxBytes ? object_id : [])))
  const object_ids = names.filter((name) => !large.has(name))
  return object_ids.length === 0 ? [] : find<StoredValue>(project, { filter: { object_ids } }, signal)
}
