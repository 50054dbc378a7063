import { readdir } from 'node:fs/promises'
import { findPackageJSON } from 'node:module'
import { dirname, join, resolve, sep } from 'node:path'
import { type DownloadWatch, download } from './download.ts'
import { acceptedModels } from './gguf-header.ts'
import { type Hub, type HubFile, listHubFiles } from './hub.ts'
import { ModelError } from './model-error.ts'
import type { EngineSettings } from './settings.ts'

/** The order of preference when the setting names no quantization: good answers for their size. */
const usual = ['Q4_K_M', 'Q4_K_S', 'Q5_K_M', 'Q4_0', 'Q8_0', 'Q6_K', 'F16', 'BF16']

const splitName = /-(\d{5})-of-(\d{5})\.gguf$/i
/** Projectors and importance matrices are stored next to models. */
const companion = /(^|[/._-])(mmproj|imatrix)([/._-]|$)/i

/** One of a repository's GGUF files: by its name, by its quantization, or the usual one. */
export function chooseFile(repository: string, wanted: string | undefined, files: readonly string[]): string {
  const named = wanted !== undefined && /\.gguf$/i.test(wanted)
  const models = named ? files : files.filter((path) => !companion.test(path))
  if (models.length === 0 && !named) {
    throw new ModelError(`${repository} has no .gguf file; accepted: repositories with GGUF models.`)
  }
  const found = named ? byName(models, wanted) : byQuantization(models, wanted)
  if (found === undefined) {
    const what = wanted === undefined ? 'several models and none of the usual kinds' : `no ${wanted}`
    throw new ModelError(`${repository} has ${what}; accepted after its name and a colon: ${listed(models)}.`)
  }
  const [, , count] = splitName.exec(found) ?? []
  if (count !== undefined) {
    throw new ModelError(
      `${repository}: ${found} is one of ${Number(count)} files of a split model; accepted: models in one file (${listed(models)}).`,
    )
  }
  return found
}

function byName(files: readonly string[], wanted: string): string | undefined {
  if (files.includes(wanted)) return wanted
  const inFolders = files.filter((path) => path.endsWith(`/${wanted}`))
  return inFolders.length === 1 ? inFolders[0] : undefined
}

function byQuantization(files: readonly string[], wanted: string | undefined): string | undefined {
  for (const quantization of wanted === undefined ? usual : [wanted]) {
    const [first] = files
      .filter((path) => names(path, quantization))
      // `UD-Q4_K_M` is a variant of Q4_K_M: the plain one, with the shorter path, is preferred.
      .toSorted((a, b) => a.length - b.length || (a < b ? -1 : 1))
    if (first !== undefined) return first
  }
  return wanted === undefined && files.length === 1 ? files[0] : undefined
}

/** Whether the path contains the quantization as a whole word. */
function names(path: string, quantization: string): boolean {
  const escaped = quantization.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`(^|[-./_])${escaped}([-./]|$)`, 'i').test(path)
}

function listed(files: readonly string[]): string {
  const single = files.filter((path) => !splitName.test(path))
  if (single.length === 0) return 'none of them is here'
  const shown = single.slice(0, 20).join(', ')
  return single.length > 20 ? `${shown} and ${single.length - 20} more` : shown
}

/** The model that HEDDLE_MODEL names. */
type ModelSource =
  | { kind: 'none' }
  | { kind: 'builtin' }
  | { kind: 'file'; path: string }
  | { kind: 'hub'; repository: string; wanted: string | undefined }
  /** Another server with the OpenAI API. */
  | { kind: 'upstream'; url: string }

/** A source that an engine of this machine runs. */
export type LocalSource = Exclude<ModelSource, { kind: 'none' | 'upstream' }>

