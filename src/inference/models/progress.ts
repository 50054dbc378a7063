import { shownBytes } from './memory.ts'

/** Tells of a download in few words: its beginning, and each further step of so many percent. */
export function inSteps(
  percent: number,
  tell: (line: string, figures: { done: number; total: number }) => void,
): (done: number, total: number) => void {
  let next = 0
  return (done, total) => {
    const share = total === 0 ? 100 : Math.floor((100 * done) / total)
    if (share < next) return
    next = (Math.floor(share / percent) + 1) * percent
    tell(`${share} % of ${shownBytes(total)}`, { done, total })
  }
}
