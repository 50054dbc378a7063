// The whole of what `npm test` runs a share of: the files here that import test/support/campaign-share.ts.

import './look-around.test.ts'
import './matcher.test.ts'
import './remembered.test.ts'
import './schema-corpus.test.ts'
import './schema-property.test.ts'
import './world-schemas.test.ts'
