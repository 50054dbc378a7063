import { portToParent } from '../../src/threads/thread.ts'

const cell = new Int32Array(new SharedArrayBuffer(4))

/** A check takes as many milliseconds as its value says, without using a processor. */
export function serve(): void {
  const port = portToParent()
  port.on('message', ({ value }: { value: string }) => {
    Atomics.wait(cell, 0, 0, Number(value))
    port.postMessage({ kind: 'valid' })
  })
  port.postMessage('ready')
}
