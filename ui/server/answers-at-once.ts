/**
 * A browser opens six connections to a host, for all tabs together. Answers of a model hold theirs for as long as they are
 * written, and the events of the record hold one: two stay free, so that a tab is served whatever the others wait for.
 */
export const mostAnswers = 3

const places = Array.from({ length: mostAnswers }, (_, index) => `heddle.answer.${index}`)

/** Whoever waits first holds it, and everybody else waits for it: places are taken in the order in which they were asked for. */
const door = 'heddle.answer.next'

type Leave = () => void

interface Question<T> {
  /** Ends the waiting, too. */
  signal: AbortSignal
  /** As many answers as there may be are being written, in this tab or in others. */
  onWait(): void
  ask(): Promise<T>
}

/**
 * Asks when there is a place for the answer, and holds the place until it is over. A tab that is closed leaves its places. Over
 * plain http from another host browsers have no locks, and nobody waits.
 */
export async function askInPlace<T>({ signal, onWait, ask }: Question<T>): Promise<T> {
  if (!('locks' in navigator)) return ask()
  const leave = (await placeNow()) ?? (await nextPlace(signal, onWait))
  try {
    return await ask()
  } finally {
    leave()
  }
}

async function placeNow(): Promise<Leave | undefined> {
  for (const name of places) {
    const leave = await new Promise<Leave | undefined>((resolve, reject) => {
      const hold = (lock: Lock | null) =>
        lock === null ? resolve(undefined) : new Promise<void>((leave) => resolve(leave))
      navigator.locks.request(name, { ifAvailable: true }, hold).catch(reject)
    })
    if (leave !== undefined) return leave
  }
  return undefined
}

function nextPlace(signal: AbortSignal, onWait: () => void): Promise<Leave> {
  signal.throwIfAborted()
  onWait()
  return navigator.locks.request(door, { signal }, () => firstThatIsLeft(signal))
}

function firstThatIsLeft(signal: AbortSignal): Promise<Leave> {
  return new Promise((resolve, reject) => {
    const others = new AbortController()
    const ended = AbortSignal.any([signal, others.signal])
    const hold = () => {
      if (others.signal.aborted) return undefined
      others.abort()
      return new Promise<void>((leave) => resolve(leave))
    }
    // Once a promise is settled its later rejections are ignored, so those of the other places do no harm.
    for (const name of places) navigator.locks.request(name, { signal: ended }, hold).catch(reject)
  })
}
