// The whole of what `npm test` runs a share of: the files of this ring that import test/support/campaign-share.ts.

import './constraints/alternative-calls.test.ts'
import './constraints/constraint.test.ts'
import './constraints/turns-random.test.ts'
import './constraints/unoffered-calls.test.ts'
import './inference/drafts.test.ts'
import './inference/sampler-property.test.ts'
