import type { Config } from '../config.ts'
import { type InspectedModel, type InspectedServer, inspectModels } from '../inference/many/inspect.ts'
import { readModels } from '../inference/many/read-models.ts'
import { planRecord } from './plan-record.ts'

interface Listed {
  line: object
  /** The file of a model that is on this machine. */
  file?: string
  template?: string | undefined
}

/** Lists the models in the file of HEDDLE_MODELS, one line each. */
export async function listModels(
  config: Config,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Listed[]> {
  const spec = await readModels(config.models, environment)
  const seen = await inspectModels(spec, config)
  const usual = spec.default ?? seen[0]?.name
  return seen.map((model) => {
    const { name, aliases = [], fallbacks } = model
    const isDefault = usual !== undefined && [name, ...aliases].includes(usual)
    const line = {
      name,
      ...(aliases.length > 0 && { aliases }),
      ...(isDefault && { default: true }),
      ...lineOf(model),
      ...(fallbacks && { fallbacks }),
    }
    return model.at === 'here' ? { line, file: model.file, template: model.header.template } : { line }
  })
}

function lineOf(model: InspectedModel): object {
  switch (model.at) {
    case 'here': {
      const { file, plan, header, memory, bound } = model
      const state = { state: 'here', file, ...planRecord(plan, header), memory, memory_bound: bound }
      if (memory <= bound) return state
      return { ...state, state: 'failed', fault: 'it needs more than HEDDLE_MODELS_MEMORY' }
    }
    case 'hub':
      return { state: 'to be downloaded', model: model.source }
    case 'server': {
      const { upstream, model: there, kind, context, isListed } = model
      return {
        state: upstream.addresses.some(({ fault }) => fault === undefined) ? 'answers' : 'failed',
        upstream: upstream.name,
        model: there,
        listed: isListed,
        kind,
        context,
        addresses: upstream.addresses.map(addressShown),
      }
    }
    case 'nowhere':
      return { state: 'failed', model: model.source, fault: model.fault }
  }
}

function addressShown({ url, weight, fault }: InspectedServer['addresses'][number]) {
  const state = fault === undefined ? 'answers' : 'failed'
  return { address: url, weight, state, ...(fault !== undefined && { fault }) }
}
