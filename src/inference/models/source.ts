/** What HEDDLE_MODEL asks for. */
export type ModelSource =
  | { kind: 'none' }
  | { kind: 'builtin' }
  | { kind: 'file'; path: string }
  | { kind: 'hub'; repository: string; wanted: string | undefined }

/** The setting has been checked; this takes it apart. */
export function sourceOf(given: string): ModelSource {
  if (given === 'none' || given === 'builtin') return { kind: given }
  if (!given.startsWith('hf:')) return { kind: 'file', path: given }
  const [repository = '', wanted] = given.slice(3).split(':')
  return { kind: 'hub', repository, wanted }
}
