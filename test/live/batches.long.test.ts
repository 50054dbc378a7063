/** The tests of batches.test.ts in full: see test/support/campaign-share.ts. */
import './batches.test.ts'
