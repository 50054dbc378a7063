import type { Settings } from './settings.ts'
import type { Turn } from './turns.ts'

/** What another screen has prepared for the playground. */
interface Handover {
  turns: Turn[]
  settings: Settings
  /** Ask at once, because the user has just chosen to. A link never asks by itself. */
  isAsked: boolean
}

let pending: Handover | undefined

export function passToPlayground(given: Handover): void {
  pending = given
}

export function takeHandover(): Handover | undefined {
  const given = pending
  pending = undefined
  return given
}
