import type { Generation } from '../../backend.ts'
import { promptGroupOf } from '../../prompt-group.ts'

/** What a prompt must have in common with a computed one, besides tokens, to continue from it. */
export function promptKeyOf(
  generation: Pick<Generation, 'promptGroup' | 'tenant' | 'adapter' | 'salt'>,
): string {
  return JSON.stringify([promptGroupOf(generation), generation.adapter, generation.salt])
}
