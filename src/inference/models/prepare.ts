import { nameOf } from './find.ts'
import { checkFitness } from './fitness.ts'
import { type GgufHeader, readGgufHeader } from './gguf-header.ts'
import { lookAtMachine } from './machine.ts'
import type { ModelPlan } from './plan.ts'
import { chooseSizes, type SizesGiven } from './sizes.ts'

/** As the settings say it. */
export interface ModelSettings extends SizesGiven {
  model: string
  model_name: readonly string[]
  queue: number
  priority: boolean
}

/** Checks that the model of a file can be served here, and decides how. */
export async function prepareModel(
  file: string,
  settings: ModelSettings,
): Promise<{ plan: ModelPlan; header: GgufHeader }> {
  const header = await readGgufHeader(file)
  const named = settings.model === 'builtin' ? 'The built-in model' : settings.model
  checkFitness(named, header)
  const sizes = chooseSizes(named, header, settings, await lookAtMachine())
  const names = settings.model_name.length > 0 ? [...settings.model_name] : [nameOf(file)]
  const { model: source, queue, priority } = settings
  return { header, plan: { file, source, names, ...sizes, queue, priority } }
}
