import { after, before, describe } from 'node:test'
import { allDrivers } from '../support/drivers.ts'
import { textsAreTexts } from '../support/hostile-requests.ts'

const postgres = allDrivers().find(({ name }) => name === 'PostgreSQL')
if (postgres === undefined) throw new Error('there is no PostgreSQL')

describe('on PostgreSQL', () => {
  before(postgres.start)
  after(postgres.stop)
  textsAreTexts(postgres.open)
})
