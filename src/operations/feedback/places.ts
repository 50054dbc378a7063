/** How a refusal names a field: `payload.note`, or `batch.3.payload.note`. */
export type At = (field: string) => string

export const atRoot: At = (field) => field

export function atItem(index: number): At {
  return (field) => `batch.${index}.${field}`
}
