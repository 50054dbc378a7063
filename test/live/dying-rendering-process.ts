/** Stands in for the template renderer: does what the template says. */
process.on('message', ({ template }: { template: string }) => {
  if (template === 'die') process.exit(3)
  if (template === 'kill') process.kill(process.pid, 'SIGKILL')
  if (template === 'hang') for (;;) process.hrtime()
  process.send?.({ kind: 'rendered', text: `${process.pid} ${template}` })
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
