import { hash } from 'node:crypto'
import type { ServedModel } from '../../packages/engine/index.ts'

/** Changes when the same request may be answered differently. Of a model elsewhere only its address is known. */
export function digestOfModel({
  digest,
  source,
  bytes,
  parameters,
  vocabulary,
  template,
}: ServedModel): string {
  return hash('sha256', JSON.stringify([digest ?? source, bytes, parameters, vocabulary, template]))
}
