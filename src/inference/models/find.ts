import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chooseFile } from './choose-file.ts'
import { type DownloadWatch, download } from './download.ts'
import { acceptedModels } from './gguf-header.ts'
import { type Hub, listHubFiles } from './hub.ts'
import type { ModelSource } from './source.ts'
import { repositoryFolder, storedModels } from './stored-models.ts'
import { ModelTrouble } from './trouble.ts'

export interface Places {
  /** The data folder. */
  data: string
  hub: Hub
}

/** As the settings say it. */
export function placesOf(settings: { data: string; hf_endpoint: string; hf_token: string }): Places {
  return { data: settings.data, hub: { endpoint: settings.hf_endpoint, token: settings.hf_token } }
}

export interface FindWatch extends DownloadWatch {
  onDownload(what: string): void
}

/** The file of a model; one that is not here yet is downloaded first. */
export async function findModel(
  source: Exclude<ModelSource, { kind: 'none' }>,
  places: Places,
  watch: FindWatch,
): Promise<string> {
  if (source.kind === 'builtin') return builtinModel()
  if (source.kind === 'file') return resolve(source.path)
  return hubModel(source, places, watch)
}

export const builtinFolder = fileURLToPath(new URL('../../../models/builtin', import.meta.url))

/** One, or none in an installation that was made without it. */
export async function builtinModels(): Promise<string[]> {
  return (await storedModels(builtinFolder)).slice(0, 1).map((name) => join(builtinFolder, name))
}

async function builtinModel(): Promise<string> {
  const [model] = await builtinModels()
  if (model !== undefined) return model
  throw new ModelTrouble(`This installation has no built-in model (${builtinFolder}); ${acceptedModels}.`)
}

/** What is here is used without a question to the hub: a server starts again where there is no network. */
async function hubModel(
  { repository, wanted }: Extract<ModelSource, { kind: 'hub' }>,
  { data, hub }: Places,
  watch: FindWatch,
): Promise<string> {
  const folder = repositoryFolder(data, repository)
  const here = await storedModels(folder)
  const known = foundIn(repository, wanted, here)
  if (known !== undefined) return join(folder, known)
  const file = chooseFile(repository, wanted, await listHubFiles(hub, repository, watch.signal))
  const target = join(folder, ...file.path.split('/'))
  watch.onDownload(`${repository}:${file.path}`)
  await download(hub, repository, file, target, watch)
  return target
}

function foundIn(
  repository: string,
  wanted: string | undefined,
  here: readonly string[],
): string | undefined {
  try {
    return chooseFile(
      repository,
      wanted,
      here.map((path) => ({ path })),
    ).path
  } catch (error) {
    if (error instanceof ModelTrouble) return undefined
    throw error
  }
}

/** What a model is called that nobody named: its file's name. */
export function nameOf(file: string): string {
  return basename(file).replace(/\.gguf$/i, '')
}
