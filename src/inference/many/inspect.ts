import {
  type GgufHeader,
  type LocalSource,
  ModelError,
  type ModelLocations,
  type ModelPlan,
  type ModelSettings,
  memoryNeed,
  modelHere,
  prepareModel,
  reasonOf,
  sourceOf,
  totalOf,
} from '../../../packages/engine/index.ts'
import type { Config } from '../../config.ts'
import { shownAddress } from '../upstream/addresses.ts'
import { memoryOfModels } from './bound.ts'
import { inWordsOf, settingsOf } from './entry-settings.ts'
import { connectListedServer } from './listed-server.ts'
import type { ModelEntry } from './models-file.ts'
import type { ModelsSpec, UpstreamSpec } from './read-models.ts'

type InspectSettings = ModelSettings & ModelLocations & Pick<Config, 'models_memory' | 'upstream_timeout'>

/** A model of the list and what is known of it without loading it. */
export type InspectedModel = { name: string; aliases?: string[]; fallbacks?: string[] } & (
  | { at: 'here'; file: string; plan: ModelPlan; header: GgufHeader; memory: number; bound: number }
  | { at: 'hub'; source: string }
  | {
      at: 'server'
      upstream: InspectedServer
      model: string
      kind: string
      context: number
      isListed: boolean
    }
  | { at: 'nowhere'; source: string; fault: string }
)

export interface InspectedServer {
  name: string
  addresses: { url: string; weight: number; fault: string | undefined }[]
}

/**
 * Examines the models of a list without a running server: files are read and planned, other servers are asked for their
 * lists, and nothing is loaded or downloaded.
 */
export async function inspectModels(spec: ModelsSpec, settings: InspectSettings): Promise<InspectedModel[]> {
  const { bound, look } = await memoryOfModels(settings)
  const servers = await Promise.all(spec.upstreams.map((upstream) => inspectServer(upstream, settings)))

  async function local(entry: ModelEntry & { file: string }): Promise<InspectedModel> {
    const named = namesOf(entry)
    try {
      const file = await modelHere(sourceOf(entry.file) as LocalSource, settings)
      if (file === undefined && entry.file.startsWith('hf:'))
        return { ...named, at: 'hub', source: entry.file }
      if (file === undefined) throw new ModelError('This installation has no built-in model.')
      const { plan, header } = await prepareModel(file, settingsOf(entry, settings), { look })
      const { machine, device } = memoryNeed(header, plan)
      return { ...named, at: 'here', file, plan, header, memory: totalOf(machine) + totalOf(device), bound }
    } catch (error) {
      const fault = error instanceof ModelError ? inWordsOf(entry, error).message : reasonOf(error)
      return { ...named, at: 'nowhere', source: entry.file, fault }
    }
  }

  function behind(entry: ModelEntry): InspectedModel {
    const server = servers.find(({ seen }) => seen.name === entry.upstream)
    if (server === undefined) throw new Error(`the file has no upstream ${entry.upstream}`)
    const model = entry.model ?? entry.name
    return { ...namesOf(entry), ...server.model(model, entry.context) }
  }

  const named: InspectedModel[] = []
  for (const entry of spec.models) {
    const { file } = entry
    named.push(file === undefined ? behind(entry) : await local({ ...entry, file }))
  }
  const taken = new Set(named.flatMap(({ name, aliases = [] }) => [name, ...aliases]))
  const listed = servers.flatMap(({ all }) => all).filter(({ name }) => !taken.has(name))
  return [...named, ...listed]
}

function namesOf({ name, aliases, fallbacks }: ModelEntry) {
  return { name, ...(aliases && { aliases }), ...(fallbacks && { fallbacks }) }
}

/** The current state of a server. */
async function inspectServer(spec: UpstreamSpec, settings: InspectSettings) {
  const { server, retire } = connectListedServer(spec, settings, { info() {}, warn() {} })
  await server.addresses.looked
  const listed = server.listed() ?? []
  const seen: InspectedServer = {
    name: spec.name,
    addresses: server.addresses.all.map(({ url, weight, fault }) => ({
      url: shownAddress(url),
      weight,
      fault,
    })),
  }
  await retire()
  const model = (there: string, context = spec.context) => {
    const found = listed.find(({ names }) => names.includes(there))
    return {
      at: 'server' as const,
      upstream: seen,
      model: there,
      kind: server.kind ?? found?.kind ?? listed[0]?.kind ?? 'openai',
      context: context || (found?.context ?? 0),
      isListed: found !== undefined,
    }
  }
  const all = (spec.serves === 'all' ? listed : []).map(({ names }): InspectedModel => {
    const [name = '', ...aliases] = names
    return { name, ...(aliases.length > 0 && { aliases }), ...model(name) }
  })
  return { seen, model, all }
}
