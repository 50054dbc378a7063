// The whole of what `npm test` runs a share of: the files of this ring that import test/support/campaign-share.ts.

import './bad-input.test.ts'
import './body-limits.test.ts'
import './calls/facts.test.ts'
import './credentials.test.ts'
import './listeners.test.ts'
