import { reportedEvery, shownBytes } from '../../packages/engine/index.ts'

const width = 30

/** A moving bar on a terminal; otherwise an occasional line that does not flood a log. */
export function showProgress(stream: NodeJS.WritableStream & { isTTY?: boolean }) {
  let name = ''
  const say = (line: string) => void stream.write(`${line}\n`)
  if (!stream.isTTY) {
    return {
      begin: (what: string) => {
        name = what
        say(`Downloading ${what}`)
      },
      step: reportedEvery(10, (line) => say(`${name}: ${line}`)),
      say,
      end: () => {},
    }
  }
  let isOpen = false
  let drawn = -1
  const close = () => {
    if (isOpen) stream.write('\n')
    isOpen = false
  }
  return {
    begin: (what: string) => say(`Downloading ${what}`),
    step(done: number, total: number) {
      const share = total === 0 ? 1 : done / total
      // Drawn at most a thousand times, however many pieces arrive.
      if (Math.floor(share * 1000) === drawn) return
      drawn = Math.floor(share * 1000)
      const filled = Math.floor(share * width)
      const bar = '█'.repeat(filled).padEnd(width, '░')
      const figures = `${(share * 100).toFixed(1).padStart(5)} %  ${shownBytes(done)} of ${shownBytes(total)}`
      stream.write(`\r${bar} ${figures}\x1b[K`)
      isOpen = true
    },
    say(line: string) {
      close()
      say(line)
    },
    /** Leaves the cursor where the next line may be written. */
    end: close,
  }
}
