// The whole of what `npm test` runs a share of: the files here that import test/support/campaign-share.ts.

import './constraint.test.ts'
import './drafts.test.ts'
import './sampler-property.test.ts'
