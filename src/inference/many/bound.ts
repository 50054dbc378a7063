import { inspectMachine } from '../../../packages/engine/index.ts'
import type { Config } from '../../config.ts'

/** Other programs need free memory, too: this share of it is for models unless a setting says otherwise. */
const usualShare = 0.8

/** The bytes that the models of a list may use together, and the machine as each of them sees it. */
export async function memoryOfModels({ models_memory }: Pick<Config, 'models_memory'>) {
  const machine = await inspectMachine()
  const bound = models_memory || Math.floor(machine.freeMemory * usualShare)
  return {
    bound,
    look: async () => ({ ...machine, freeMemory: bound, boundBy: 'HEDDLE_MODELS_MEMORY' }),
  }
}
