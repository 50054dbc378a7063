/** Stands in for the process of templates: whatever it is asked, it names the variables that it has. */
process.on('message', () =>
  process.send?.({ kind: 'rendered', text: JSON.stringify(Object.keys(process.env)) }),
)
process.on('disconnect', () => process.exit())
process.send?.('ready')
