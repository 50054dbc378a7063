import type { Generation } from './backend.ts'

/** Those who share a computed prompt; empty if everybody does. */
export function promptGroupOf({
  promptGroup,
  tenant = '',
}: Pick<Generation, 'promptGroup' | 'tenant'>): string {
  return promptGroup ?? tenant
}
