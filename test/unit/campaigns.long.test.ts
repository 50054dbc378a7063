// The whole of what `npm test` runs a share of: the files of this ring that import test/support/campaign-share.ts.

import './constraints/alternative-calls.test.ts'
import './constraints/constraint.test.ts'
import './constraints/look-around.test.ts'
import './constraints/matcher.test.ts'
import './constraints/remembered.test.ts'
import './constraints/schema-corpus.test.ts'
import './constraints/schema-property.test.ts'
import './constraints/turns-random.test.ts'
import './constraints/unoffered-calls.test.ts'
import './constraints/world-schemas.test.ts'
import './inference/drafts.test.ts'
import './inference/sampler-property.test.ts'
