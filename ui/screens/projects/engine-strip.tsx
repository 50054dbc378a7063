import { useAutoRetry } from '../../parts/auto-retry.ts'
import { useLoading } from '../../server/loading.ts'
import { RefusedError, requestJson } from '../../server/request.ts'
import { countText } from '../../value/units.ts'

interface ServedModel {
  id: string
  max_model_len?: number
}

/** The served model, in one line. */
export function EngineStrip() {
  const { value, error, reload } = useLoading(readModels, [])
  useAutoRetry(error, reload)
  const text = () => {
    if (error) return `Models are unavailable: ${error.message}`
    if (value === undefined) return 'Looking for models…'
    const [model] = value
    if (model === undefined) return 'No model is served; the record is available.'
    const length = model.max_model_len ? `, ${countText(model.max_model_len)} tokens of context` : ''
    return `Serving ${model.id}${length}`
  }
  const state = error || value?.length === 0 ? 'away' : value === undefined ? 'waiting' : 'there'
  return (
    <p class="engine-strip" data-state={state}>
      <span class="engine-state">{text()}</span>
    </p>
  )
}

async function readModels(signal: AbortSignal): Promise<ServedModel[]> {
  try {
    return (await requestJson<{ data: ServedModel[] }>('/v1/models', { signal })).data
  } catch (error) {
    if (error instanceof RefusedError && error.code === 'model_not_found') return []
    throw error
  }
}
