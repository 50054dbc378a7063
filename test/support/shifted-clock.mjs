// Loaded before everything else: a clock that is wrong by TEST_CLOCK_SHIFT milliseconds, and that SIGUSR2 sets back by a
// day.
const right = Date.now
let shift = Number(process.env.TEST_CLOCK_SHIFT)
Date.now = () => right() + shift
process.on('SIGUSR2', () => {
  shift -= 86_400_000
})
