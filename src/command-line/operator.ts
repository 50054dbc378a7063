import { userInfo } from 'node:os'
import type { Actor } from '../storage/users/audit.ts'

/** The user who gives a command, as the operating system knows it. */
export function operator(via: Actor['via'] = 'command line'): Actor {
  try {
    return { via, name: userInfo().username }
  } catch {
    // A container may run under a uid that has no name.
    return { via, name: `uid ${process.getuid?.() ?? 'unknown'}` }
  }
}

/** A command in a terminal is stopped by ending its process. */
export const untilTheEnd = new AbortController().signal
