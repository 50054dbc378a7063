/** Random calls, sums and pages in full: see test/support/campaign-share.ts. */
import { after, before, describe } from 'node:test'
import { allDrivers } from '../../support/drivers.ts'
import { largestCalls } from './largest.ts'
import { mergingProperties } from './merging-properties.ts'
import { sumsOfCalls } from './sums.ts'
import { sumsOfTraces } from './trace-sums.ts'

for (const driver of allDrivers()) {
  describe(driver.name, () => {
    before(driver.start)
    after(driver.stop)
    mergingProperties(driver.shared)
    sumsOfCalls(driver.open)
    sumsOfTraces(driver.open)
    largestCalls(driver.open)
  })
}
