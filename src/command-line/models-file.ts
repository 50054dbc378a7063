import { utimes } from 'node:fs/promises'
import { resolve } from 'node:path'
import { reasonOf } from '../../packages/engine/index.ts'
import { type Command, CommandError, usageError } from './command.ts'
import { noWords } from './options.ts'

/** Commands about the file of HEDDLE_MODELS. Its contract is loaded by the commands that need it. */
export const modelsFileCommands: Record<string, Command> = {
  'model reload': {
    usage: '',
    summary: 'Check the file of HEDDLE_MODELS, and have running servers read it again',
    more: 'Errors in the file are reported, and then nothing changes. The command needs the HEDDLE_MODELS of the server, and the variables with keys that the file names. Servers check the file for changes every second, so this is needed only when nothing in it has changed, such as after a model file was copied.',
    async run(args, config, print, { env }) {
      noWords(args, 'model reload')
      if (config.models === '') {
        throw usageError('Set HEDDLE_MODELS to the file of your server.')
      }
      const { readModels } = await import('../inference/many/read-models.ts')
      const file = resolve(config.models)
      const { models, upstreams } = await readModels(config.models, env)
      const now = new Date()
      await utimes(file, now, now).catch((error: unknown) => {
        throw new CommandError(
          `${file} is valid, but servers cannot be told to read it again: ${reasonOf(error)}.`,
        )
      })
      print(
        JSON.stringify({
          file,
          models: models.map(({ name }) => name),
          upstreams: upstreams.map(({ name }) => name),
        }),
      )
    },
  },
  'model schema': {
    usage: '',
    summary: 'Print the JSON Schema of the file of HEDDLE_MODELS',
    async run(args, _config, print) {
      noWords(args, 'model schema')
      const { modelsFileSchema } = await import('../inference/many/models-file.ts')
      print(modelsFileSchema().trimEnd())
    },
  },
}
