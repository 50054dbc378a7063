import { after, before, describe } from 'node:test'
import { allDrivers } from '../support/drivers.ts'
import { largestCalls } from './storage/largest.ts'
import { sumsOfCalls } from './storage/sums.ts'
import { sumsOfTraces } from './storage/trace-sums.ts'

// Sums behave the same on every driver.
for (const driver of allDrivers()) {
  describe(driver.name, () => {
    before(driver.start)
    after(driver.stop)
    sumsOfCalls(driver.open)
    sumsOfTraces(driver.open)
    largestCalls(driver.open)
  })
}
