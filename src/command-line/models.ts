import { utimes } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import {
  builtinModels,
  findModel,
  ModelError,
  modelsFolder,
  prepareModel,
  reasonOf,
  sourceOf,
  storedModels,
} from '../../packages/engine/index.ts'
import { type Config, settings } from '../config.ts'
import { createPrompts, type Prompts } from '../inference/prompt/prompts.ts'
import { type Command, CommandError, usageError } from './command.ts'
import { noWords } from './options.ts'
import { planRecord } from './plan-record.ts'
import { showProgress } from './progress.ts'

export const modelCommands: Record<string, Command> = {
  'model pull': {
    usage: 'hf:ORG/REPOSITORY[:QUANT or FILE]',
    summary: 'Download a model and print its path; an interrupted download is resumed',
    more: 'HF_TOKEN opens private and gated repositories, HF_ENDPOINT names a mirror. The server downloads its model too.',
    async run(args, config, print, { stderr }) {
      const [name = '', ...rest] = args
      const source = sourceOf(name)
      if (source.kind !== 'hub' || rest.length > 0 || !settings.model.schema.safeParse(name).success) {
        throw usageError(
          `Give one model of the hub, hf:<org>/<repo>[:<quant or file>]${name && `; given ${args.join(' ')}`}.`,
        )
      }
      const progress = showProgress(stderr)
      const file = await findModel(source, config, {
        signal: new AbortController().signal,
        onDownload: progress.begin,
        onWait: () => progress.say('Another process downloads it; waiting for it.'),
        onProgress: progress.step,
      }).finally(progress.end)
      print(file)
    },
  },
  'model list': {
    usage: '',
    summary: 'List the models on this machine and how it would run them, one JSON object per line',
    more: 'Sizes follow the settings: HEDDLE_CONTEXT, HEDDLE_PARALLEL, HEDDLE_THREADS, HEDDLE_BATCH, HEDDLE_GPU, HEDDLE_GPU_LAYERS. With HEDDLE_MODELS the models of that file come first, each with its state: the files of models are read and planned, and the servers behind models are asked; nothing is loaded or downloaded. GET /v1/models of a running server lists what it has loaded.',
    async run(args, config, print, { env }) {
      noWords(args, 'model list')
      const prompts = createPrompts()
      try {
        const shown = new Set<string>()
        if (config.models !== '') {
          const { listModels } = await import('./models-list.ts')
          for (const { line, file, template } of await listModels(config, env)) {
            if (file !== undefined) shown.add(file)
            print(JSON.stringify({ ...line, ...(file !== undefined && (await turnsOf(template, prompts))) }))
          }
        }
        for (const [model, file] of await modelsHere(config)) {
          if (!shown.has(file)) print(JSON.stringify(await described(model, file, config, prompts)))
        }
      } finally {
        await prompts.close()
      }
    },
  },
  // The contract of the file of HEDDLE_MODELS is loaded by the commands that need it.
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

/** The built-in model, the configured one if it is a file, and everything that was downloaded. */
async function modelsHere(config: Config): Promise<[model: string, file: string][]> {
  const found: [string, string][] = []
  for (const file of await builtinModels()) found.push(['builtin', file])
  const source = sourceOf(config.model)
  if (source.kind === 'file') found.push([config.model, resolve(source.path)])
  const folder = modelsFolder(config.data)
  for (const path of await storedModels(folder)) {
    const [organisation, repository, ...file] = path.split('/')
    // A file that was put there by hand is named by its path.
    const name = file.length > 0 ? `hf:${organisation}/${repository}:${file.join('/')}` : join(folder, path)
    found.push([name, resolve(folder, path)])
  }
  return found
}

async function described(model: string, file: string, config: Config, prompts: Prompts): Promise<object> {
  try {
    const { plan, header } = await prepareModel(file, { ...config, model })
    return { model, file, ...planRecord(plan, header), ...(await turnsOf(header.template, prompts)) }
  } catch (error) {
    if (error instanceof ModelError) return { model, file, fault: error.message }
    throw error
  }
}

/** How the model calls tools and thinks; see `tools` in /v1/models. */
async function turnsOf(template: string | undefined, prompts: Prompts): Promise<object> {
  if (template === undefined) return { tools: null, reasoning: false }
  // The tokens that begin and end a text do not matter here.
  const tokens = { bos: '<s>', eos: '</s>' }
  const format = await prompts.formatOf('', template, tokens, new AbortController().signal, 'model')
  const { proof, note, reasoning } = format
  return { tools: proof, ...(note !== undefined && { tools_note: note }), reasoning: reasoning !== undefined }
}
