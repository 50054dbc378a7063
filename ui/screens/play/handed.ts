import type { Settings } from './settings.ts'
import type { Turn } from './turns.ts'

/** What another screen has prepared for the playground. */
interface Handed {
  turns: Turn[]
  settings: Settings
  /** Ask at once, because the user has just chosen to. A link never asks by itself. */
  isAsked: boolean
}

let handed: Handed | undefined

export function handOver(given: Handed): void {
  handed = given
}

export function takeHanded(): Handed | undefined {
  const given = handed
  handed = undefined
  return given
}
