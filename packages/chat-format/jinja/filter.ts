import type { Held } from './values.ts'

/** The arguments of a filter. */
export interface Given {
  positional: Held[]
  named: Map<string, Held>
}

/** Returns undefined where the library's own filter is to be used. */
export type Filter = (value: Held, args: Given, apply: Apply) => Held | undefined

/** Another filter, by its name. */
type Apply = (name: string, value: Held, args: Given) => Held

/** The argument at this position or with this name. */
export function argument({ positional, named }: Given, at: number, name: string): Held | undefined {
  return positional[at] ?? named.get(name)
}