/** Parses a value that the settings have already validated. */
export function sourceOf(setting: string): ModelSource {
  if (setting === 'none' || setting === 'builtin') return { kind: setting }
  if (/^https?:\/\//.test(setting)) return { kind: 'upstream', url: setting.replace(/\/+$/, '') }
  if (!setting.startsWith('hf:')) return { kind: 'file', path: setting }
  const [repository = '', wanted] = setting.slice(3).split(':')
  return { kind: 'hub', repository, wanted }
}

/** Where models come from, and where downloads are stored. */
export type ModelLocations = Hub & Pick<EngineSettings, 'data'>

export interface FindWatch extends DownloadWatch {
  /** Called when the file is not stored here and the hub is asked for it. */
  onMissing?(): void
  onDownload(what: string): void
}

/** The path of a model's file, which is downloaded if it is missing. */
export async function findModel(
  source: LocalSource,
  locations: ModelLocations,
  watch: FindWatch,
): Promise<string> {
  if (source.kind === 'file') return resolve(source.path)
  if (source.kind === 'hub') return hubModel(source, locations, watch)
  const [model] = await builtinModels()
  if (model !== undefined) return model
  throw new ModelError(`This installation has no built-in model (${builtinFolder}); ${acceptedModels}.`)
}

/** Beside the manifest of the checkout or of the installed package, where this code lies deeper. */
export const builtinFolder = join(dirname(findPackageJSON(import.meta.url) as string), 'models', 'builtin')

/** One, or none in an installation without it. */
export async function builtinModels(): Promise<string[]> {
  return (await storedModels(builtinFolder)).slice(0, 1).map((name) => join(builtinFolder, name))
}

/** The folder of downloaded models. */
export function modelsFolder(data: string): string {
  return join(data, 'models')
}

/** The complete models below a folder, by their relative paths, with `/`. Unfinished downloads end in `.part`. */
export async function storedModels(folder: string): Promise<string[]> {
  try {
    const found = await readdir(folder, { recursive: true })
    return found
      .filter((path) => /\.gguf$/i.test(path))
      .map((path) => path.split(sep).join('/'))
      .toSorted()
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return []
    throw error
  }
}

/** A file that is already here is used without asking the hub, so a server restarts without a network. */
async function hubModel(
  { repository, wanted }: Extract<ModelSource, { kind: 'hub' }>,
  locations: ModelLocations,
  watch: FindWatch,
): Promise<string> {
  const known = await downloaded({ repository, wanted }, locations)
  if (known !== undefined) return known
  watch.onMissing?.()
  const folder = folderOf(repository, locations)
  const files = new Map(
    (await listHubFiles(locations, repository, watch.signal)).map((file) => [file.path, file]),
  )
  const chosen = chooseFile(repository, wanted, [...files.keys()])
  const target = join(folder, ...chosen.split('/'))
  watch.onDownload(`${repository}:${chosen}`)
  await download(locations, repository, files.get(chosen) as HubFile, target, watch)
  return target
}

/** The path of a model's file that needs no download. */
export async function modelHere(
  source: LocalSource,
  locations: Pick<ModelLocations, 'data'>,
): Promise<string | undefined> {
  if (source.kind === 'file') return resolve(source.path)
  return source.kind === 'hub' ? downloaded(source, locations) : (await builtinModels())[0]
}

type OfHub = Pick<Extract<ModelSource, { kind: 'hub' }>, 'repository' | 'wanted'>

async function downloaded({ repository, wanted }: OfHub, locations: Pick<ModelLocations, 'data'>) {
  const folder = folderOf(repository, locations)
  const known = chosenPath(repository, wanted, await storedModels(folder))
  return known === undefined ? undefined : join(folder, known)
}

const folderOf = (repository: string, { data }: Pick<ModelLocations, 'data'>) =>
  join(modelsFolder(data), ...repository.split('/'))

function chosenPath(repository: string, wanted: string | undefined, paths: string[]): string | undefined {
  try {
    return chooseFile(repository, wanted, paths)
  } catch (error) {
    if (error instanceof ModelError) return undefined
    throw error
  }
}
