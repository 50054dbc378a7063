/** The tests of crash.test.ts in full: see test/support/campaign-share.ts. */
import './crash.test.ts'
