/** In microseconds. Sums are kept by hour and by day of UTC. */
export const hour = 3_600_000_000
export const day = 24 * hour

export const startOf = (time: number, span: number): number => Math.floor(time / span) * span

/** The same in SQL for hours, also before 1970. */
export const hourOf = (time: string): string => `(${time} - (${time} % ${hour} + ${hour}) % ${hour})`
