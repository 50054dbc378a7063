import { refuse } from '../../domain/refusals.ts'
import type { Backend, ServedModel } from '../../inference/backend.ts'
import { notReady } from '../../inference/served-model.ts'

/** The model that is served, when it is there and the request names it, or names none. */
export function servedModel(
  backend: Backend | undefined,
  name: string | null | undefined,
): { backend: Backend; model: ServedModel } {
  if (backend === undefined)
    throw refuse('model_not_ready', { why: 'this server runs without one (HEDDLE_MODEL=none)' })
  const model = backend.model()
  if (model === undefined) throw notReady(backend.status())
  if (name && !model.names.includes(name)) {
    throw refuse('model_not_found', {
      field: 'model',
      model: JSON.stringify(name),
      accepted: model.names.map((one) => JSON.stringify(one)).join(', '),
    })
  }
  return { backend, model }
}
