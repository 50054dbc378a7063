import type { z } from 'zod'
import type { Tried } from '../../src/operations/scorers/try-contract.ts'
import type { Direction } from '../value/direction.ts'
import { objectRefOf } from '../value/ref.ts'
import { request, requestJson } from './request.ts'

interface StoredJudge {
  prompt: string
  system?: string | null
  model?: string | null
  questions?: { name: string; instructions?: string }[] | null
  reason?: boolean | null
  max_tokens?: number | null
}

/** The newest version of a scorer. */
export interface Scorer {
  name: string
  ref: string
  description: string
  /** What it asks a model; undefined for others. */
  judge: StoredJudge | undefined
  /** Names in its prompt, and the fields of the call that they stand for. */
  fields: Readonly<Record<string, string>>
  /** Which check it is; undefined for others. */
  check: string | undefined
  /** The fields of the check. */
  wanted: Readonly<Record<string, unknown>>
  /** Which values are better; undefined where it does not say. */
  direction: Direction | undefined
  by: string | null
  at: string
}

/** This server can run it. */
export const isServed = ({ judge, check }: Scorer): boolean => judge !== undefined || check !== undefined

interface StoredVersion {
  object_id: string
  digest: string
  created_at: string
  svc_user_id?: string | null
  val: {
    description?: unknown
    judge?: StoredJudge | null
    fields?: Record<string, string> | null
    check?: { kind: string; [field: string]: unknown } | null
    direction?: Direction
  }
}

const maxScorers = 500

export async function readScorers(project: string, signal: AbortSignal): Promise<Scorer[]> {
  const body = {
    project_id: project,
    filter: { base_object_classes: ['Scorer'], latest_only: true },
    sort_by: [{ field: 'created_at', direction: 'desc' }],
    limit: maxScorers,
  }
  const answer = await request('/objs/query', { body, signal })
  return ((await answer.json()) as { objs: StoredVersion[] }).objs.map((version) => ({
    name: version.object_id,
    ref: objectRefOf(project, version.object_id, version.digest),
    description: typeof version.val.description === 'string' ? version.val.description : '',
    judge: version.val.judge ?? undefined,
    fields: version.val.fields ?? {},
    check: version.val.check?.kind,
    wanted: version.val.check ?? {},
    direction: version.val.direction,
    by: version.svc_user_id ?? null,
    at: version.created_at,
  }))
}

/** What scorers say of their values, by their names. */
export const readDirections = async (project: string, signal: AbortSignal): Promise<Map<string, Direction>> =>
  new Map(
    (await readScorers(project, signal)).flatMap(({ name, direction }) =>
      direction === undefined ? [] : [[name, direction]],
    ),
  )

/** A scorer that this server runs, without its name. */
export interface ScorerBody {
  judge?: object
  check?: object
  fields?: Record<string, string>
}

/** How a scorer is stored: with what its values mean. */
interface NewScorer extends ScorerBody {
  direction?: Direction
}

const pathOf = (project: string) => `/v2/${project.split('/').map(encodeURIComponent).join('/')}`

export const makeScorer = (
  project: string,
  name: string,
  body: NewScorer,
): Promise<{ scorer: string; object_id: string }> =>
  requestJson(`${pathOf(project)}/scorers`, { body: { name, ...body } })

export type TryResult = z.output<typeof Tried>['results'][number]

export const tryScorer = async (
  project: string,
  body: ScorerBody,
  call_ids: readonly string[],
): Promise<TryResult[]> =>
  (
    await requestJson<z.output<typeof Tried>>(`${pathOf(project)}/scorers/try`, {
      body: { ...body, call_ids },
    })
  ).results
