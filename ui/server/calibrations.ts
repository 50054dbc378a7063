import type { z } from 'zod'
import type * as contract from '../../src/operations/calibrations/contract.ts'
import { requestJson } from './request.ts'

export type Report = contract.Report
export type Agreement = z.output<typeof contract.Agreement>
export type Estimate = Report['gain']

/** A question of a judge, and what people said about the same calls. */
export interface Calibrated {
  project: string
  scorer: string
  question: string
  /** The name of an annotation spec, or `thumbs`. */
  annotation: string
}

/** Not the name of any spec. */
export const thumbs = '👍 👎'

function ask<Answer>(
  { project, annotation, ...asked }: Calibrated,
  path: string,
  signal?: AbortSignal,
): Promise<Answer> {
  const url = `/v2/${project.split('/').map(encodeURIComponent).join('/')}/calibrations${path}`
  const labels = annotation === thumbs ? { feedback: { type: 'wandb.reaction.1' } } : { annotation }
  return requestJson(url, { body: { ...asked, labels }, ...(signal && { signal }) })
}

export const readReport = (asked: Calibrated, signal: AbortSignal) =>
  Promise.all([ask<Report>(asked, '/report', signal), ask<Agreement>(asked, '/agreement', signal)])

/** The reference to what was stored; null if it would not help. */
export const fitCalibration = async (asked: Calibrated): Promise<string | null> =>
  (await ask<{ calibration: string | null }>(asked, '')).calibration
