/**
 * A browser opens six connections to a host, for all tabs together. Each answer of a model takes one while it is written, and
 * the events of the record take one: two stay free for everything else.
 */
export const maxAnswers = 3

const slotNames = Array.from({ length: maxAnswers }, (_, index) => `heddle.answer.${index}`)

/** Held by the request that gets the next place, so that places are taken in the order of the requests. */
const nextInLine = 'heddle.answer.next'

type Release = () => void

interface Question<T> {
  /** Also ends the waiting. */
  signal: AbortSignal
  /** Called when all places are taken, by this tab or others. */
  onWait(): void
  ask(): Promise<T>
}

/**
 * Asks once there is a place for the answer, and keeps the place until it is complete. A closed tab gives its places back. Over
 * plain http from another host browsers have no locks, so nothing waits.
 */
export async function withAnswerSlot<T>({ signal, onWait, ask }: Question<T>): Promise<T> {
  if (!('locks' in navigator)) return ask()
  const leave = (await takeFreeSlot()) ?? (await waitForSlot(signal, onWait))
  try {
    return await ask()
  } finally {
    leave()
  }
}

async function takeFreeSlot(): Promise<Release | undefined> {
  for (const name of slotNames) {
    const leave = await new Promise<Release | undefined>((resolve, reject) => {
      const hold = (lock: Lock | null) =>
        lock === null ? resolve(undefined) : new Promise<void>((leave) => resolve(leave))
      navigator.locks.request(name, { ifAvailable: true }, hold).catch(reject)
    })
    if (leave !== undefined) return leave
  }
  return undefined
}

function waitForSlot(signal: AbortSignal, onWait: () => void): Promise<Release> {
  signal.throwIfAborted()
  onWait()
  return navigator.locks.request(nextInLine, { signal }, () => firstReleasedSlot(signal))
}

function firstReleasedSlot(signal: AbortSignal): Promise<Release> {
  return new Promise((resolve, reject) => {
    const others = new AbortController()
    const ended = AbortSignal.any([signal, others.signal])
    const hold = () => {
      if (others.signal.aborted) return undefined
      others.abort()
      return new Promise<void>((leave) => resolve(leave))
    }
    // A settled promise ignores later rejections, so those of the other places do no harm.
    for (const name of slotNames) navigator.locks.request(name, { signal: ended }, hold).catch(reject)
  })
}
