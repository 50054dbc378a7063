// Loaded before everything else: the clock of a machine whose battery is empty, in 1969.
const started = performance.now()
Date.now = () => -10_000_000_000 + Math.floor(performance.now() - started)
