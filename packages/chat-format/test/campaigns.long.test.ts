// The whole of what `npm test` runs a share of: the files here that import test/support/campaign-share.ts.

import './alternative-calls.test.ts'
import './turns-random.test.ts'
import './unoffered-calls.test.ts'
