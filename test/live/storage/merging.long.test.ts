/** The random parts of calls in full: see test/support/campaign-share.ts. */
import { after, before, describe } from 'node:test'
import { allDrivers } from '../../support/drivers.ts'
import { mergingProperties } from './merging-properties.ts'

for (const driver of allDrivers()) {
  describe(driver.name, () => {
    before(driver.start)
    after(driver.stop)
    mergingProperties(driver.shared)
  })
}
