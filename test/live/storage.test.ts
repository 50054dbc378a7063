import { after, before, describe } from 'node:test'
import { allDrivers } from '../support/drivers.ts'
import { closing } from './storage/closing.ts'
import { deleting } from './storage/deleting.ts'
import { merging } from './storage/merging.ts'
import { mergingProperties } from './storage/merging-properties.ts'
import { people } from './storage/people.ts'
import { prices } from './storage/prices.ts'
import { reading } from './storage/reading.ts'
import { sweeping } from './storage/sweeping.ts'
import { writing } from './storage/writing.ts'

// The record behaves the same wherever it is kept: each of these holds on every driver.
for (const driver of allDrivers()) {
  describe(driver.name, () => {
    before(driver.start)
    after(driver.stop)
    merging(driver.shared)
    mergingProperties(driver.shared)
    deleting(driver.shared)
    sweeping(driver.open)
    reading(driver.shared)
    people(driver.open)
    prices(driver.shared)
    writing(driver.shared)
    closing(driver.open)
  })
}
