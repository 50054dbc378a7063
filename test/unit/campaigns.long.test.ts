// The whole of what `npm test` runs a share of: the files of this ring that import test/support/campaign-share.ts.

import '../../packages/chat-format/index.ts'
import './constraints/constraint.test.ts'
import '../../packages/chat-format/index.ts'
import '../../packages/chat-format/index.ts'
import './inference/drafts.test.ts'
import './inference/sampler-property.test.ts'
