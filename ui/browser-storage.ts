/** Undefined where a browser keeps nothing, as in a frame without an origin, and in some for local files. */
export function storageIn(find: () => Storage): Storage | undefined {
  try {
    return find()
  } catch {
    return undefined
  }
}
