import { z } from 'zod'
import { shortened } from '../../domain/described.ts'
import { objectRef, parseRef } from '../../domain/refs.ts'
import { wrong } from '../../domain/refusals.ts'
import { type CalibrationMap, calibrated, minSlope } from '../../domain/statistics/calibration.ts'
import { isOf } from '../../storage/objects/objects.ts'
import type { Reader } from '../../storage/transaction.ts'
import { maxChoices } from '../decisions/contract.ts'
import { liveObject } from '../objects/read.ts'

export const calibrationClass = 'Calibration'

/** No fit comes near it. Anyone may store an object, and beyond it products overflow to what is no probability. */
const maxFactor = 1e6

const shift = z.number().min(-maxFactor).max(maxFactor)

/** What a calibration is needed for: the map, and what it was fitted for. */
const StoredCalibration = z.object({
  /** The digest of the question with its model, template and settings. */
  question: z.string(),
  /** The digest of the judge's prompt. */
  prompt: z.string(),
  a: z.number().min(minSlope).max(maxFactor),
  b: shift,
  /** Calibrations that were fitted before choices had shifts have none. */
  shifts: z.array(shift).max(maxChoices).optional(),
})
export type StoredCalibration = z.output<typeof StoredCalibration> & {
  /** Names its version, also where a request names the latest. */
  ref: string
}

/** What a probability is given for. `prompt` is absent if the input was not made from the prompt of a judge. */
interface Asked {
  digest: string
  prompt?: string
}

/** Reads the calibration that a reference leads to, in its project. */
export async function readCalibration(
  db: Reader,
  project: string,
  text: string,
  field: string,
): Promise<StoredCalibration> {
  const ref = parseRef(text)
  const accepted = `a reference to a calibration of the same project, <scheme>:///${project}/object/<name>:<version>`
  const unusable = () => wrong(field, JSON.stringify(shortened(text, 200)), accepted)
  if (ref?.kind !== 'object' || ref.project !== project || ref.path.length > 0) throw unusable()
  const version = await liveObject(db, project, ref, field)
  const found = StoredCalibration.safeParse(JSON.parse(version.val))
  if (!isOf({ base_object_classes: [calibrationClass] }, version) || !found.success) throw unusable()
  return { ...found.data, ref: objectRef(ref.scheme, project, 'object', version.object_id, version.digest) }
}

/** Those that questions name, by the index of the question. Where questions have ids, fields are named by them. */
export async function calibrationsOf(
  db: Reader,
  project: string,
  questions: readonly { id?: string; calibration?: string | null | undefined }[],
  path: string,
): Promise<Map<number, StoredCalibration>> {
  const found = new Map<number, StoredCalibration>()
  for (const [index, { id = index, calibration }] of questions.entries()) {
    if (calibration == null) continue
    found.set(index, await readCalibration(db, project, calibration, `${path}.${id}.calibration`))
  }
  return found
}

/** Calibrated probabilities; null if the calibration was fitted for another question, model, template or prompt. */
export function applied(
  calibration: StoredCalibration & CalibrationMap,
  { digest, prompt }: Asked,
  probabilities: readonly number[],
): number[] | null {
  if (calibration.question !== digest) return null
  if (prompt !== undefined && calibration.prompt !== prompt) return null
  return calibrated(calibration, probabilities)
}
