/** How often it is checked; npm itself is gone at once. */
const checkMs = 250

/** Known before anything is opened: later the shell may be gone already. */
const shell = process.ppid

/**
 * npm runs a script in a shell, and passes signals on to that shell only. Many shells, such as dash, end from SIGTERM
 * without passing it on, and the server would go on without anyone who knows of it. So when the shell of this package's
 * `npm start` has ended, the server stops as if it had received the signal. Returns how to stop watching.
 */
export function stopWithNpm(): () => void {
  const { npm_lifecycle_event: script, npm_package_name: name } = process.env
  // A script of another package may start a server in the background on purpose.
  if (script !== 'start' || name !== 'heddle') return () => undefined
  const watch = setInterval(() => {
    // The process that adopts an orphan has another number. On Windows the number never changes, and there no signal
    // reaches npm alone.
    if (process.ppid === shell) return
    clearInterval(watch)
    process.kill(process.pid, 'SIGTERM')
  }, checkMs).unref()
  return () => clearInterval(watch)
}
