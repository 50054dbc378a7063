import { join } from 'node:path'
import type { Config } from '../config.ts'
import { builtinModel, findModel } from '../inference/models/find.ts'
import { quantizationOf } from '../inference/models/tensor-types.ts'
import { prepareModel } from '../inference/models/prepare.ts'
import { sourceOf } from '../inference/models/source.ts'
import { modelsFolder, storedModels } from '../inference/models/stored-models.ts'
import { ModelTrouble } from '../inference/models/trouble.ts'
import { CommandFailure, exitCodes } from './exit-codes.ts'
import type { Command } from './help.ts'
import { showProgress } from './progress.ts'

export const modelCommands: Record<string, Command> = {
  'model pull': {
    usage: 'hf:ORG/REPOSITORY[:QUANT or FILE]',
    summary: 'Download a model and print where it lies; what was broken off goes on',
    more: 'HF_TOKEN opens private and gated repositories, HF_ENDPOINT names a mirror. Serving downloads a model too.',
    async run(args, config) {
      const [given = '', ...rest] = args
      const source = sourceOf(given)
      if (source.kind !== 'hub' || rest.length > 0 || !isModel(given)) {
        throw new CommandFailure(
          `Give one model of the hub, hf:<org>/<repo>[:<quant or file>]${given && `; given ${args.join(' ')}`}.`,
          exitCodes.usage,
        )
      }
      const progress = showProgress(process.stderr)
      try {
        const file = await findModel(source, placesOf(config), {
          signal: new AbortController().signal,
          onDownload: (what) => progress.begin(what),
          onWait: () => progress.say('Another process downloads it; waiting for it.'),
          onProgress: progress.step,
        })
        progress.end()
        process.stdout.write(`${file}\n`)
      } catch (error) {
        progress.end()
        throw error
      }
    },
  },
  'model list': {
    usage: '',
    summary: 'List the models that are here and how this machine would run them, one JSON text a line',
    more: 'Sizes follow the settings: HEDDLE_CONTEXT, HEDDLE_PARALLEL, HEDDLE_THREADS, HEDDLE_BATCH.',
    async run(args, config) {
      if (args.length > 0) {
        throw new CommandFailure(`model list takes no arguments, given ${args.join(' ')}.`, exitCodes.usage)
      }
      for (const [model, file] of await modelsHere(config)) {
        process.stdout.write(`${JSON.stringify(await described(model, file, config))}\n`)
      }
    },
  },
}
