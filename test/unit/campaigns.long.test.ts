// The whole of what `npm test` runs a share of: the files of this ring that import test/support/campaign-share.ts.

import './statistics/calibration.test.ts'
