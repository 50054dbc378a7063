/** How the engine process is watched, and how often it is started again. */
export interface Supervision {
  /** Between two pings. */
  pingMs: number
  /** So many pings without an answer mean that it hangs: an endless loop, or a stopped process. */
  silentPings: number
  /** A single batch that takes longer hangs too: the slowest machine needs a fraction of it for one. */
  longestBatchMs: number
  /** Before the first new start; doubles with each that follows, until an engine has lived for `steadyMs`. */
  restartMs: number
  /** After an engine that served: requests wait for the next. */
  longestRestartMs: number
  /** After one that never got as far: it will hardly be better soon. */
  longestReloadMs: number
  steadyMs: number
  /** So many starts in a row that never got the model loaded, and it counts as one that cannot be served. */
  failedStarts: number
  /** For the engine to end by itself when it is closed. */
  closeMs: number
}

export const usualSupervision: Supervision = {
  pingMs: 1_000,
  silentPings: 15,
  longestBatchMs: 120_000,
  restartMs: 250,
  longestRestartMs: 5_000,
  longestReloadMs: 60_000,
  steadyMs: 30_000,
  failedStarts: 3,
  closeMs: 3_000,
}
