/** Stands in for the template renderer: answers every question with the names of its environment variables. */
process.on('message', () =>
  process.send?.({ kind: 'rendered', text: JSON.stringify(Object.keys(process.env)) }),
)
process.on('disconnect', () => process.exit())
process.send?.('ready')
