/** Random calls, sums and pages in full: see test/support/campaign-share.ts. The other tests of them are in storage*.test.ts. */
import { after, before, describe } from 'node:test'
import { allDrivers } from '../../support/drivers.ts'
import { largestAfterWrites } from './largest.ts'
import { mergingProperties } from './merging-properties.ts'
import { sumsAfterWrites } from './sums.ts'
import { traceSumsAfterWrites } from './trace-sums.ts'

for (const driver of allDrivers()) {
  describe(driver.name, () => {
    before(driver.start)
    after(driver.stop)
    mergingProperties(driver.shared)
    describe('sums of calls', () => sumsAfterWrites(driver.open))
    describe('sums of traces', () => traceSumsAfterWrites(driver.open))
    describe('the largest calls', () => largestAfterWrites(driver.open))
  })
}
