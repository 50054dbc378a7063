// The texts that texts.test.ts and connections.test.ts leave out at each place.

import { after, before, describe } from 'node:test'
import { allDrivers } from '../support/drivers.ts'
import { placesTakeTexts, theOthersFrom } from './hostile-requests.ts'

const postgres = allDrivers().find(({ name }) => name === 'PostgreSQL')
if (postgres === undefined) throw new Error('there is no PostgreSQL')

placesTakeTexts(async () => undefined, theOthersFrom(0))

describe('on PostgreSQL', () => {
  before(postgres.start)
  after(postgres.stop)
  placesTakeTexts(postgres.open, theOthersFrom(2))
})
